package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"headway/internal/humanize"
	"headway/store"
)

// axis is the time axis of the plots: the running time of the crawl. Pauses between two runs
// take no room and are marked.
type axis struct {
	bins  []bin
	pause []pause
	end   float64 // seconds
}

// bin is a point of the series with its position on the axis, in seconds.
type bin struct {
	from, to float64
	at       time.Time // its start
	store.Point
}

func (b *bin) seconds() float64 { return b.to - b.from }

// pause is a time in which the crawl did not run.
type pause struct {
	at   float64 // position on the axis
	took time.Duration
}

// newAxis arranges points.
func newAxis(points []store.Point) *axis {
	a := &axis{}
	var last time.Time
	for _, p := range points {
		if gap := p.At.Sub(last); len(a.bins) > 0 && gap > 0 {
			a.pause = append(a.pause, pause{a.end, gap})
		}
		a.bins = append(a.bins, bin{a.end, a.end + p.Span.Seconds(), p.At, p})
		a.end += p.Span.Seconds()
		last = p.At.Add(p.Span)
	}
	return a
}

// maxPauses limits the marked pauses.
const maxPauses = 12

// longest are the pauses that are marked.
func (a *axis) longest() []pause {
	list := slices.Clone(a.pause)
	slices.SortStableFunc(list, func(x, y pause) int { return cmp.Compare(y.took, x.took) })
	return list[:min(len(list), maxPauses)]
}

// about adds an explanation of the marks to the text below a title.
func (a *axis) about(text string) string {
	if len(a.pause) > 0 {
		text += " Dotted lines: the crawl was not running between two runs."
	}
	return text
}

// merged joins neighbours until there are few enough to draw.
func (a *axis) merged(most int) []bin {
	bins := a.bins
	for len(bins) > most {
		var fewer []bin
		for pair := range slices.Chunk(bins, 2) {
			b := pair[0]
			if len(pair) == 2 {
				b.to, b.Point = pair[1].to, b.Then(pair[1].Point)
			}
			fewer = append(fewer, b)
		}
		bins = fewer
	}
	return bins
}

// seconds is the position of a time on the axis.
func (a *axis) seconds(t time.Time) float64 {
	i, _ := slices.BinarySearchFunc(a.bins, t, func(b bin, t time.Time) int { return b.at.Compare(t) })
	if i < len(a.bins) && a.bins[i].at.Equal(t) {
		return a.bins[i].from
	}
	if i == 0 {
		return 0
	}
	b := a.bins[i-1]
	return min(b.from+t.Sub(b.at).Seconds(), b.to)
}

// timeSteps are the possible distances of time marks, in seconds.
var timeSteps = []float64{1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 172_800, 432_000, 864_000, 1_728_000, 4_320_000}

// times returns about n marks for an axis of end seconds, and their format.
func times(end float64, n int) (marks []float64, text func(float64) string) {
	step := timeSteps[len(timeSteps)-1]
	for _, s := range timeSteps {
		if end/s <= float64(n)+0.5 {
			step = s
			break
		}
	}
	for v := 0.0; v <= end; v += step {
		marks = append(marks, v)
	}
	unit := func(seconds float64, name string) func(float64) string {
		return func(v float64) string { return fmt.Sprintf("%.0f %s", v/seconds, name) }
	}
	switch {
	case step >= 86_400:
		return marks, unit(86_400, "d")
	case step >= 3600:
		return marks, unit(3600, "h")
	case step >= 60:
		return marks, unit(60, "min")
	default:
		return marks, clock
	}
}

// clock formats a time since the start.
func clock(seconds float64) string {
	return humanize.Clock(time.Duration(math.Round(seconds) * float64(time.Second)))
}
