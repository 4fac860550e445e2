package report

import (
	"cmp"
	"fmt"
	"html"
	"html/template"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"headway/store"
	"headway/visit"
)

// Plot is a picture with its legend.
type Plot struct {
	ID, Title, About string
	Legend           []Key
	SVG              template.HTML // made here of numbers and escaped text
}

// Key is an entry of a legend.
type Key struct {
	Name  string
	Class string
}

// Sizes of a plot in its own units.
const (
	width, height            = 720.0, 240.0
	left, right, top, bottom = 58.0, 22.0, 12.0, 30.0
	maxBins                  = 160
	classes                  = 12 // colours of the style sheet
)

// canvas draws one plot.
type canvas struct {
	b              strings.Builder
	x0, x1, y0, y1 float64
	logX, logY     bool
}

func newCanvas(label string, x0, x1, y0, y1 float64) *canvas {
	c := &canvas{x0: x0, x1: x1, y0: y0, y1: y1}
	fmt.Fprintf(&c.b, `<svg viewBox="0 0 %g %g" role="img" aria-label="%s">`, width, height, html.EscapeString(label))
	return c
}

// scale places a value between two ends.
func scale(v, v0, v1 float64, logarithmic bool) float64 {
	if logarithmic {
		v, v0, v1 = math.Log10(v), math.Log10(v0), math.Log10(v1)
	}
	if v1 == v0 {
		return 0
	}
	return min(max((v-v0)/(v1-v0), 0), 1)
}

func (c *canvas) x(v float64) float64 {
	return left + scale(v, c.x0, c.x1, c.logX)*(width-left-right)
}

func (c *canvas) y(v float64) float64 {
	return height - bottom - scale(v, c.y0, c.y1, c.logY)*(height-top-bottom)
}

// rows draws the lines across, with what they mean.
func (c *canvas) rows(text func(float64) string) {
	for _, v := range ticks(c.y0, c.y1, 4, c.logY) {
		y := c.y(v)
		fmt.Fprintf(&c.b, `<line class="grid" x1="%g" x2="%g" y1="%.1f" y2="%.1f"/><text class="tick" x="%g" y="%.1f" text-anchor="end">%s</text>`,
			left, width-right, y, y, left-6, y+3.5, html.EscapeString(text(v)))
	}
}

// columns writes what is below.
func (c *canvas) columns(text func(float64) string) {
	for _, v := range ticks(c.x0, c.x1, 6, c.logX) {
		fmt.Fprintf(&c.b, `<text class="tick" x="%.1f" y="%g" text-anchor="middle">%s</text>`, c.x(v), height-bottom+16, html.EscapeString(text(v)))
	}
}

func (c *canvas) bar(x, y, w, h float64, class, title string) {
	fmt.Fprintf(&c.b, `<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%.1f"><title>%s</title></rect>`, class, x, y, w, h, html.EscapeString(title))
}

func (c *canvas) line(points [][2]float64, class, title string) {
	if len(points) == 0 {
		return
	}
	fmt.Fprintf(&c.b, `<polyline class="%s" points="`, class)
	for _, p := range points {
		fmt.Fprintf(&c.b, "%.1f,%.1f ", c.x(p[0]), c.y(p[1]))
	}
	fmt.Fprintf(&c.b, `"><title>%s</title></polyline>`, html.EscapeString(title))
}

func (c *canvas) dot(x, y, r float64, class, title string) {
	fmt.Fprintf(&c.b, `<circle class="%s" cx="%.1f" cy="%.1f" r="%g"><title>%s</title></circle>`, class, c.x(x), c.y(y), r, html.EscapeString(title))
}

func (c *canvas) svg() template.HTML {
	c.b.WriteString("</svg>")
	return template.HTML(c.b.String()) //nolint:gosec // all text in it was escaped above
}

// ticks are round values between two ends, about n of them.
func ticks(lo, hi float64, n int, logarithmic bool) []float64 {
	var list []float64
	if logarithmic {
		for e := math.Floor(math.Log10(lo)); e <= math.Ceil(math.Log10(hi)); e++ {
			for _, m := range []float64{1, 2, 5} {
				if v := m * math.Pow(10, e); v >= lo*0.999 && v <= hi*1.001 {
					list = append(list, v)
				}
			}
		}
		if len(list) > 2*n {
			list = slices.DeleteFunc(list, func(v float64) bool { e := math.Log10(v); return math.Abs(e-math.Round(e)) > 1e-9 })
		}
		return list
	}
	if hi <= lo {
		return []float64{lo}
	}
	step := math.Pow(10, math.Floor(math.Log10((hi-lo)/float64(n))))
	for _, m := range []float64{1, 2, 5, 10} {
		if (hi-lo)/(step*m) <= float64(n)+0.5 {
			step *= m
			break
		}
	}
	for v := math.Ceil(lo/step) * step; v <= hi+step*1e-9; v += step {
		list = append(list, v)
	}
	return list
}

