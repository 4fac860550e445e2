package exchange

import (
	"errors"
	"time"

	"headway/fetch"
	"headway/politeness"
)

// politeAnswer says to package politeness how a request ended.
func politeAnswer(res *fetch.Result, err error, challenge bool, now time.Time) politeness.Answer {
	a := politeness.Answer{SentAt: res.Timing.Sent, Status: res.Status, Latency: res.Timing.FirstByte, Challenge: challenge}
	if !fetch.ReadCache(res.Header).Cold() {
		// How soon a cache hands out its copy says nothing of the host behind it,
		// and would make every page it has to make look slow.
		a.Latency = 0
	}
	a.RetryAfter, a.HasRetryAfter = retryAfter(res, now)
	failure, ok := errors.AsType[*fetch.Error](err)
	if !ok {
		return a
	}
	switch failure.Reason {
	case fetch.DNS:
		a.Fault = politeness.DNS
	case fetch.Connect:
		a.Fault = politeness.Connect
		if failure.Phase != fetch.PhaseConnect && failure.Phase != fetch.PhaseLookup {
			a.Fault = politeness.Reset
		}
	case fetch.TLS:
		a.Fault = politeness.TLS
	case fetch.Timeout:
		a.Fault = politeness.Timeout
	case fetch.Truncated:
		a.Fault = politeness.Reset
	case fetch.Protocol:
		a.Fault = politeness.Protocol
	case fetch.TooLarge, fetch.BadEncoding, fetch.PrivateAddress, fetch.BadPort:
		// The host did nothing a slower pace would cure.
	}
	return a
}

// tooLong stands for a Retry-After beyond all counting: longer than any patience.
const tooLong = 10 * 365 * 24 * time.Hour

// retryAfter reads how long the host asks to be left alone, without a job that
// could run out of time.
func retryAfter(res *fetch.Result, now time.Time) (wait time.Duration, ok bool) {
	answer := fetch.ReadRetryAfter(fetch.RetryQuestion{
		Status: res.Status, RetryAfter: res.Header.Values("Retry-After"), Date: res.Header.Get("Date"),
		Now: now, Budget: fetch.NoBudget,
	})
	switch answer.Action {
	case fetch.ActionWait:
		return answer.Wait, true
	case fetch.ActionGiveUp:
		return tooLong, true
	default:
		return 0, false
	}
}
