package fetchpool_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"headway/fetch"
	"headway/frontier"
	"headway/internal/fetchpool"
	"headway/visit"
	"headway/weburl"
)

// TestStopped stops requests that may no longer be sent. They were not sent and say nothing
// about the host.
func TestStopped(t *testing.T) {
	out := false
	for name, tt := range map[string]struct {
		change func(r *rig)
		want   error
		local  bool
	}{
		"lease lost": {func(r *rig) { r.lease.lost = errTest }, errTest, true},
		"opted out":  {func(*rig) { out = true }, fetchpool.ErrOptedOut, false},
		"held": {func(r *rig) {
			r.gate.CloseOnRefusal(&fetch.Result{Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"3"}}})
		}, fetchpool.ErrHeld, false},
	} {
		t.Run(name, func(t *testing.T) {
			out = false
			in(t, func(cfg *fetchpool.Config) { cfg.OptedOut = func(weburl.URL) bool { return out } }, func(r *rig) {
				tt.change(r)
				for _, kind := range []frontier.Kind{frontier.Page, frontier.Robots, frontier.Sitemap} {
					r.Start(r.work, r.task(kind, "/a"))
				}
				r.settle()
				if len(r.robots) != 1 || len(r.sitemaps) != 1 {
					t.Fatalf("%d robots.txt and %d sitemaps landed", len(r.robots), len(r.sitemaps))
				}
				for _, own := range []error{r.page().LocalErr, r.robots[0].LocalErr, r.sitemaps[0].LocalErr} {
					if !errors.Is(own, tt.want) || fetchpool.CalledOff(own) == tt.local {
						t.Errorf("local error %v", own)
					}
				}
				if len(r.requests) > 0 || !r.page().Sent.IsZero() || r.listings > 0 {
					t.Errorf("requested %q", r.requests)
				}
			})
		})
	}
}

// TestHeldForAWhile sends a request after the Retry-After of a refusal.
func TestHeldForAWhile(t *testing.T) {
	in(t, nil, func(r *rig) {
		r.replies[host+"/a"] = reply{status: http.StatusTooManyRequests, header: http.Header{"Retry-After": {"3"}}}
		r.Start(r.work, r.task(frontier.Page, "/a"))
		r.run(time.Second)
		r.Start(r.work, r.task(frontier.Page, "/b"))
		r.run(2 * time.Second)
		r.Start(r.work, r.task(frontier.Page, "/b"))
		r.settle()
		if len(r.pages) != 3 || r.pages[0].LocalErr != nil || !errors.Is(r.pages[1].LocalErr, fetchpool.ErrHeld) || r.pages[2].LocalErr != nil {
			t.Errorf("%+v", r.pages)
		}
	})
}

// TestLeaseEnds cancels a request with its lease although the work continues. That it was
// sent is known.
func TestLeaseEnds(t *testing.T) {
	in(t, nil, func(r *rig) {
		ctx, end := context.WithCancelCause(r.work)
		r.lease.ctx = ctx
		r.replies[host+"/a"] = reply{header: html, takes: time.Minute}
		r.Start(r.work, r.task(frontier.Page, "/a"))
		r.run(2 * time.Second)
		end(errTest)
		r.settle()
		if l := r.page(); !errors.Is(l.LocalErr, errTest) || l.Sent.IsZero() {
			t.Errorf("%+v", l)
		}
	})
}

// TestFailure checks that a host's failure is not a local error.
func TestFailure(t *testing.T) {
	in(t, nil, func(r *rig) {
		r.replies[host+"/a"] = reply{err: &fetch.Error{Reason: fetch.Timeout, Phase: fetch.PhaseHeader, Host: host, Err: errTest}}
		r.Start(r.work, r.task(frontier.Page, "/a"))
		r.settle()
		if l := r.page(); l.LocalErr != nil || l.Visit.Outcome != visit.Failed || l.Answer.Answered {
			t.Errorf("%+v with %+v", l, l.Visit)
		}
	})
}
