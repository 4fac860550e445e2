package report

import (
	"cmp"
	"fmt"
	"html/template"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"headway/internal/humanize"
	"headway/store"
	"headway/visit"
)

// Plot is a picture with its legend.
type Plot struct {
	ID, Title, About string
	Legend           []Key
	Notes            []string
	Wide, Narrow     template.HTML // built here from numbers and escaped text
}

// Key is an entry of a legend.
type Key struct {
	Name  string
	Class string
}

// draw makes both drawings of a plot.
func (p *Plot) draw(in func(frame) *canvas) {
	p.Wide, p.Narrow = in(wide).svg(), in(narrow).svg()
}

// Plots draws all plots that have data.
func (r *Report) Plots() []Plot {
	sums := humanize.Sums(r.Counts)
	a := newAxis(r.Points)
	plots := []Plot{
		outcomes(sums), statuses(r.Status), throughput(a), progress(a), waits(a),
		paces(a, r.Lines), latency(r.Dots, r.DotsSampled), memory(a),
	}
	return slices.DeleteFunc(plots, func(p Plot) bool { return p.Wide == "" })
}

// outcomeClasses give an outcome the same colour on every report.
var outcomeClasses = map[visit.Outcome]string{
	visit.Fetched: "c2", visit.NotModified: "c9", visit.Redirected: "c5", visit.Dead: "c10", visit.ServerError: "c1", visit.Throttled: "c4",
	visit.Blocked: "c3", visit.Skipped: "c7", visit.Deferred: "c6", visit.Failed: "c8", visit.Pending: "c0",
}

func outcomes(sums []humanize.Sum) Plot {
	p := Plot{ID: "outcomes", Title: "How URLs ended", About: "Every URL seen has exactly one outcome."}
	var bars []bar
	for _, s := range sums {
		bars = append(bars, bar{string(s.Outcome), s.N, outcomeClasses[s.Outcome]})
		var parts []string
		for _, r := range s.Reasons {
			parts = append(parts, humanize.Count(r.N)+" "+string(r.Reason))
		}
		if parts != nil {
			p.Notes = append(p.Notes, string(s.Outcome)+": "+strings.Join(parts, ", "))
		}
	}
	if len(bars) > 0 {
		p.draw(func(f frame) *canvas { return f.bars(p.Title, bars) })
	}
	return p
}

// maxStatuses limits the statuses with their own bar.
const maxStatuses = 14

// statusClass is the colour of a status: that of the outcome it leads to.
func statusClass(code string) string {
	of := map[string]visit.Outcome{"404": visit.Dead, "410": visit.Dead, "429": visit.Throttled, "401": visit.Blocked, "403": visit.Blocked, "304": visit.NotModified}
	if o, ok := of[code]; ok {
		return outcomeClasses[o]
	}
	switch code[0] {
	case '2':
		return outcomeClasses[visit.Fetched]
	case '3':
		return outcomeClasses[visit.Redirected]
	case '4':
		return outcomeClasses[visit.Failed]
	case '5':
		return outcomeClasses[visit.ServerError]
	default:
		return "c12"
	}
}

func statuses(list []Count) Plot {
	p := Plot{ID: "status", Title: "Status codes", About: "The last response for each requested URL."}
	common := slices.Clone(list)
	slices.SortStableFunc(common, func(a, b Count) int { return cmp.Compare(b.N, a.N) })
	common = common[:min(len(common), maxStatuses)]
	var bars []bar
	var rest int64
	for _, s := range list {
		if slices.Contains(common, s) {
			bars = append(bars, bar{cmp.Or(map[string]string{"none": "no response"}[s.Name], s.Name), s.N, statusClass(s.Name)})
		} else {
			rest += s.N
		}
	}
	if rest > 0 {
		bars = append(bars, bar{"others", rest, "c12"})
	}
	if len(bars) > 0 {
		p.draw(func(f frame) *canvas { return f.bars(p.Title, bars) })
	}
	return p
}

// part is one of the parts of a stacked plot.
type part struct {
	name, class string
	of          func(*bin) float64
}

// stack draws stacked parts for every bin.
func (c *canvas) stack(bins []bin, parts []part, unit string) {
	for i := range bins {
		b := &bins[i]
		x, w := c.x(b.from), c.x(b.to)-c.x(b.from)
		below := 0.0
		for _, p := range parts {
			v := p.of(b)
			if v <= 0 {
				continue
			}
			y0, y1 := c.y(below), c.y(below+v)
			c.rect(x, y1, max(w-0.5, 0.5), y0-y1, p.class, fmt.Sprintf("%s: %s %s%s", clock(b.from), p.name, number(math.Round(v*100)/100), unit))
			below += v
		}
	}
}

func legend(parts []part) []Key {
	var list []Key
	for _, p := range parts {
		list = append(list, Key{p.name, p.class})
	}
	return list
}

