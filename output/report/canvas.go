package report

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"slices"
	"strings"

	"headway/internal/humanize"
)

// frame is the size of a drawing in its own units, which are about the size of pixels where
// it is shown.
type frame struct {
	width, height            float64
	left, right, top, bottom float64
	rows, columns            int  // approximate number of marks on the axes
	bins                     int  // maximum number of time bins
	name                     int  // characters of a bar's name
	titles                   bool // tooltips
}

// Every plot is drawn twice: for a large screen, and for a phone, where the same drawing
// scaled down would be unreadable. The page shows one of them.
var (
	wide   = frame{width: 680, height: 240, left: 62, right: 22, top: 10, bottom: 43, rows: 4, columns: 7, bins: 160, name: 34, titles: true}
	narrow = frame{width: 350, height: 210, left: 54, right: 20, top: 10, bottom: 43, rows: 4, columns: 4, bins: 64, name: 20}
)

// canvas draws one plot.
type canvas struct {
	frame
	b              strings.Builder
	x0, x1, y0, y1 float64
	logX, logY     bool
}

func (f frame) canvas(label string, x0, x1, y0, y1 float64) *canvas {
	c := &canvas{frame: f, x0: x0, x1: x1, y0: y0, y1: y1}
	fmt.Fprintf(&c.b, `<svg viewBox="0 0 %g %g" role="img" aria-label="%s">`, f.width, f.height, html.EscapeString(label))
	return c
}

// scale maps a value to its position between two ends.
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
	return c.left + scale(v, c.x0, c.x1, c.logX)*(c.width-c.left-c.right)
}

func (c *canvas) y(v float64) float64 {
	return c.height - c.bottom - scale(v, c.y0, c.y1, c.logY)*(c.height-c.top-c.bottom)
}

func (c *canvas) text(x, y float64, anchor, text string) {
	fmt.Fprintf(&c.b, `<text x="%.1f" y="%.1f" text-anchor="%s">%s</text>`, x, y, anchor, html.EscapeString(text))
}

// across draws the horizontal grid lines with labels.
func (c *canvas) across(text func(float64) string) {
	for _, v := range ticks(c.y0, c.y1, c.frame.rows, c.logY) {
		y := c.y(v)
		fmt.Fprintf(&c.b, `<line class="grid" x1="%g" x2="%g" y1="%.1f" y2="%.1f"/>`, c.left, c.width-c.right, y, y)
		c.text(c.left-6, y+4, "end", text(v))
	}
}

// below writes the labels of the horizontal axis, and its title.
func (c *canvas) below(marks []float64, text func(float64) string, about string) {
	for _, v := range marks {
		c.text(c.x(v), c.height-c.bottom+19, "middle", text(v))
	}
	c.text(c.left+(c.width-c.left-c.right)/2, c.height-6, "middle", about)
}

// time writes the time axis, and marks where the crawl did not run.
func (c *canvas) time(a *axis) {
	marks, text := times(c.x1, c.frame.columns)
	c.below(marks, text, "running time of the crawl")
	for _, p := range a.longest() {
		x := c.x(p.at)
		fmt.Fprintf(&c.b, `<line class="pause" x1="%.1f" x2="%.1f" y1="%g" y2="%g"><title>not running for %s</title></line>`, x, x, c.top, c.height-c.bottom, humanize.Clock(p.took))
	}
}

// titled ends an element, with a tooltip where the frame has them.
func (c *canvas) titled(name, title string) {
	if c.titles {
		fmt.Fprintf(&c.b, `><title>%s</title></%s>`, html.EscapeString(title), name)
	} else {
		c.b.WriteString("/>")
	}
}

func (c *canvas) rect(x, y, w, h float64, class, title string) {
	fmt.Fprintf(&c.b, `<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%.1f"`, class, x, y, w, h)
	c.titled("rect", title)
}

func (c *canvas) line(points [][2]float64, class, title string) {
	if len(points) == 0 {
		return
	}
	fmt.Fprintf(&c.b, `<polyline class="%s" points="`, class)
	for _, p := range points {
		fmt.Fprintf(&c.b, "%.1f,%.1f ", c.x(p[0]), c.y(p[1]))
	}
	c.b.WriteByte('"')
	c.titled("polyline", title)
}

