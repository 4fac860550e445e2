package fetchpool_test

import (
	"errors"
	"testing"
	"time"

	"headway/frontier"
	"headway/internal/fetchpool"
)

// TestSlow frees the place of an exchange without progress, for which another worker is
// started.
func TestSlow(t *testing.T) {
	in(t, func(cfg *fetchpool.Config) { cfg.Workers, cfg.Slow = 1, 1 }, func(r *rig) {
		r.replies[host+"/slow"] = reply{header: html, takes: time.Minute}
		r.Start(r.work, r.task(frontier.Page, "/slow"))
		r.run(stuckAfter / 2)
		if r.Busy() != 1 || r.Stalled() != 0 {
			t.Errorf("at first %d busy, %d without progress", r.Busy(), r.Stalled())
		}
		r.run(stuckAfter)
		if r.Busy() != 0 || r.Stalled() != 1 || r.slow != 1 {
			t.Errorf("then %d busy, %d without progress", r.Busy(), r.Stalled())
		}
		r.Start(r.work, r.task(frontier.Page, "/b"))
		r.run(time.Second)
		if len(r.pages) != 1 || r.pages[0].Request.Item.URL.Path() != "/b" {
			t.Errorf("%d pages came in meanwhile", len(r.pages))
		}
		r.settle()
		if len(r.pages) != 2 || r.pages[1].LocalErr != nil {
			t.Errorf("%+v", r.pages)
		}
	})
}

// TestApart counts an exchange as slow from the start, once.
func TestApart(t *testing.T) {
	in(t, nil, func(r *rig) {
		r.replies[host+"/slow"] = reply{header: html, takes: time.Minute}
		task := r.task(frontier.Page, "/slow")
		task.Apart = true
		r.Start(r.work, task)
		for range 2 {
			if r.Busy() != 0 || r.Stalled() != 1 {
				t.Errorf("%d busy, %d without progress", r.Busy(), r.Stalled())
			}
			r.run(2 * stuckAfter)
		}
		r.settle()
		if r.page().LocalErr != nil {
			t.Error(r.page().LocalErr)
		}
	})
}

// TestTooManySlow ends an exchange for which there is no slow place.
func TestTooManySlow(t *testing.T) {
	in(t, nil, func(r *rig) {
		r.noSlow = true
		r.replies[host+"/slow"] = reply{header: html, takes: time.Minute}
		r.Start(r.work, r.task(frontier.Page, "/slow"))
		r.run(stuckAfter + 1)
		if l := r.page(); !errors.Is(l.LocalErr, fetchpool.ErrTooManySlow) || !fetchpool.CalledOff(l.LocalErr) || l.Sent.IsZero() {
			t.Errorf("%+v", l)
		}
		r.settle()
	})
}
