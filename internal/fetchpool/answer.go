package fetchpool

import (
	"errors"
	"time"

	"headway/fetch"
	"headway/frontier"
	"headway/internal/exchange"
)

// answer converts the result of a request for the schedule.
func (p *Pool) answer(x *exchange.Answer) frontier.Answer {
	a := frontier.Answer{Answer: x.Polite(), Answered: x.Heard(), Remote: x.Remote.Addr()}
	if failure, ok := errors.AsType[*fetch.Error](x.Err); ok {
		a.Local = failure.Local
		if first := x.Timing.FirstByte; first > 0 {
			a.FirstByte = p.loop.Steady(x.Timing.Sent.Add(first))
		}
	}
	if p.cfg.Overloaded() {
		a.Latency = 0
	}
	return a
}

// sentAt is when a request was sent, by the loop's clock; zero if it was not.
func (p *Pool) sentAt(res *fetch.Result) time.Time {
	if res.Timing.Sent.IsZero() {
		return time.Time{}
	}
	return p.loop.Steady(res.Timing.Sent)
}

// noteAnswer records when a response last began. Workers call it at the first byte, so that
// a long response proves early that our own network works. Of two concurrent calls the
// earlier time may win, which does no harm.
func (p *Pool) noteAnswer(at time.Time) { p.heard.Store(p.loop.Steady(at).UnixNano()) }

// ReportHeard reports to the schedule when a response last began.
func (p *Pool) ReportHeard(now time.Time) {
	if at := p.heard.Load(); at != 0 {
		p.cfg.Schedule.Heard(now, time.Unix(0, at).UTC())
	}
}