func (c *canvas) dot(x, y, r float64, class, title string) {
	fmt.Fprintf(&c.b, `<circle class="%s" cx="%.1f" cy="%.1f" r="%g"`, class, c.x(x), c.y(y), r)
	c.titled("circle", title)
}

func (c *canvas) svg() template.HTML {
	c.b.WriteString("</svg>")
	return template.HTML(c.b.String()) //nolint:gosec // all text in it was escaped above
}

// bar is a number with its name.
type bar struct {
	name  string
	n     int64
	class string
}

// Sizes of a bar.
const (
	barStep = 23.0
	barHigh = 15.0
	letter  = 6.6 // approximate width of a character
)

// bars draws horizontal bars, with names, numbers and shares.
func (f frame) bars(label string, list []bar) *canvas {
	var most, all int64
	for _, b := range list {
		most, all = max(most, b.n), all+b.n
	}
	names, words := make([]string, len(list)), make([]string, len(list))
	longest := func(texts []string) float64 {
		n := 0
		for _, text := range texts {
			n = max(n, len([]rune(text)))
		}
		return float64(n) * letter
	}
	for i, b := range list {
		names[i], words[i] = clip(b.name, f.name), humanize.Count(b.n)+" · "+percent(b.n, all)
	}
	f.height, f.left, f.right = float64(len(list))*barStep+f.top, longest(names)+12, longest(words)+12
	c := f.canvas(label, 0, float64(most), 0, 1)
	for i, b := range list {
		y := c.top + float64(i)*barStep
		c.text(c.left-6, y+12, "end", names[i])
		w := max(c.x(float64(b.n))-c.left, 1.5)
		c.rect(c.left, y, w, barHigh, b.class, b.name+": "+words[i])
		c.text(c.left+w+6, y+12, "start", words[i])
	}
	return c
}

// percent formats a share; it is never 0 % for a count above zero.
func percent(n, all int64) string {
	if share := 100 * float64(n) / float64(all); share >= 0.1 {
		return trim(fmt.Sprintf("%.1f", share)) + " %"
	}
	return "<0.1 %"
}

// clip shortens a name.
func clip(name string, most int) string {
	if runes := []rune(name); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return name
}

// ticks returns about n round values between two ends.
func ticks(lo, hi float64, n int, logarithmic bool) []float64 {
	if logarithmic {
		return decades(lo, hi, n)
	}
	if hi <= lo {
		return []float64{lo}
	}
	step := math.Pow(10, math.Floor(math.Log10((hi-lo)/float64(n))))
	for _, m := range []float64{1, 2, 5, 10} {
		if (hi-lo)/(step*m) <= float64(n)+1 {
			step *= m
			break
		}
	}
	var list []float64
	for v := math.Ceil(lo/step) * step; v <= hi+step*1e-9; v += step {
		list = append(list, v)
	}
	return list
}

// decades returns round values on a logarithmic scale: as many per decade as fit.
func decades(lo, hi float64, n int) []float64 {
	var list []float64
	for _, multiples := range [][]float64{{1, 2, 5}, {1, 3}, {1}} {
		list = nil
		for e := math.Floor(math.Log10(lo)); e <= math.Ceil(math.Log10(hi)); e++ {
			for _, m := range multiples {
				if v := m * math.Pow(10, e); v >= lo*0.999 && v <= hi*1.001 {
					list = append(list, v)
				}
			}
		}
		if len(list) <= n+2 {
			return list
		}
	}
	every := (len(list) + n - 1) / n
	i := 0
	return slices.DeleteFunc(list, func(float64) bool { i++; return (i-1)%every != 0 })
}

// number formats a value in few characters.
func number(v float64) string {
	switch a := math.Abs(v); {
	case a >= 1e9:
		return trim(fmt.Sprintf("%.1f", v/1e9)) + " G"
	case a >= 1e6:
		return trim(fmt.Sprintf("%.1f", v/1e6)) + " M"
	case a >= 1e3:
		return humanize.Count(int64(math.Round(v)))
	case a >= 100 || a == math.Trunc(a):
		return fmt.Sprintf("%.0f", v)
	case a >= 10:
		return trim(fmt.Sprintf("%.1f", v))
	default:
		return fmt.Sprintf("%.2g", v)
	}
}

func trim(s string) string { return strings.TrimSuffix(s, ".0") }
