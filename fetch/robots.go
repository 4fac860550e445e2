package fetch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"headway/weburl"
)

const (
	// maxRobotsHops limits the redirects of a robots.txt.
	maxRobotsHops = 5
	// robotsBody is how much of a robots.txt is kept: one byte more than is used, so
	// that its reader sees that a line may have been cut.
	robotsBody = 512_000 + 1
	// robotsTimeout limits each exchange for a robots.txt.
	robotsTimeout = 10 * time.Second
)

// RefusedHopError reports a robots.txt that redirects to a forbidden target: a
// private address or a port that is not allowed.
type RefusedHopError struct {
	From, To weburl.URL
	Err      error // why not
}

// Error names the hop.
func (e *RefusedHopError) Error() string {
	return fmt.Sprintf("fetch %s: robots.txt redirects to %s, which is not allowed: %s", e.From.Host(), e.To.Host(), printable(e.Err.Error()))
}

// Errors of a redirect chain without a final response.
var (
	ErrTooManyRedirects = errors.New("too many redirects")
	ErrNoLocation       = errors.New("redirect without a location")
)

// Robots fetches a robots.txt. It is the only fetch that follows redirects: up to
// five, also to other hosts, each checked and each a separate request. The result is
// that of the last hop, as [Client.Do] returns it; hops lists the requested URLs, the
// first included. Secrets and Owned apply only to the original host.
//
// Body and time have the limits for robots.txt: a longer body is cut, not an error. A
// broken chain ends with [ErrTooManyRedirects] or [ErrNoLocation]; an invalid Location
// is an [*Error]. A redirect to a forbidden target is a [*RefusedHopError]. It and an error of
// Follow are returned with the result of the hop before.
func (c *Client) Robots(ctx context.Context, req Request) (last *Result, hops []weburl.URL, err error) {
	req.MaxBody, req.CutBody = robotsBody, true
	if req.Timeout == 0 {
		req.Timeout = robotsTimeout
	}
	for {
		hops = append(hops, req.URL)
		r, err := c.Do(ctx, req)
		if refused, ok := errors.AsType[*Error](err); ok && refused.Reason.Skipped() && last != nil {
			r.Close()
			return last, hops[:len(hops)-1], &RefusedHopError{From: last.URL, To: req.URL, Err: refused.Err}
		}
		if err != nil || !isRedirect(r.Status) {
			return r, hops, err
		}
		last = r
		r.Close() // the header is enough
		if len(hops) > maxRobotsHops {
			return r, hops, fmt.Errorf("fetch %s: %w", hops[0].Host(), ErrTooManyRedirects)
		}
		location := r.Location()
		if location == "" {
			return r, hops, fmt.Errorf("fetch %s: %w", req.URL.Host(), ErrNoLocation)
		}
		next, err := req.URL.Resolve(location)
		if err != nil {
			return r, hops, &Error{Reason: Protocol, Phase: PhaseHeader, Host: req.URL.Host(), Err: fmt.Errorf("redirect: %w", err)}
		}
		if req.Follow != nil {
			if err := req.Follow(ctx); err != nil {
				return r, hops, fmt.Errorf("fetch %s: redirect: %w", hops[0].Host(), err)
			}
		}
		// Owned and Secrets apply to the original host, validators to the original URL.
		if next.Host() != req.URL.Host() {
			req.Owned = false
		}
		req.URL, req.ETag, req.LastModified = next, "", ""
	}
}
