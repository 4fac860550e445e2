package fetch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"headway/weburl"
)

const (
	// maxRobotsHops is how many redirects of robots.txt are followed.
	maxRobotsHops = 5
	// robotsBody is how much of a robots.txt is kept: one byte more than
	// counts, so that its reader sees that a line may have been cut.
	robotsBody = 512_000 + 1
	// robotsTimeout bounds each exchange for a robots.txt.
	robotsTimeout = 10 * time.Second
)

// RefusedHopError reports a robots.txt that redirects to where we do not go: a
// private address, or a port that is not open.
type RefusedHopError struct {
	From, To weburl.URL
	Err      error // why not
}

// Error names the hop.
func (e *RefusedHopError) Error() string {
	return fmt.Sprintf("fetch %s: robots.txt redirects to %s, which is not allowed: %s", e.From.Host(), e.To.Host(), printable(e.Err.Error()))
}

// The ways a chain of redirects ends without an answer.
var (
	ErrTooManyRedirects = errors.New("too many redirects")
	ErrNoLocation       = errors.New("redirect without a location")
)

// Robots fetches a robots.txt. It is the one fetch that follows redirects: up
// to five, also to other hosts, each guarded and each a request of its own. The
// result is that of the last hop, as [Client.Do] returns it; hops lists the URLs
// asked, the first included. Secrets stay with their host, and so does Owned.
//
// Body and time are bounded as robots.txt has it: a longer body is cut, not
// refused. A chain that leads nowhere ends with [ErrTooManyRedirects] or
// [ErrNoLocation]; a Location that no URL can be read from is an [*Error]. One that
// leads to where we do not go is a [*RefusedHopError], beside the result of the hop
// before, which is the last that was sent.
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
		r.Close() // its header says it all
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
		// What was said of the host was said of this host; validators are those
		// of this URL.
		if next.Host() != req.URL.Host() {
			req.Owned = false
		}
		req.URL, req.ETag, req.LastModified = next, "", ""
	}
}