// Plots draws what there is to draw.
func (r *Report) Plots() []Plot {
	bins := merge(r.Points)
	plots := []Plot{throughput(bins), waits(bins), progress(bins), paces(r.Lines), latency(r.Dots, r.DotsSampled), statuses(r.Status), memory(bins)}
	return slices.DeleteFunc(plots, func(p Plot) bool { return p.SVG == "" })
}

// merge joins neighbours until there are few enough to draw.
func merge(points []store.Point) []store.Point {
	for len(points) > maxBins {
		var fewer []store.Point
		for i := 0; i < len(points); i += 2 {
			p := points[i]
			if i+1 < len(points) {
				span := points[i+1].At.Add(points[i+1].Span).Sub(p.At)
				p = p.Then(points[i+1])
				p.At, p.Span = points[i].At, span
			}
			fewer = append(fewer, p)
		}
		points = fewer
	}
	return points
}

// ends are the first and the last moment of bins, in seconds from the first.
func ends(bins []store.Point) (start time.Time, seconds float64) {
	start = bins[0].At
	last := bins[len(bins)-1]
	return start, max(last.At.Add(last.Span).Sub(start).Seconds(), 1)
}

// stack draws parts on each other for every bin.
func (c *canvas) stack(bins []store.Point, names []string, classes map[string]string, part func(p *store.Point, name string) float64, text func(name string, v float64) string) {
	start := bins[0].At
	for i := range bins {
		p := &bins[i]
		from := p.At.Sub(start).Seconds()
		x, w := c.x(from), c.x(from+p.Span.Seconds())-c.x(from)
		below := 0.0
		for _, name := range names {
			v := part(p, name)
			if v <= 0 {
				continue
			}
			y0, y1 := c.y(below), c.y(below+v)
			c.bar(x, y1, max(w-0.5, 0.5), y0-y1, classes[name], fmt.Sprintf("%s: %s", clock(from), text(name, v)))
			below += v
		}
	}
}

// colours gives each name a class, and the legend.
func colours(names []string) (map[string]string, []Key) {
	of := map[string]string{}
	var legend []Key
	for i, n := range names {
		of[n] = fmt.Sprintf("c%d", i%classes)
		legend = append(legend, Key{n, of[n]})
	}
	return of, legend
}

// outcomeClasses keep an outcome's colour the same on every report.
var outcomeClasses = map[string]string{
	"fetched": "c2", "not_modified": "c9", "redirected": "c5", "dead": "c10", "server_error": "c1", "throttled": "c4",
	"blocked": "c3", "skipped": "c7", "deferred": "c6", "failed": "c8", "pending": "c0",
}

func throughput(bins []store.Point) Plot {
	p := Plot{ID: "throughput", Title: "Throughput by outcome", About: "URLs that ended, a second."}
	sums := map[string]int64{}
	highest := 0.0
	for i := range bins {
		all := 0.0
		for o, n := range bins[i].Ended {
			sums[string(o)] += n
			all += float64(n) / bins[i].Span.Seconds()
		}
		highest = max(highest, all)
	}
	if highest == 0 {
		return p
	}
	var names []string
	for _, o := range visit.Outcomes {
		if sums[string(o)] > 0 {
			names = append(names, string(o))
		}
	}
	of := outcomeClasses
	var legend []Key
	for _, n := range names {
		legend = append(legend, Key{n, of[n]})
	}
	_, seconds := ends(bins)
	c := newCanvas(p.Title, 0, seconds, 0, highest*1.05)
	c.rows(number)
	c.columns(clock)
	c.stack(bins, names, of, func(p *store.Point, name string) float64 {
		return float64(p.Ended[visit.Outcome(name)]) / p.Span.Seconds()
	}, func(name string, v float64) string { return fmt.Sprintf("%s %s/s", name, number(v)) })
	p.Legend, p.SVG = legend, c.svg()
	return p
}

