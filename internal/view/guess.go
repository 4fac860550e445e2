package view

import (
	"fmt"
	"time"

	"headway"
	"headway/internal/figures"
	"headway/limit"
)

// guess says how long the crawl may still take, and what that is guessed from.
// It is the longer of two bounds: what waits at the rate of late, and the slowest
// hosts at their own pace; a limit that is met before makes it shorter.
func guess(m Model) string {
	p := m.Progress
	left, what, growing := p.Counts.Waiting, "waiting", m.Growing
	if left == 0 {
		return "guess: nearly done, nothing waits"
	}
	if c, used := ceiling(p, limit.Pages); c.Limited() && c.Max-used < left {
		left, what, growing = max(c.Max-used, 0), "pages up to "+string(limit.Pages), false
	}
	span, basis := time.Duration(0), ""
	if p.Rate > 0 {
		span = time.Duration(float64(left) / p.Rate * float64(time.Second))
		basis = fmt.Sprintf("%s %s at %s", figures.Count(left), what, rate(p.Rate))
	}
	for i := range p.Slowest {
		h := &p.Slowest[i]
		queued, least := int64(h.Queued), ""
		if h.More {
			least = "at least "
		}
		if p.Frontier.Working == 1 {
			queued, least = left, "" // all that waits is there
		}
		queued = min(queued, left)
		bound := time.Duration(queued) * h.Pace.Duration()
		if h.HeldUntil.After(p.At) {
			bound += h.HeldUntil.Sub(p.At)
		}
		if queued > 0 && bound > span {
			span = bound
			basis = fmt.Sprintf("bound by %s, %s%s at %s", hostName(h.Host), least, figures.Count(queued), seconds(h.Pace.Duration()))
		}
	}
	if basis == "" {
		return "guess: none yet, nothing was finished lately"
	}
	if growing {
		basis += ", and more is found"
	}
	if c, used := ceiling(p, limit.Time); c.Limited() {
		if rest := time.Duration(c.Max - used); rest < span {
			return fmt.Sprintf("guess: %s left, then %s stops it with work left", figures.Clock(rest), limit.Time)
		}
	}
	return fmt.Sprintf("guess: %s left, %s", figures.Clock(span), basis)
}

// ceiling is a limit of the crawl and what is used of it.
func ceiling(p *headway.Progress, name limit.Name) (limit.Ceiling, int64) {
	for _, c := range p.Ceilings {
		if c.Limit == name {
			return c, p.Spent.Of(name)
		}
	}
	return limit.Ceiling{}, 0
}
