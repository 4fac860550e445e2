package fleettest

import (
	"fmt"
	"net"
	"strconv"
	"sync/atomic"
	"testing"
	"time"
)

// TestDeadSeeds: one tenant crawls hosts that accept connections and never respond,
// another crawls good ones: the other's rate is the same as alone.
func TestDeadSeeds(t *testing.T) {
	t.Parallel()
	dead, web, share := 100, setup{hosts: 4, pages: 12}, 0.5 // two loaded cores
	if full {
		dead, web, share = 300, setup{hosts: 30, pages: 60}, 0.95
	}
	alone := goodRate(newFleet(t, web), 0)
	with := goodRate(newFleet(t, web), dead)
	t.Logf("%.2f requests a second with %d dead hosts, alone %.2f: %.2f", with, dead, alone, with/alone)
	if with < share*alone {
		t.Errorf("the other tenant has %.2f requests a second, alone %.2f: want at least %.2f of it", with, alone, share)
	}
}

// goodRate is the request rate of a tenant's job, while another's job with a number of
// dead hosts runs.
func goodRate(f *fleet, dead int) float64 {
	f.Helper()
	port, accepted := silentHost(f)
	var args []string
	if dead > 0 {
		args = []string{"--allow-private", fmt.Sprintf("127.0.0.0/8:%d", port)}
	}
	f.start(args...)
	f.start(args...)
	// Before the first request: a slot changes its owner once its requests have ended,
	// and requests to dead hosts take their full timeout, for which the good hosts of
	// that slot would wait.
	f.awaitWorkers(2)
	f.until("each owns half of the slots", func() bool {
		list := f.members()
		return len(list) == 2 && list[0].Slots == list[1].Slots
	})
	for _, name := range []string{"hopeful", "other"} {
		f.run("admin", "tenant", "set", name)
	}
	if dead > 0 {
		seeds := make([]string, dead)
		for i := range seeds {
			seeds[i] = fmt.Sprintf("http://127.77.%d.%d:%d/", i/200, i%200+1, port)
		}
		f.submitFor(seeds, "--tenant", "hopeful")
		for end := time.Now().Add(f.long()); accepted.Load() < int64(dead)/2 && time.Now().Before(end); {
			time.Sleep(100 * time.Millisecond) // dead hosts answer nothing, so their counter is polled
		}
		if accepted.Load() < int64(dead)/2 {
			f.Errorf("%d of %d dead hosts got requests", accepted.Load(), dead)
		}
	}
	id := f.submit("--tenant", "other")
	f.await(id, f.long(), nil)
	if j := f.show(id); j.State != "complete" || j.Outcomes["fetched"] != int64(f.hosts*f.pages) {
		f.Errorf("job %d: %s with %d pages, want %d", id, j.State, j.Outcomes["fetched"], f.hosts*f.pages)
	}
	var first, last time.Time
	n := 0
	for _, list := range f.stamps() {
		for _, s := range list {
			if s.job != id {
				continue
			}
			n++
			if first.IsZero() || s.sent.Before(first) {
				first = s.sent
			}
			if s.sent.After(last) {
				last = s.sent
			}
		}
	}
	return float64(n) / last.Sub(first).Seconds()
}

// silentHost accepts connections and never responds.
func silentHost(f *fleet) (port int, accepted *atomic.Int64) {
	f.Helper()
	var lc net.ListenConfig
	ln, err := lc.Listen(f.Context(), "tcp4", "0.0.0.0:0")
	if err != nil {
		f.Fatal(err)
	}
	accepted = new(atomic.Int64)
	go func() {
		var held []net.Conn
		for {
			c, err := ln.Accept()
			if err != nil {
				for _, c := range held {
					c.Close()
				}
				return
			}
			held = append(held, c)
			accepted.Add(1)
		}
	}()
	f.Cleanup(func() { ln.Close() })
	_, text, err := net.SplitHostPort(ln.Addr().String())
	if err != nil {
		f.Fatal(err)
	}
	if port, err = strconv.Atoi(text); err != nil {
		f.Fatal(err)
	}
	return port, accepted
}
