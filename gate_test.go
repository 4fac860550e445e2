package headway

import (
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"headway/fetch"
	"headway/store"
	"headway/weburl"
)

// TestGate stops what was handed out before a host refused, for as long as the
// schedule may take to learn of that.
func TestGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := false
		c := &crawler{cfg: Config{OptedOut: func(weburl.URL) bool { return out }}}
		tenure := store.NewTenure(store.Terms{}.WithDefaults(), time.Now().Add(time.Hour))
		c.tenure.Store(&tenure)
		time.Sleep(time.Millisecond / 2) // the clock seldom stands at a whole millisecond
		for _, tt := range []struct {
			status int
			after  string
			held   time.Duration
		}{
			{200, "60", 0},
			{429, "", 0},
			{429, "0", 0},
			{429, "3", 3 * time.Second},
			{503, "3600", maxGate},
		} {
			var g gate
			res := &fetch.Result{Status: tt.status, Header: http.Header{}}
			if tt.after != "" {
				res.Header.Set("Retry-After", tt.after)
			}
			g.heed(res)
			if tt.held > 0 {
				if err := c.mayStart(&task{gate: &g}, weburl.URL{})(); !errors.Is(err, errHeld) {
					t.Errorf("%d, Retry-After %q: %v", tt.status, tt.after, err)
				}
				time.Sleep(tt.held - time.Nanosecond)
				if err := c.mayStart(&task{gate: &g}, weburl.URL{})(); !errors.Is(err, errHeld) {
					t.Errorf("%d, Retry-After %q, a moment before its end: %v", tt.status, tt.after, err)
				}
				time.Sleep(time.Nanosecond)
			}
			if err := c.mayStart(&task{gate: &g}, weburl.URL{})(); err != nil {
				t.Errorf("%d, Retry-After %q, after %v: %v", tt.status, tt.after, tt.held, err)
			}
		}
		out = true
		if err := c.mayStart(&task{gate: new(gate)}, weburl.URL{})(); !errors.Is(err, errOptedOut) {
			t.Errorf("a host that opted out: %v", err)
		}
	})
}
