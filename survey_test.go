package headway_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"headway"
	"headway/lab"
	labtemper "headway/lab/temper"
	"headway/politeness"
	"headway/robots"
	"headway/store"
	"headway/survey"
	"headway/visit"
	"headway/weburl"
)

// sharing is a store whose hosts are shared with other crawls.
type sharing struct {
	store.Store
	granted bool
	unclean bool // the previous owner of the domains crashed
	hosts   []store.Host
	yielded []store.Host
}

func (s *sharing) Claim(_ context.Context, _ time.Time, domains []string) (store.Claim, error) {
	if !s.granted {
		return store.Claim{}, nil
	}
	claim := store.Claim{Granted: domains, Hosts: s.hosts}
	if s.unclean {
		claim.Unclean = domains
	}
	return claim, nil
}

func (s *sharing) Wanted(context.Context, time.Time) ([]string, error) { return nil, nil }

func (s *sharing) Keep(context.Context) ([]string, error) { return nil, nil }

func (s *sharing) Yield(_ context.Context, _ time.Time, _ []string, hosts []store.Host) error {
	s.yielded = append(s.yielded, hosts...)
	return nil
}

// survey takes a survey and compares it with what the servers saw.
func (s *simulated) survey() []*survey.Host {
	s.Helper()
	cfg, err := headway.Survey(s.cfg.Worker, s.cfg.Job)
	if err != nil {
		s.Fatal(err)
	}
	list, err := survey.Take(s.Context(), cfg, nil)
	if err != nil {
		s.Fatal(err)
	}
	total := s.web.Stats().Total
	if total.RobotsViolations+total.BeforeRobots+total.InsideRetryAfter > 0 || total.MaxConcurrent > 1 {
		s.Errorf("robots violations %d, before robots.txt %d, inside Retry-After %d, at once %d", total.RobotsViolations, total.BeforeRobots, total.InsideRetryAfter, total.MaxConcurrent)
	}
	var sent int64
	for _, l := range list {
		sent += int64(l.Requests)
	}
	if sent != total.Requests {
		s.Errorf("%d requests by the servers' count, %d by ours", total.Requests, sent)
	}
	return list
}

// gap checks the minimum interval between requests to a host.
func (s *simulated) gap(want time.Duration) {
	s.Helper()
	last := map[string]time.Time{}
	for _, r := range s.web.Log() {
		if gap := r.Start.Sub(last[r.Host]); gap < want {
			s.Errorf("%s%s comes %v after the request before, want %v", r.Host, r.Target, gap, want)
		}
		last[r.Host] = r.Start
	}
	if len(last) == 0 {
		s.Error("no request")
	}
}

// listing is a host with a sitemap.
func listing(pages int) lab.Temper {
	t := small(pages)
	t.Site.Sitemap = "parts"
	return t
}

// TestSurvey surveys hosts at their pace and counts what they list.
func TestSurvey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimulated(t, 3, listing(1500))
		s.cfg.Sitemaps = headway.SitemapsAuto
		list := s.survey()
		s.gap(time.Second)
		if len(list) != 3 {
			t.Fatalf("%d hosts", len(list))
		}
		for _, l := range list {
			// The index, a plain part and a gzipped one, three pages and robots.txt.
			if l.Listed != 1500 || l.Pages[l.Host] != 1500 || len(l.Sitemaps) != 3 || l.Requests != 7 || len(l.Looks) != 3 {
				t.Errorf("%s: %d listed, %v pages, %d sitemaps, %d requests, %d pages fetched", l.Host, l.Listed, l.Pages, len(l.Sitemaps), l.Requests, len(l.Looks))
			}
			if l.Links == 0 || l.Unlisted != 0 || !l.Robots.Decision.Allowed || len(l.Names) != 1 {
				t.Errorf("%s: %d links, %d of them unlisted, robots.txt %+v names %v", l.Host, l.Links, l.Unlisted, l.Robots.Decision, l.Names)
			}
		}
	})
}

// TestSurveyOfADomain keeps the interval that hosts of a domain share.
func TestSurveyOfADomain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		specs := make([]lab.HostSpec, 4)
		for i := range specs {
			specs[i] = lab.HostSpec{Name: fmt.Sprintf("h%d.one.example", i), Temper: small(5)}
		}
		s := simulate(t, specs)
		s.survey()
		s.gap(time.Second)
		var last time.Time
		for _, r := range s.web.Log() {
			if gap := r.Start.Sub(last); gap < 500*time.Millisecond {
				t.Errorf("%s%s comes %v after another host of the domain", r.Host, r.Target, gap)
			}
			last = r.Start
		}
	})
}

