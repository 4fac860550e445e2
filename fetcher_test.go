package headway

import (
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"headway/fetch"
	"headway/internal/exchange"
	"headway/internal/ownership"
	"headway/store"
	"headway/weburl"
)

// TestMayStart stops requests that were handed out before the host refused, or asked
// not to be crawled.
func TestMayStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := false
		c := &crawler{base: &base{}, cfg: Worker{OptedOut: func(weburl.URL) bool { return out }}}
		c.lease = ownership.NewLease(ownership.LeaseConfig{Terms: store.Terms{}.WithDefaults()}, time.Now().Add(time.Hour))
		g := new(exchange.Gate)
		start := func() error { return c.mayStart(&task{gate: g}, weburl.URL{})() }
		if err := start(); err != nil {
			t.Errorf("before anything was heard: %v", err)
		}
		g.Heed(&fetch.Result{Status: 429, Header: http.Header{"Retry-After": {"3"}}})
		if err := start(); !errors.Is(err, errHeld) {
			t.Errorf("after a refusal: %v", err)
		}
		time.Sleep(3 * time.Second)
		if err := start(); err != nil {
			t.Errorf("after what the refusal asked for: %v", err)
		}
		if out = true; !errors.Is(start(), errOptedOut) {
			t.Errorf("a host that opted out: %v", start())
		}
	})
}
