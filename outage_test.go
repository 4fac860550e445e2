package headway_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"headway/fetch"
	"headway/fetch/guard"
	"headway/internal/simweb"
	"headway/job"
	"headway/lab"
	"headway/limit"
	"headway/politeness"
	"headway/store"
	"headway/visit"
)

// dead is a host that accepts connections and never responds.
func dead() lab.Temper { return latency(1, time.Hour) }

// lastPage is how long after the first request the last page of the good hosts was
// requested.
func (s *simulated) lastPage() time.Duration {
	s.Helper()
	var first, last time.Time
	for _, r := range s.web.Log() {
		if first.IsZero() || r.Start.Before(first) {
			first = r.Start
		}
		if strings.Contains(r.Host, "good") && r.Start.After(last) {
			last = r.Start
		}
	}
	return last.Sub(first)
}

// among places dead hosts before, after or between good ones.
func among(where string, good, bad, pages int) []lab.HostSpec {
	var specs []lab.HostSpec
	for i := range good {
		specs = append(specs, lab.HostSpec{Name: fmt.Sprintf("good%d.example", i), Temper: small(pages)})
	}
	for i := range bad {
		h := lab.HostSpec{Name: fmt.Sprintf("dead%d.example", i), Temper: dead()}
		switch where {
		case "first":
			specs = slices.Insert(specs, i, h)
		case "last":
			specs = append(specs, h)
		case "mixed":
			specs = slices.Insert(specs, (i*7)%(len(specs)+1), h)
		}
	}
	return specs
}

// TestDeadHostsAreNotAnOutage crawls 5 good hosts and 300 that accept and never respond.
// The dead ones are held by their own backoff, and end by patience.
func TestDeadHostsAreNotAnOutage(t *testing.T) {
	const good, bad, pages = 5, 300, 40
	alone := time.Duration(0)
	for _, where := range []string{"alone", "first", "last", "mixed"} {
		t.Run(where, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := bad
				if where == "alone" {
					n = 0
				}
				s := simulate(t, among(where, good, n, pages))
				s.patience(time.Minute)
				r := s.run()
				took := s.lastPage()
				t.Logf("last good page after %v", took)
				if where == "alone" {
					alone = took
					return
				}
				if most := alone*11/10 + time.Second; took <= 0 || took > most {
					t.Errorf("the good hosts took %v, want at most %v: alone %v", took, most, alone)
				}
				if p := part(r, visit.WaitNetwork); p > 0 {
					t.Errorf("%.0f %% of the time was put down to our own network", 100*p)
				}
				if got := r.Counts.Ended[store.Ending{Outcome: visit.Fetched}]; got != good*pages {
					t.Errorf("%d pages fetched, want %d", got, good*pages)
				}
				if got := r.Counts.Ended[store.Ending{Outcome: visit.Skipped, Reason: visit.RobotsUnreachable}]; got != bad {
					t.Errorf("%d of %d dead hosts ended for their robots.txt: %v", got, bad, r.Counts.Ended)
				}
				if r.State != job.Partial || r.Reason != "patience" || r.Elapsed > 2*time.Minute {
					t.Errorf("ended %s (%s) after %v", r.State, r.Reason, r.Elapsed)
				}
			})
		})
	}
}

// TestPatienceEndsAnOutage takes our own network down for good. No host is charged, and
// patience ends the crawl.
func TestPatienceEndsAnOutage(t *testing.T) {
	for name, network := range map[string]simweb.Network{"no route": simweb.NoRoute, "silence": simweb.Silent, "no resolver": simweb.Up} {
		for _, hosts := range []int{1, 5} {
			if hosts == 1 && network == simweb.Silent {
				continue // a single silent host is not an outage
			}
			t.Run(fmt.Sprint(name, ", ", hosts, " hosts"), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newSimulated(t, hosts, small(200))
					s.patience(2 * time.Minute)
					time.AfterFunc(20*time.Second, func() {
						s.web.SetNetwork(network)
						s.dns.Store(network == simweb.Up)
					})
					r := s.run()
					if r.State != job.Partial || r.Reason != "patience" {
						t.Errorf("ended %s (%s)", r.State, r.Reason)
					}
					if r.Elapsed < 2*time.Minute || r.Elapsed > 4*time.Minute {
						t.Errorf("ended after %v", r.Elapsed)
					}
					if p := part(r, visit.WaitNetwork); p < 0.3 {
						t.Errorf("%.0f %% of the time was put down to our own network", 100*p)
					}
					for e, n := range r.Counts.Ended {
						if e.Outcome == visit.Failed || e.Outcome == visit.ServerError || e.Reason == visit.RobotsUnreachable {
							t.Errorf("%d ended %s %s", n, e.Outcome, e.Reason)
						}
					}
					if r.Counts.Waiting != 0 || r.Counts.Ended[store.Ending{Outcome: visit.Deferred}] == 0 {
						t.Errorf("%d wait still: %v", r.Counts.Waiting, r.Counts.Ended)
					}
				})
			})
		}
	}
}

// patience is how long the crawl waits for hosts.
func (s *simulated) patience(d time.Duration) {
	s.cfg.Limits = limit.Resolve(limit.Layer{Level: limit.Job, Limits: limit.Limits{Patience: d}})
}

// TestRefusedHostIsNotHeld crawls a host that must not be contacted: nothing was sent, so
// no hold is stored that the next crawl would have to wait for.
func TestRefusedHostIsNotHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimulated(t, 1, small(1))
		shut, err := guard.New(guard.Config{
			Lookup: func(context.Context, string) (guard.Answer, error) {
				return guard.Answer{Addrs: []netip.Addr{netip.MustParseAddr("127.0.0.9")}, TTL: time.Second}, nil
			},
			Connect: func(context.Context, netip.AddrPort) (net.Conn, error) { return nil, errors.New("not to be dialled") },
		})
		if err != nil {
			t.Fatal(err)
		}
		client, err := fetch.New(fetch.Config{Dialer: shut, Identity: fetch.Identity{Contact: "mailto:ops@example.com"}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(client.Close)
		s.cfg.Fetcher = client
		r := s.run()
		if r.Counts.Ended[store.Ending{Outcome: visit.Skipped, Reason: visit.PrivateAddress}] != 1 || r.Requests != 0 {
			t.Fatalf("%d requests: %v", r.Requests, r.Counts.Ended)
		}
		h, err := s.st.Host(t.Context(), s.cfg.Seeds[0].Host())
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			t.Fatal(err)
		}
		var state politeness.State
		if len(h.Politeness) > 0 {
			if err := state.UnmarshalBinary(h.Politeness); err != nil {
				t.Fatal(err)
			}
		}
		if !state.LastSent().IsZero() || len(h.Robots) > 0 {
			t.Errorf("a host without requests is stored as contacted at %v, robots.txt %d bytes", state.LastSent(), len(h.Robots))
		}
	})
}
