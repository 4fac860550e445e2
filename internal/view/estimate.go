package view

import (
	"fmt"
	"time"

	"headway"
	"headway/internal/humanize"
	"headway/limit"
)

// estimate says how long the crawl may still take, and what that is based on. It is
// the longer of two bounds: the waiting URLs at the recent rate, and the slowest hosts
// at their own pace; a limit that is reached before makes it shorter.
func estimate(m Model) string {
	p := m.Progress
	left, what, growing := p.Counts.Waiting, "waiting", m.Growing
	if left == 0 {
		return "estimate: nearly done, no URL waiting"
	}
	if c, used := ceiling(p, limit.Pages); c.Limited() && c.Max-used < left {
		left, what, growing = max(c.Max-used, 0), "pages up to "+string(limit.Pages), false
	}
	span, basis := time.Duration(0), ""
	if p.Rate > 0 {
		span = time.Duration(float64(left) / p.Rate * float64(time.Second))
		basis = fmt.Sprintf("%s %s at %s", humanize.Count(left), what, rate(p.Rate))
	}
	for i := range p.Slowest {
		h := &p.Slowest[i]
		queued, least := int64(h.Queued), ""
		if h.More {
			least = "at least "
		}
		if p.Frontier.Working == 1 {
			queued, least = left, "" // everything that waits is known
		}
		queued = min(queued, left)
		bound := time.Duration(queued) * h.Pace.Duration()
		if h.HeldUntil.After(p.At) {
			bound += h.HeldUntil.Sub(p.At)
		}
		if queued > 0 && bound > span {
			span = bound
			basis = fmt.Sprintf("limited by %s, %s%s at %s", hostName(h.Host), least, humanize.Count(queued), seconds(h.Pace.Duration()))
		}
	}
	if basis == "" {
		return "estimate: not available, no URL finished recently"
	}
	if growing {
		basis += ", still finding more"
	}
	if c, used := ceiling(p, limit.Time); c.Limited() {
		if rest := time.Duration(c.Max - used); rest < span {
			return fmt.Sprintf("%s left (estimate), then %s stops the crawl", humanize.Clock(rest), limit.Time)
		}
	}
	return fmt.Sprintf("%s left (estimate): %s", humanize.Clock(span), basis)
}

// ceiling is a limit of the crawl and how much of it is used.
func ceiling(p *headway.Progress, name limit.Name) (limit.Ceiling, int64) {
	for _, c := range p.Ceilings {
		if c.Limit == name {
			return c, p.Spent.Of(name)
		}
	}
	return limit.Ceiling{}, 0
}
