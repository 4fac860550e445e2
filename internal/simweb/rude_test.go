package simweb_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"headway/frontier"
	"headway/visit"
)

// TestJudgeSeesRudeness checks polite crawls against stricter promises than were made: the
// judge must find each violation.
func TestJudgeSeesRudeness(t *testing.T) {
	const shop = "host shop.example pages=30 latency=const:3s\n  limit 1/2s burst=2\n"
	const closed = "host shop.example pages=30\n  outage status=429 retry-after=none\n"
	const domain = "host a.alder.example pages=5\nhost b.alder.example pages=5\n"
	const address = "host shop.example copies=9 pages=5 address=192.0.2.7\n"
	for _, tt := range []struct {
		name, web string
		promise   func(p *sent)
		want      string
	}{
		{"nothing", shop, func(*sent) {}, ""},
		{"pace", shop, func(p *sent) { p.Pace += 10 * time.Second }, "inside the pace"},
		{"base", shop, func(p *sent) { p.Base += 10 * time.Second }, "inside the pace"},
		{"hold", shop, func(p *sent) { p.HeldUntil = p.at.Add(1) }, "inside a hold"},
		{"in flight", shop, func(p *sent) { p.Cap = 0 }, "at once, the cap is"},
		{"ever in flight", shop, func(p *sent) { p.Cap = 0 }, "the cap was never above"},
		{"domain", domain, func(p *sent) { p.Domain += time.Second }, "the last request to its domain"},
		{"address", address, func(p *sent) { p.Address = time.Second }, "the last request to its address"},
		{"another moment", shop, func(p *sent) { p.at = p.at.Add(1) }, "no decision to send it"},
		{"another page", shop, func(p *sent) { p.path += "?" }, "no decision to send it"},
		{"backoff", closed, func(p *sent) { p.host.silent = true; p.host.targets[0].job.policy.Refusing.Start = time.Hour }, "inside the backoff"},
		{"no outcome", shop, func(p *sent) { p.host.targets[0].outcome = "" }, "outcome"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var problems []string
			play(t, tt.web+"crawl all preset=polite\nrun for=40s\n", func(w *world) {
				for i := range w.trace.sends {
					tt.promise(&w.trace.sends[i])
				}
				problems = judge(w)
			})
			if tt.want == "" && len(problems) > 0 {
				t.Errorf("a polite crawl has problems: %q", problems)
			}
			if !slices.ContainsFunc(problems, func(p string) bool { return strings.Contains(p, tt.want) }) && tt.want != "" {
				t.Errorf("no problem says %q: %q", tt.want, problems)
			}
		})
	}
}

// TestJudgeSeesARudeClient sends requests alongside a polite crawl, ignoring robots.txt and
// responses.
func TestJudgeSeesARudeClient(t *testing.T) {
	var problems []string
	play(t, "host shop.example pages=30\n  limit 1/2s burst=2\nhost rude.example pages=3\n  limit 1/9s burst=1\ncrawl shop.example preset=polite\nrun for=40s\n", func(w *world) {
		c := newClient(w.web)
		for range 3 {
			if _, _, err := get(context.Background(), c, "http://rude.example/"); err != nil {
				t.Error(err)
			}
		}
		problems = judge(w)
	})
	for _, want := range []string{"no decision to send it", "inside an announced Retry-After", "before robots.txt was requested", "the cap was never above 0"} {
		if !slices.ContainsFunc(problems, func(p string) bool { return strings.Contains(p, want) }) {
			t.Errorf("no problem says %q: %q", want, problems)
		}
	}
}

// play runs a script in a bubble and passes on the resulting world.
func play(t *testing.T, text string, look func(*world)) {
	t.Helper()
	s, err := parseScript(text, "")
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		if err := s.inWorld(func(w *world) {
			for _, p := range w.problems {
				t.Error(p)
			}
			look(w)
		}); err != nil {
			t.Fatal(err)
		}
	})
}

// TestCheckSeesWrongAccounts books a host in the wrong state, in two and in none, for too
// long and too short.
func TestCheckSeesWrongAccounts(t *testing.T) {
	const none, fetching = frontier.NoWork, frontier.Fetching
	pace, hold := frontier.Waiting(visit.WaitPace), frontier.Waiting(visit.WaitHold)
	h := &host{name: "a.example"}
	begin := time.Unix(0, 0)
	at := func(s int) time.Time { return begin.Add(time.Duration(s) * time.Second) }
	right := func() *life {
		return &life{
			end:    at(9),
			moves:  []move{{h, at(0), none, fetching}, {h, at(2), fetching, pace}, {h, at(5), pace, fetching}, {h, at(6), fetching, none}},
			worked: map[*host]time.Duration{h: 6 * time.Second},
			shares: []frontier.Share{{State: fetching, Spent: 3 * time.Second, Part: 0.5}, {State: pace, Spent: 3 * time.Second, Part: 0.5}},
		}
	}
	if _, problems := right().spent(); len(problems) > 0 {
		t.Fatalf("a right account has problems: %q", problems)
	}
	for name, spoil := range map[string]func(l *life){
		"left another state":   func(l *life) { l.moves[1].from = hold },
		"came twice":           func(l *life) { l.moves = slices.Insert(l.moves, 1, l.moves[0]) },
		"backwards":            func(l *life) { l.moves[2].at = at(1) },
		"never left":           func(l *life) { l.moves = l.moves[:3] },
		"left too soon":        func(l *life) { l.moves[3].at = at(5) },
		"never came":           func(l *life) { l.moves = nil },
		"another share":        func(l *life) { l.shares[0].Spent += time.Second },
		"a state is not in it": func(l *life) { l.shares = l.shares[:1] },
		"unknown hosts":        func(l *life) { l.shares[1].Hosts++ },
		"wrong sum of shares":  func(l *life) { l.shares[1].Part = 0.4 },
		"unbooked work":        func(l *life) { l.worked[&host{name: "b.example"}] = time.Second },
	} {
		t.Run(name, func(t *testing.T) {
			l := right()
			spoil(l)
			if _, problems := l.spent(); len(problems) == 0 {
				t.Error("not noticed")
			}
		})
	}
}