// TestSurveyRemembers uses what other crawls have learned, and shares what it learns.
func TestSurveyRemembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimulated(t, 1, small(5))
		host := s.cfg.Seeds[0].Host()
		state := politeness.New(host).WithLearned(7 * time.Second)
		state = s.cfg.Policy.Sent(state, time.Now())
		state, _ = s.cfg.Policy.Observe(state, time.Now(), politeness.Answer{SentAt: time.Now(), Status: 200})
		b, err := state.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		st := &sharing{Store: s.st, granted: true, hosts: []store.Host{{Host: host, Politeness: b, Pace: 7 * time.Second}}}
		s.cfg.Store = st
		began := time.Now()
		list := s.survey()
		s.gap(7 * time.Second)
		if first := s.web.Log()[0].Start.Sub(began); first < 7*time.Second {
			t.Errorf("request %v after that of another crawl", first)
		}
		if !list[0].Known || len(st.yielded) != 1 || !st.yielded[0].LastSent.After(began) {
			t.Errorf("known %v, handed over %+v", list[0].Known, st.yielded)
		}
	})
}

// TestSurveyAfterACrash surveys a domain whose owner crashed. Requests to the hosts that
// were not surveyed remain unknown: they wait their pace.
func TestSurveyAfterACrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimulated(t, 1, small(10))
		host := s.cfg.Seeds[0].Host()
		other := strings.Replace(host, "h0.", "other.", 1)
		state := s.cfg.Policy.Sent(politeness.New(other), time.Now().Add(-time.Hour))
		b, err := state.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		shared := &sharing{Store: s.st, granted: true, unclean: true, hosts: []store.Host{{Host: other, Politeness: b, LastSent: state.LastSent()}}}
		s.cfg.Store = shared
		began := time.Now()
		s.survey()
		at := slices.IndexFunc(shared.yielded, func(h store.Host) bool { return h.Host == other })
		if at < 0 {
			t.Fatalf("%s is handed over as if it had got no request: %+v", other, shared.yielded)
		}
		var got politeness.State
		if err := got.UnmarshalBinary(shared.yielded[at].Politeness); err != nil {
			t.Fatal(err)
		}
		if w := s.cfg.Policy.Admit(got, began.Add(500*time.Millisecond)); w.Go() {
			t.Errorf("%s may be contacted half a second after a crash", other)
		}
	})
}

// TestSurveySkipsHeldHosts sends no requests to hosts of other crawls or on hold, and stops
// at the first refusal.
func TestSurveySkipsHeldHosts(t *testing.T) {
	for name, tc := range map[string]struct {
		temper func(*lab.Temper)
		change func(s *simulated)
		most   int64 // requests
		right  func(l *survey.Host) bool
	}{
		"another's": {
			change: func(s *simulated) { s.cfg.Store = &sharing{Store: s.st} },
			right:  func(l *survey.Host) bool { return l.Taken },
		},
		"opted out": {
			change: func(s *simulated) { s.cfg.OptedOut = func(weburl.URL) bool { return true } },
			right:  func(l *survey.Host) bool { return l.Requests == 0 },
		},
		"held": {
			change: func(s *simulated) {
				host := s.cfg.Seeds[0].Host()
				b, _ := politeness.New(host).WithHold(time.Now(), time.Now().Add(time.Hour)).MarshalBinary()
				s.cfg.Store = &sharing{Store: s.st, granted: true, hosts: []store.Host{{Host: host, Politeness: b}}}
			},
			right: func(l *survey.Host) bool { return !l.Held.IsZero() },
		},
		"forbidden": {
			temper: func(t *lab.Temper) { t.Site.Robots = "deny" }, most: 1,
			right: func(l *survey.Host) bool { return !l.Robots.Decision.Allowed && l.Robots.Decision.Line > 0 },
		},
		"unreadable robots.txt": {
			temper: func(t *lab.Temper) { t.Site.Robots = "500" }, most: 1,
			right: func(l *survey.Host) bool { return l.Robots.Access == robots.AccessNone },
		},
		"refusing": {
			temper: func(t *lab.Temper) {
				t.Rules.Outages = []labtemper.Outage{{AfterRequests: 1, Status: 429, Form: labtemper.Seconds}}
			}, most: 2,
			right: func(l *survey.Host) bool { return l.State.Refusing() && l.Looks[0].Outcome == visit.Throttled },
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				temper := small(10)
				if tc.temper != nil {
					tc.temper(&temper)
				}
				s := newSimulated(t, 1, temper)
				if tc.change != nil {
					tc.change(s)
				}
				list := s.survey()
				if len(list) != 1 || !tc.right(list[0]) {
					t.Errorf("%+v", list[0])
				}
				if got := s.web.Stats().Total.Requests; got > tc.most {
					t.Errorf("%d requests, want at most %d", got, tc.most)
				}
			})
		})
	}
}