func throughput(a *axis) Plot {
	p := Plot{ID: "throughput", Title: "Throughput by outcome", About: a.about("URLs finished per second.")}
	var parts []part
	for _, o := range visit.Outcomes {
		if slices.ContainsFunc(a.bins, func(b bin) bool { return b.Ended[o] > 0 }) {
			parts = append(parts, part{string(o), outcomeClasses[o], func(b *bin) float64 { return float64(b.Ended[o]) / b.seconds() }})
		}
	}
	if len(parts) == 0 {
		return p
	}
	p.Legend = legend(parts)
	p.draw(func(f frame) *canvas {
		bins := a.merged(f.bins)
		highest := 0.0
		for i := range bins {
			all := 0.0
			for _, part := range parts {
				all += part.of(&bins[i])
			}
			highest = max(highest, all)
		}
		c := f.canvas(p.Title, 0, a.end, 0, highest*1.05)
		c.across(func(v float64) string { return number(v) + "/s" })
		c.time(a)
		c.stack(bins, parts, "/s")
		return c
	})
	return p
}

// waitClasses give a wait reason the same colour on every report.
var waitClasses = map[visit.Wait]string{
	visit.WaitPace: "c0", visit.WaitCrawlDelay: "c5", visit.WaitHold: "c4", visit.WaitInFlight: "c1", visit.WaitDomainInterval: "c8",
	visit.WaitAddressInterval: "c3", visit.WaitRobots: "c11", visit.WaitDNS: "c6", visit.WaitWorkers: "c10", visit.WaitParse: "c9",
	visit.WaitCPU: "c16", visit.WaitDisk: "c17", visit.WaitDatabase: "c18", visit.WaitStorage: "c13", visit.WaitBudget: "c7", visit.WaitNetwork: "c14", visit.WaitLease: "c15", visit.WaitIdle: "c12",
}

func waits(a *axis) Plot {
	p := Plot{ID: "waits", Title: "Where host time went", About: "At any moment, each host with URLs is either fetching or waiting for one thing."}
	sums := map[visit.Wait]time.Duration{}
	var fetching time.Duration
	for i := range a.bins {
		fetching += a.bins[i].Fetching
		for w, d := range a.bins[i].Waits {
			sums[w] += d
		}
	}
	maps.DeleteFunc(sums, func(_ visit.Wait, d time.Duration) bool { return d <= 0 })
	if len(sums) == 0 && fetching <= 0 {
		return p
	}
	share := func(b *bin, d time.Duration) float64 {
		all := b.Fetching
		for _, d := range b.Waits {
			all += d
		}
		return 100 * float64(d) / float64(max(all, 1))
	}
	parts := []part{{"fetching", "c2", func(b *bin) float64 { return share(b, b.Fetching) }}}
	for _, w := range slices.SortedFunc(maps.Keys(sums), func(a, b visit.Wait) int { return cmp.Or(cmp.Compare(sums[b], sums[a]), cmp.Compare(a, b)) }) {
		parts = append(parts, part{string(w), waitClasses[w], func(b *bin) float64 { return share(b, b.Waits[w]) }})
	}
	p.Legend = legend(parts)
	p.draw(func(f frame) *canvas {
		c := f.canvas(p.Title, 0, a.end, 0, 100)
		c.across(func(v float64) string { return number(v) + " %" })
		c.time(a)
		c.stack(a.merged(f.bins), parts, " %")
		return c
	})
	return p
}

// levels draws a number over time.
func (c *canvas) levels(bins []bin, class, title string, start, of func(*bin) float64) {
	var points [][2]float64
	for i := range bins {
		if i == 0 && start != nil {
			points = append(points, [2]float64{0, start(&bins[i])})
		}
		points = append(points, [2]float64{bins[i].to, of(&bins[i])})
	}
	c.line(points, "line "+class, title)
}

func progress(a *axis) Plot {
	p := Plot{ID: "frontier", Title: "Frontier over time", About: "Waiting and finished URLs. A frontier that grows as fast as it is processed may be a crawler trap."}
	highest := 0.0
	done := map[float64]float64{} // by end of a bin
	var sum float64
	for i := range a.bins {
		for _, n := range a.bins[i].Ended {
			sum += float64(n)
		}
		done[a.bins[i].to] = sum
		highest = max(highest, sum, float64(a.bins[i].Waiting))
	}
	if highest == 0 {
		return p
	}
	p.Legend = []Key{{"finished", "c0"}, {"waiting", "c1"}}
	p.draw(func(f frame) *canvas {
		c := f.canvas(p.Title, 0, a.end, 0, highest*1.05)
		c.across(number)
		c.time(a)
		nothing := func(*bin) float64 { return 0 }
		bins := a.merged(f.bins)
		c.levels(bins, "c0", "finished", nothing, func(b *bin) float64 { return done[b.to] })
		c.levels(bins, "c1", "waiting", nothing, func(b *bin) float64 { return float64(b.Waiting) })
		return c
	})
	return p
}