func waits(bins []store.Point) Plot {
	p := Plot{ID: "waits", Title: "Where host-time went", About: "Each host with work is at every moment fetching or waiting for one thing."}
	sums := map[string]time.Duration{}
	for i := range bins {
		sums["fetching"] += bins[i].Fetching
		for w, d := range bins[i].Waits {
			sums[string(w)] += d
		}
	}
	maps.DeleteFunc(sums, func(_ string, d time.Duration) bool { return d <= 0 })
	if len(sums) == 0 {
		return p
	}
	names := slices.SortedFunc(maps.Keys(sums), func(a, b string) int { return cmp.Or(cmp.Compare(sums[b], sums[a]), cmp.Compare(a, b)) })
	of, legend := colours(names)
	_, seconds := ends(bins)
	c := newCanvas(p.Title, 0, seconds, 0, 100)
	c.rows(func(v float64) string { return number(v) + " %" })
	c.columns(clock)
	spent := func(p *store.Point, name string) time.Duration {
		if name == "fetching" {
			return p.Fetching
		}
		return p.Waits[visit.Wait(name)]
	}
	c.stack(bins, names, of, func(p *store.Point, name string) float64 {
		all := p.Fetching
		for _, d := range p.Waits {
			all += d
		}
		if all <= 0 {
			return 0
		}
		return 100 * float64(spent(p, name)) / float64(all)
	}, func(name string, v float64) string { return fmt.Sprintf("%s %.0f %%", name, v) })
	p.Legend, p.SVG = legend, c.svg()
	return p
}

func progress(bins []store.Point) Plot {
	p := Plot{ID: "frontier", Title: "Frontier and done", About: "URLs that wait beside those that have ended: a frontier that grows as fast as it is emptied may be a trap."}
	var done float64
	var ended, waiting [][2]float64
	highest := 0.0
	for i := range bins {
		at := bins[i].At.Add(bins[i].Span).Sub(bins[0].At).Seconds()
		for _, n := range bins[i].Ended {
			done += float64(n)
		}
		ended, waiting = append(ended, [2]float64{at, done}), append(waiting, [2]float64{at, float64(bins[i].Waiting)})
		highest = max(highest, done, float64(bins[i].Waiting))
	}
	if highest == 0 {
		return p
	}
	_, seconds := ends(bins)
	c := newCanvas(p.Title, 0, seconds, 0, highest*1.05)
	c.rows(number)
	c.columns(clock)
	c.line(ended, "line s0", "ended")
	c.line(waiting, "line s1", "waiting")
	p.Legend, p.SVG = []Key{{"ended", "c0"}, {"waiting", "c1"}}, c.svg()
	return p
}

func memory(bins []store.Point) Plot {
	p := Plot{ID: "memory", Title: "Memory of the crawler", About: "What the process held."}
	var held [][2]float64
	highest := 0.0
	for i := range bins {
		mb := float64(bins[i].Memory) / (1 << 20)
		held = append(held, [2]float64{bins[i].At.Add(bins[i].Span).Sub(bins[0].At).Seconds(), mb})
		highest = max(highest, mb)
	}
	if highest == 0 {
		return p
	}
	_, seconds := ends(bins)
	c := newCanvas(p.Title, 0, seconds, 0, highest*1.1)
	c.rows(func(v float64) string { return number(v) + " MB" })
	c.columns(clock)
	c.line(held, "line s0", "memory")
	p.Legend, p.SVG = []Key{{"memory", "c0"}}, c.svg()
	return p
}

