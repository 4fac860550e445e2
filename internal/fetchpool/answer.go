package fetchpool

import (
	"errors"
	"time"

	"headway/fetch"
	"headway/frontier"
	"headway/internal/exchange"
)

// answer is how a request ended, for the schedule.
func (p *Pool) answer(x *exchange.Answer) frontier.Answer {
	a := frontier.Answer{Answer: x.Polite(), Answered: x.Heard(), Remote: x.Remote.Addr()}
	if failure, ok := errors.AsType[*fetch.Error](x.Err); ok {
		a.Local = failure.Local
		if first := x.Timing.FirstByte; first > 0 {
			a.FirstByte = p.loop.Steady(x.Timing.Sent.Add(first))
		}
	}
	if p.cfg.Strained() {
		a.Latency = 0
	}
	return a
}

// sentAt is when a request left, by the loop's clock; zero if it did not.
func (p *Pool) sentAt(res *fetch.Result) time.Time {
	if res.Timing.Sent.IsZero() {
		return time.Time{}
	}
	return p.loop.Steady(res.Timing.Sent)
}

// noteAnswer keeps when something last answered. Workers note it the moment an answer
// begins, so that a long one is evidence of our own network before it ends. Of two at
// once the earlier may be kept, which does no harm.
func (p *Pool) noteAnswer(at time.Time) { p.heard.Store(p.loop.Steady(at).UnixNano()) }

// ReportHeard reports to the schedule when something last answered.
func (p *Pool) ReportHeard(now time.Time) {
	if at := p.heard.Load(); at != 0 {
		p.cfg.Schedule.Heard(now, time.Unix(0, at).UTC())
	}
}