func memory(a *axis) Plot {
	p := Plot{ID: "memory", Title: "Memory of the crawler", About: "Peak memory of the process."}
	megabytes := func(b *bin) float64 { return float64(b.Memory) / (1 << 20) }
	highest := 0.0
	for i := range a.bins {
		highest = max(highest, megabytes(&a.bins[i]))
	}
	if highest == 0 {
		return p
	}
	p.draw(func(f frame) *canvas {
		c := f.canvas(p.Title, 0, a.end, 0, highest*1.15)
		c.across(func(v float64) string { return number(v) + " MB" })
		c.time(a)
		c.levels(a.merged(f.bins), "c0", "memory", megabytes, megabytes)
		return c
	})
	return p
}

func paces(a *axis, lines []Line) Plot {
	p := Plot{
		ID: "paces", Title: "Learned interval between requests",
		About: "The slowest hosts that pushed back. Dots are incidents, steps down are probes, the dashed line is the floor at which the host refused.",
	}
	lo, hi := math.Inf(1), 0.0
	for _, l := range lines {
		for _, d := range append(intervals(l.Changes), l.Floor) {
			if d > 0 {
				lo, hi = min(lo, d.Seconds()), max(hi, d.Seconds())
			}
		}
	}
	if hi == 0 || a.end == 0 {
		return p
	}
	for i, l := range lines {
		p.Legend = append(p.Legend, Key{l.Host, fmt.Sprintf("c%d", i)})
	}
	p.draw(func(f frame) *canvas {
		c := f.canvas(p.Title, 0, a.end, lo*0.8, hi*1.25)
		c.logY = true
		c.across(func(v float64) string { return number(v) + " s" })
		c.time(a)
		for i, l := range lines {
			c.pace(a, l, fmt.Sprintf("c%d", i), lo*0.8)
		}
		return c
	})
	return p
}

func intervals(list []store.PaceChange) []time.Duration {
	var all []time.Duration
	for _, ch := range list {
		all = append(all, ch.From, ch.To)
	}
	return all
}

// pace draws the line of one host.
func (c *canvas) pace(a *axis, l Line, class string, least float64) {
	var steps [][2]float64
	for i, ch := range l.Changes {
		if i == 0 && ch.From > 0 {
			steps = append(steps, [2]float64{0, ch.From.Seconds()})
		}
		at := a.seconds(ch.At)
		if ch.From > 0 {
			steps = append(steps, [2]float64{at, ch.From.Seconds()})
		}
		steps = append(steps, [2]float64{at, max(ch.To.Seconds(), least)})
	}
	if n := len(steps); n > 0 {
		steps = append(steps, [2]float64{a.end, steps[n-1][1]})
	}
	if s := l.Floor.Seconds(); s > 0 {
		c.line([][2]float64{{0, s}, {a.end, s}}, "floor "+class, fmt.Sprintf("floor of %s: %v", l.Host, l.Floor))
	}
	c.line(steps, "line "+class, l.Host)
	for _, ch := range l.Changes {
		if ch.To > ch.From {
			at := a.seconds(ch.At)
			c.dot(at, ch.To.Seconds(), 3.2, class, fmt.Sprintf("%s, %s: %v to %v (%s)", l.Host, clock(at), ch.From, ch.To, ch.Cause))
		}
	}
}

func latency(dots []Dot, sampled bool) Plot {
	p := Plot{ID: "latency", Title: "Latency and offered rate", About: "Each dot is one host over ten seconds. Further right: more requests. Higher: slower responses."}
	if sampled {
		p.About += " Sampled."
	}
	ms := func(d Dot) float64 { return max(d.Delay.Seconds()*1000, 0.1) }
	loX, hiX, loY, hiY := math.Inf(1), 0.0, math.Inf(1), 0.0
	for _, d := range dots {
		loX, hiX, loY, hiY = min(loX, d.Rate), max(hiX, d.Rate), min(loY, ms(d)), max(hiY, ms(d))
	}
	if hiX == 0 {
		return p
	}
	p.draw(func(f frame) *canvas {
		c := f.canvas(p.Title, loX*0.8, hiX*1.25, loY*0.8, hiY*1.25)
		c.logX, c.logY = true, true
		c.across(func(v float64) string { return number(v) + " ms" })
		c.below(ticks(c.x0, c.x1, f.columns, true), func(v float64) string { return number(v) + "/s" }, "requests per second to one host")
		for _, d := range dots {
			c.dot(d.Rate, ms(d), 2.6, "c0 faint", fmt.Sprintf("%s: %s/s, %v", d.Host, number(d.Rate), d.Delay.Round(time.Millisecond/10)))
		}
		return c
	})
	return p
}