func paces(lines []Line) Plot {
	p := Plot{ID: "paces", Title: "Learned interval of the slowest hosts", About: "Steps up are incidents (dots), steps down probes; dashed is the floor that was refused."}
	var start, end time.Time
	lo, hi := math.Inf(1), 0.0
	for _, l := range lines {
		for _, ch := range l.Changes {
			if start.IsZero() || ch.At.Before(start) {
				start = ch.At
			}
			if ch.At.After(end) {
				end = ch.At
			}
			for _, d := range []time.Duration{ch.From, ch.To} {
				if d > 0 {
					lo, hi = min(lo, d.Seconds()), max(hi, d.Seconds())
				}
			}
		}
	}
	if hi == 0 {
		return p
	}
	seconds := max(end.Sub(start).Seconds()*1.02, 1)
	c := newCanvas(p.Title, 0, seconds, lo*0.8, hi*1.25)
	c.logY = true
	c.rows(func(v float64) string { return number(v) + " s" })
	c.columns(clock)
	for i, l := range lines {
		class := i % classes
		var steps [][2]float64
		for _, ch := range l.Changes {
			at := ch.At.Sub(start).Seconds()
			steps = append(steps, [2]float64{at, max(ch.From.Seconds(), lo*0.8)}, [2]float64{at, max(ch.To.Seconds(), lo*0.8)})
		}
		if n := len(steps); n > 0 {
			steps = append(steps, [2]float64{seconds, steps[n-1][1]})
		}
		c.line(steps, fmt.Sprintf("line s%d", class), l.Host)
		if f := l.Floor.Seconds(); f > 0 {
			c.line([][2]float64{{0, f}, {seconds, f}}, fmt.Sprintf("floor s%d", class), fmt.Sprintf("floor of %s: %v", l.Host, l.Floor))
		}
		for _, ch := range l.Changes {
			if ch.To > ch.From {
				at := ch.At.Sub(start).Seconds()
				c.dot(at, ch.To.Seconds(), 3, fmt.Sprintf("c%d", class), fmt.Sprintf("%s, %s: %v to %v (%s)", l.Host, clock(at), ch.From, ch.To, ch.Cause))
			}
		}
		p.Legend = append(p.Legend, Key{l.Host, fmt.Sprintf("c%d", class)})
	}
	p.SVG = c.svg()
	return p
}

func latency(dots []Dot, sampled bool) Plot {
	p := Plot{ID: "latency", Title: "Latency and offered rate", About: "A dot is a host in ten seconds: to the right it was asked more often, higher up it answered later."}
	if sampled {
		p.About += " A sample of all."
	}
	loX, hiX, loY, hiY := math.Inf(1), 0.0, math.Inf(1), 0.0
	for _, d := range dots {
		ms := max(d.Delay.Seconds()*1000, 0.1)
		loX, hiX, loY, hiY = min(loX, d.Rate), max(hiX, d.Rate), min(loY, ms), max(hiY, ms)
	}
	if hiX == 0 {
		return p
	}
	c := newCanvas(p.Title, loX*0.9, hiX*1.2, loY*0.9, hiY*1.2)
	c.logX, c.logY = true, true
	c.rows(func(v float64) string { return number(v) + " ms" })
	c.columns(func(v float64) string { return number(v) + "/s" })
	for _, d := range dots {
		c.dot(d.Rate, max(d.Delay.Seconds()*1000, 0.1), 2.5, "c0 faint", fmt.Sprintf("%s: %s/s, %v", d.Host, number(d.Rate), d.Delay.Round(time.Millisecond/10)))
	}
	p.SVG = c.svg()
	return p
}

func statuses(list []Count) Plot {
	p := Plot{ID: "status", Title: "Status mix", About: "Last answers to all URLs that were asked for."}
	highest := int64(0)
	for _, s := range list {
		highest = max(highest, s.N)
	}
	if highest == 0 {
		return p
	}
	c := newCanvas(p.Title, 0, float64(len(list)), 0, float64(highest)*1.1)
	c.rows(number)
	step := (width - left - right) / float64(len(list))
	for i, s := range list {
		x := left + step*float64(i)
		class := map[byte]string{'2': "c2", '3': "c4", '4': "c3", '5': "c1"}[s.Name[0]]
		y := c.y(float64(s.N))
		c.bar(x+step*0.15, y, step*0.7, height-bottom-y, cmp.Or(class, "c7"), fmt.Sprintf("%s: %d", s.Name, s.N))
		fmt.Fprintf(&c.b, `<text class="tick" x="%.1f" y="%g" text-anchor="middle">%s</text>`, x+step/2, height-bottom+16, html.EscapeString(s.Name))
	}
	p.SVG = c.svg()
	return p
}

// number is a value in few characters.
func number(v float64) string {
	switch a := math.Abs(v); {
	case a >= 1e6:
		return trim(fmt.Sprintf("%.1f", v/1e6)) + " M"
	case a >= 1e4:
		return trim(fmt.Sprintf("%.1f", v/1e3)) + " k"
	case a >= 100 || a == math.Trunc(a):
		return fmt.Sprintf("%.0f", v)
	default:
		return fmt.Sprintf("%.2g", v)
	}
}

func trim(s string) string { return strings.TrimSuffix(s, ".0") }

// clock is a time from the start.
func clock(seconds float64) string {
	s := int(seconds)
	if s < 3600 {
		return fmt.Sprintf("%d:%02d", s/60, s%60)
	}
	return fmt.Sprintf("%d:%02d h", s/3600, s/60%60)
}
