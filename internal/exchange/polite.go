package exchange

import (
	"errors"
	"time"

	"headway/fetch"
	"headway/politeness"
)

// politeAnswer converts the result of a request for package politeness.
func politeAnswer(res *fetch.Result, err error, challenge bool, now time.Time) politeness.Answer {
	a := politeness.Answer{SentAt: res.Timing.Sent, Status: res.Status, Latency: res.Timing.FirstByte, Challenge: challenge}
	if !fetch.ReadCache(res.Header).Cold() {
		// The latency of a cache hit says nothing about the host behind it, and would make
		// every uncached page look slow.
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
		// A slower pace would not help.
	}
	return a
}

// tooLong represents a Retry-After that is longer than any patience.
const tooLong = 10 * 365 * 24 * time.Hour

// retryAfter reads the Retry-After header, without regard to a job's time limit.
func retryAfter(res *fetch.Result, now time.Time) (wait time.Duration, ok bool) {
	answer := fetch.ReadRetryAfter(fetch.RetryInput{
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
