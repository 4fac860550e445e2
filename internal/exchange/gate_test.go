package exchange

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"headway/fetch"
)

// TestGate stops requests handed out before a host refused, for as long as the schedule may
// take to learn of it.
func TestGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Millisecond / 2) // the clock is rarely at a whole millisecond
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
			var g Gate
			res := &fetch.Result{Status: tt.status, Header: http.Header{}}
			if tt.after != "" {
				res.Header.Set("Retry-After", tt.after)
			}
			g.CloseOnRefusal(res)
			if tt.held > 0 {
				if !g.Closed(time.Now()) {
					t.Errorf("%d, Retry-After %q: open", tt.status, tt.after)
				}
				time.Sleep(tt.held - time.Nanosecond)
				if !g.Closed(time.Now()) {
					t.Errorf("%d, Retry-After %q, a moment before its end: open", tt.status, tt.after)
				}
				time.Sleep(time.Nanosecond)
			}
			if g.Closed(time.Now()) {
				t.Errorf("%d, Retry-After %q, after %v: closed", tt.status, tt.after, tt.held)
			}
		}
	})
}
