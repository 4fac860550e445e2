package simweb_test

import (
	"context"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"syscall"
	"time"

	"headway/fetch"
	"headway/politeness"
)

// request is one request to be made.
type request struct {
	host   *host
	queue  *queue  // nil for robots.txt
	target *target // nil for robots.txt
	path   string
	at     time.Time
	number int // of all requests
}

// result is what came of it.
type result struct {
	request
	answer  politeness.Answer
	attempt politeness.Attempt
	body    []byte // of robots.txt
}

// visitURL makes a request with net/http and tells politeness what it needs to
// know.
func visitURL(ctx context.Context, c *http.Client, timeout time.Duration, r request) result {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	res := result{request: r, attempt: politeness.Attempt{Domain: r.host.domain}}
	res.answer.SentAt = r.at
	err := exchange(ctx, c, &res)
	res.answer.Fault = faultOf(err)
	res.attempt.Fault = res.answer.Fault
	res.attempt.Local = errors.Is(err, syscall.ENETUNREACH)
	dns, isDNS := errors.AsType[*net.DNSError](err)
	res.attempt.Answered = isDNS && dns.IsNotFound || errors.Is(err, syscall.ECONNREFUSED)
	return res
}

func exchange(ctx context.Context, c *http.Client, res *result) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+res.host.name+res.path, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	a := &res.answer
	a.Latency = time.Since(res.at)
	a.Status = resp.StatusCode
	a.RetryAfter, a.HasRetryAfter = retryAfter(resp)
	if res.target == nil {
		res.body, err = io.ReadAll(resp.Body)
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// faultOf names what went wrong.
func faultOf(err error) politeness.Fault {
	_, isDNS := errors.AsType[*net.DNSError](err)
	op, isOp := errors.AsType[*net.OpError](err)
	switch {
	case err == nil:
		return politeness.NoFault
	case isDNS:
		return politeness.DNS
	case errors.Is(err, context.DeadlineExceeded):
		return politeness.Timeout
	case isOp && op.Op == "dial":
		return politeness.Connect
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return politeness.Reset
	default:
		return politeness.Protocol
	}
}

// retryAfter reads how long the host asks to be left alone. A time beyond all
// counting is one, too: whoever asks for it is not asked again.
func retryAfter(resp *http.Response) (time.Duration, bool) {
	wait := fetch.ReadRetryAfter(fetch.RetryQuestion{
		Status: resp.StatusCode, RetryAfter: resp.Header.Values("Retry-After"), Date: resp.Header.Get("Date"),
		Now: time.Now(), Budget: fetch.NoBudget,
	})
	switch wait.Action {
	case fetch.ActionWait:
		return wait.Wait, true
	case fetch.ActionGiveUp:
		return math.MaxInt64, true
	default:
		return 0, false
	}
}
