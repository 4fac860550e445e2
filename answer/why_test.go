package answer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"headway/ask"
	"headway/job"
	"headway/limit"
	"headway/politeness"
	"headway/robots"
	"headway/scope"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

var whyNow = time.Date(2026, 11, 15, 10, 0, 0, 0, time.UTC)

// memStore is an in-memory store.
type memStore struct {
	store.Reader // panics for methods that are not implemented
	entries      map[string]store.Entry
	order        []string
	aside        map[string]bool
	hosts        map[string]store.Host
	robots       map[[32]byte][]byte
	points       []store.Point
}

func newShelf() *memStore {
	return &memStore{entries: map[string]store.Entry{}, aside: map[string]bool{}, hosts: map[string]store.Host{}, robots: map[[32]byte][]byte{}}
}

func (s *memStore) put(e store.Entry) {
	if e.Visit != nil {
		e.Visit.Item = e.Item
		e.Outcome, e.Reason = e.Visit.Outcome, e.Visit.Reason
	}
	if e.SeenAt.IsZero() {
		e.SeenAt = whyNow.Add(-time.Hour)
	}
	s.order = append(s.order, e.Item.URL.String())
	s.entries[e.Item.URL.String()] = e
}

func (s *memStore) Lookup(_ context.Context, _ job.ID, u weburl.URL) (store.Entry, error) {
	e, ok := s.entries[u.String()]
	if !ok {
		return e, store.ErrNotFound
	}
	return e, nil
}

func (s *memStore) List(_ context.Context, q store.Query) (store.Page, error) {
	var p store.Page
	for _, u := range s.order {
		e := s.entries[u]
		if (q.Host == "" || e.Item.URL.Host() == q.Host) && (q.Outcome == "" || e.Outcome == q.Outcome) {
			p.Entries = append(p.Entries, e)
		}
	}
	return p, nil
}

func (s *memStore) Aside(_ context.Context, _ job.ID, u weburl.URL) (bool, error) {
	return s.aside[u.String()], nil
}

func (s *memStore) Host(_ context.Context, host string) (store.Host, error) {
	h, ok := s.hosts[host]
	if !ok {
		return h, store.ErrNotFound
	}
	return h, nil
}

func (s *memStore) Robots(_ context.Context, sum [32]byte) (store.RobotsVersion, error) {
	b, ok := s.robots[sum]
	if !ok {
		return store.RobotsVersion{}, store.ErrNotFound
	}
	return store.RobotsVersion{Sum: sum, Body: b}, nil
}

func (s *memStore) Counts(context.Context, job.ID) (store.Counts, error) {
	c := store.Counts{Ended: map[store.Ending]int64{}}
	for _, e := range s.entries {
		c.Ended[store.Ending{Outcome: e.Outcome, Reason: e.Reason}]++
	}
	return c, nil
}

func (s *memStore) Points(context.Context, job.ID) ([]store.Point, error) { return s.points, nil }

// learn stores a host's robots.txt and politeness state.
func (s *memStore) learn(t *testing.T, host, body string, polite politeness.State) {
	t.Helper()
	file := robots.Parse([]byte(body))
	state := robots.Policy{}.Observe(robots.State{}, whyNow.Add(-time.Hour), robots.Answer{Status: 200, File: file})
	r, err := state.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	p, err := polite.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	s.robots[file.Sum()] = []byte(body)
	s.hosts[host] = store.Host{Host: host, Robots: r, Politeness: p, HoldUntil: polite.HeldUntil()}
}

func link(t *testing.T, u, via string, depth int) visit.Item {
	t.Helper()
	it := visit.Item{URL: parseURL(t, u), Found: visit.FoundSeed, Depth: depth}
	if via != "" {
		it.Via, it.Found = parseURL(t, via), visit.FoundLink
	}
	return it
}

func parseURL(t *testing.T, raw string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

const robotsText = "# ours\nUser-agent: *\nDisallow: /private/\n\nUser-agent: other\nDisallow: /\nAllow: /x\n"

// whyStore is a small crawl of a.example.
func whyStore(t *testing.T) *memStore {
	s := newShelf()
	s.put(store.Entry{Item: link(t, "http://a.example/", "", 0), Visit: &visit.Visit{Outcome: visit.Fetched, Answer: visit.Answer{Status: 200}}})
	s.put(store.Entry{Item: link(t, "http://a.example/list", "http://a.example/", 1), Visit: &visit.Visit{
		Outcome: visit.Fetched, Answer: visit.Answer{Status: 200}, Page: visit.Page{Robots: []string{"noindex, nofollow"}},
	}})
	s.put(store.Entry{Item: link(t, "http://a.example/list/item", "http://a.example/list", 2), Visit: &visit.Visit{
		Outcome: visit.Dead, Answer: visit.Answer{Status: 404}, Timing: visit.Timing{Sent: whyNow.Add(-time.Minute), FirstByte: 30 * time.Millisecond, Total: 40 * time.Millisecond},
	}})
	s.learn(t, "http://a.example", robotsText, politeness.New("http://a.example"))
	return s
}

func whySpec(limits limit.Limits) CrawlSpec {
	a := CrawlSpec{Seeds: []string{"http://a.example/"}, SeedCount: 1, Scope: "host", Exclude: []string{"/cart/**"}, Token: "headway"}
	a.SetLimits(limit.Resolve(limit.Layer{Level: limit.Job, Limits: limits}))
	return a
}

func explain(t *testing.T, s *memStore, text string, change ...func(*WhyQuestion)) *Why {
	t.Helper()
	u, steps, err := weburl.Explain(text, weburl.URL{})
	if err != nil {
		t.Fatal(err)
	}
	q := WhyQuestion{
		Text: text, URL: u, Steps: steps, Store: s, Job: store.Job{ID: 1, State: job.Complete}, Spec: whySpec(limit.Limits{}), Now: whyNow,
		OptedOut: func(weburl.URL) string { return "" },
	}
	for _, c := range change {
		c(&q)
	}
	w, err := ExplainWhy(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := json.Marshal(w); err != nil {
		t.Fatal(err)
	}
	return w
}

func TestWhyShowsDiscoveryAndResponse(t *testing.T) {
	w := explain(t, whyStore(t), "HTTP://A.example:80/list/./item#top")
	if w.Outcome != visit.Dead || w.Rule != "status 404" || w.URL != "http://a.example/list/item" || len(w.Steps) < 3 || w.Typed == "" {
		t.Errorf("%+v", w)
	}
	want := []ChainLink{{"http://a.example/list", visit.FoundLink, 1}, {"http://a.example/", visit.FoundSeed, 0}}
	if diff := cmp.Diff(want, w.Found.Chain); diff != "" {
		t.Error(diff)
	}
	if len(w.Attempts) != 1 || w.Attempts[0].Status != 404 || w.Attempts[0].Total != ask.Seconds(40*time.Millisecond) {
		t.Errorf("attempts %+v", w.Attempts)
	}
	if w.Now.Pass != Passes || w.Scope == nil || !w.Scope.In {
		t.Errorf("now %+v, scope %+v", w.Now, w.Scope)
	}
	story := strings.Join(w.Story, "\n")
	for _, want := range []string{
		"Normalised to http://a.example/list/item", "Found on http://a.example/list, 2 links from a seed",
		"http://a.example/ → http://a.example/list.", "status 404 (first byte 30ms, total 40ms)", "Nothing would block it now",
	} {
		if !strings.Contains(story, want) {
			t.Errorf("the story lacks %q:\n%s", want, story)
		}
	}
}

// TestWhyMentionsNoise checks that a URL that was refused or waits is explained with the
// finding that refusals do not depend on the pace, and no other URL.
func TestWhyMentionsNoise(t *testing.T) {
	s := whyStore(t)
	s.learn(t, "http://a.example", robotsText, noisy(politeness.New("http://a.example")))
	s.put(store.Entry{Item: link(t, "http://a.example/refused", "http://a.example/", 1), Visit: &visit.Visit{Outcome: visit.Throttled, Answer: visit.Answer{Status: 503}}})
	for url, want := range map[string]bool{"http://a.example/refused": true, "http://a.example/list/item": false} {
		if got := strings.Contains(strings.Join(explain(t, s, url).Story, "\n"), "About its host: "+noise); got != want {
			t.Errorf("%s: said %v, want %v", url, got, want)
		}
	}
}

// TestWhyEndings tests endings that a web server cannot easily produce.
func TestWhyEndings(t *testing.T) {
	sum := sha256.Sum256([]byte(robotsText))
	for name, tc := range map[string]struct {
		entry  store.Entry
		change func(*WhyQuestion)
		rule   string
		by     string
		pass   Pass
		stop   visit.Reason
	}{
		"not modified": {
			entry: store.Entry{Visit: &visit.Visit{Outcome: visit.NotModified, Answer: visit.Answer{Status: 304}}},
			rule:  "status 304", by: byServer, pass: Passes,
		},
		"a page the parser fails at": {
			entry: store.Entry{Visit: &visit.Visit{Outcome: visit.Failed, Reason: visit.Parse, Detail: "parse http://a.example/p: index out of range", Answer: visit.Answer{Status: 200}}},
			rule:  "parse http://a.example/p: index out of range", by: byHost, pass: Passes,
		},
		"more bytes than were left": {
			entry:  store.Entry{Outcome: visit.Skipped, Reason: visit.BudgetBytes},
			change: func(q *WhyQuestion) { q.Spec = whySpec(limit.Limits{Bytes: 1000}) },
			rule:   "max_bytes 1000 (job)", by: byLimit, pass: Stopped, stop: visit.BudgetBytes,
		},
		"nofollow of the whole page": {
			entry: store.Entry{Item: visit.Item{Via: parseURL(t, "http://a.example/list")}, Outcome: visit.Skipped, Reason: visit.Nofollow},
			rule:  `the page that links to it has "noindex, nofollow" for all its links`, by: byLink, pass: Unknown,
		},
		"forbidden, with its line": {
			entry: store.Entry{Item: visit.Item{URL: parseURL(t, "http://a.example/private/x")}, Visit: &visit.Visit{Outcome: visit.Skipped, Reason: visit.RobotsDisallow, Evidence: []visit.Evidence{{
				Kind: visit.BlockedByRobots, At: whyNow, Rule: "Disallow: /private/", Line: 3, Group: "*", Source: hex.EncodeToString(sum[:]), SourceAt: whyNow, Note: "robots_disallow",
			}}}},
			rule: "Disallow: /private/ (line 3, group *)", by: byRobots, pass: Stopped, stop: visit.RobotsDisallow,
		},
		"excluded": {
			entry: store.Entry{Item: visit.Item{URL: parseURL(t, "http://a.example/cart/1")}, Outcome: visit.Skipped, Reason: visit.Excluded},
			rule:  "exclude /cart/**", by: byScope, pass: Stopped, stop: visit.Excluded,
		},
		"excluded by a scope that has changed": {
			entry: store.Entry{Outcome: visit.Skipped, Reason: visit.Excluded},
			rule:  "out of scope when it was found; the scope has changed since", by: byScope, pass: Passes,
		},
		"opted out since": {
			entry:  store.Entry{Visit: &visit.Visit{Outcome: visit.Fetched, Answer: visit.Answer{Status: 200}}},
			change: func(q *WhyQuestion) { q.OptedOut = func(weburl.URL) string { return "a.example" } },
			rule:   "status 200", by: byServer, pass: Stopped, stop: visit.OptedOut,
		},
		"opted out then, and no longer": {
			entry: store.Entry{Outcome: visit.Skipped, Reason: visit.OptedOut},
			rule:  "on the opt-out list then, but not now", by: byOptOut, pass: Passes,
		},
		"the page limit is used up": {
			entry:  store.Entry{Outcome: visit.Pending},
			change: func(q *WhyQuestion) { q.Spec, q.Job.State = whySpec(limit.Limits{Pages: 3}), job.Partial },
			rule:   "waiting for a higher limit", by: byCrawl, pass: Stopped,
		},
		"no crawl is running": {
			entry:  store.Entry{Outcome: visit.Pending},
			change: func(q *WhyQuestion) { q.Job.State = job.Running },
			rule:   "waiting for its turn", by: byCrawl, pass: Passes,
		},
		"the rate of its tenant": {
			entry: store.Entry{Outcome: visit.Pending},
			change: func(q *WhyQuestion) {
				q.Spec, q.Job.State = whySpec(limit.Limits{RequestsPerSecond: 5}), job.Running
				q.Running = func(context.Context, weburl.URL) (*ask.URL, error) {
					return &ask.URL{Where: ask.PlaceQueued, Wait: visit.WaitBudget}, nil
				}
			},
			rule: "waiting for its tenant's rate limit: max_requests_per_second 5 (job)", by: byCrawl, pass: Passes,
		},
		"paused by an operator": {
			entry: store.Entry{Outcome: visit.Pending},
			change: func(q *WhyQuestion) {
				q.Job.State = job.Running
				q.Running = func(context.Context, weburl.URL) (*ask.URL, error) {
					return &ask.URL{Where: ask.PlaceQueued, Wait: visit.WaitHold, Host: &ask.Host{Paused: true}}, nil
				}
			},
			rule: "its host is paused by an operator", by: byCrawl, pass: Passes,
		},
		"a crawl that runs says where it is": {
			entry: store.Entry{Outcome: visit.Pending},
			change: func(q *WhyQuestion) {
				q.Job.State = job.Running
				q.Running = func(context.Context, weburl.URL) (*ask.URL, error) {
					return &ask.URL{Where: ask.PlaceQueued, Wait: visit.WaitCrawlDelay, Until: whyNow.Add(time.Second)}, nil
				}
			},
			rule: "waiting for the Crawl-delay in robots.txt", by: byCrawl, pass: Passes,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := whyStore(t)
			e := tc.entry
			if e.Item.URL.IsZero() {
				e.Item.URL = parseURL(t, "http://a.example/p")
			}
			if e.Item.Via.IsZero() {
				e.Item.Via = parseURL(t, "http://a.example/")
			}
			e.Item.Found, e.Item.Depth = visit.FoundLink, 1
			s.put(e)
			if tc.change == nil {
				tc.change = func(*WhyQuestion) {}
			}
			w := explain(t, s, e.Item.URL.String(), tc.change)
			if w.Rule != tc.rule || w.By != tc.by {
				t.Errorf("rule %q by %s, want %q by %s", w.Rule, w.By, tc.rule, tc.by)
			}
			if w.Now.Pass != tc.pass || w.Now.Reason != tc.stop {
				t.Errorf("would pass now: %s %s, want %s %s\n%+v", w.Now.Pass, w.Now.Reason, tc.pass, tc.stop, w.Now.Checks)
			}
			if tc.entry.Outcome == visit.Pending && (w.Wait == nil || w.Wait.Reason == "") {
				t.Errorf("wait %+v", w.Wait)
			}
		})
	}
}

func TestWhyQuotesRobots(t *testing.T) {
	got := excerptLines([]byte(robotsText), 3)
	want := []ExcerptLine{
		{N: 1, Text: "# ours"},
		{N: 2, Text: "User-agent: *"},
		{N: 3, Text: "Disallow: /private/", Mark: true},
		{N: 4, Text: ""},
		{N: 5, Text: "User-agent: other"},
		{N: 6, Text: "Disallow: /"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	long := "User-agent: a\nUser-agent: b\n" + strings.Repeat("Disallow: /x\n", 20) + "Disallow: /y\n" + strings.Repeat("Disallow: /z\r\n", 20)
	got = excerptLines([]byte(long), 23)
	if len(got) != 2+1+2*contextLines || got[0].N != 1 || got[1].N != 2 || got[2].N != 20 || !got[5].Mark || got[5].Text != "Disallow: /y" {
		t.Errorf("%+v", got)
	}
	if got := excerptLines([]byte(robotsText), 99); got != nil {
		t.Errorf("%+v", got)
	}
	if line, text := delayLine([]byte("User-agent: x\nCrawl-delay: 1\nUser-agent: *\nCrawl-delay: 600\n"), "headway"); line != 4 || text != "Crawl-delay: 600" {
		t.Errorf("%d %q", line, text)
	}
}

func TestWhyUnseen(t *testing.T) {
	s := whyStore(t)
	s.aside["http://b.example/x"] = true
	for name, tc := range map[string]struct {
		url, story string
		seen       bool
		outcome    visit.Outcome
		near       string
		pass       Pass
	}{
		"another spelling":       {"http://a.example/list/", "links to exactly this URL", false, "", "http://a.example/list", Passes},
		"https":                  {"https://a.example/list", "links to exactly this URL", false, "", "http://a.example/list", Unknown},
		"a slip of the pen":      {"http://a.example/list/itm", "which is similar", false, "", "http://a.example/list/item", Passes},
		"not in scope":           {"http://c.example/", "A link to it would not be followed: host is not a seed host (out_of_scope)", false, "", "", Stopped},
		"forbidden by robots":    {"http://a.example/private/y", "has not seen it", false, "", "", Stopped},
		"out of scope, counted":  {"http://b.example/x", "is not stored", true, visit.Skipped, "", Stopped},
		"an endless path":        {"http://a.example/a/a/a/a/a", "It would be blocked now: repeats /a", false, "", "", Stopped},
		"excluded by a pattern":  {"http://a.example/cart/7", "exclude /cart/**", false, "", "", Stopped},
		"a picture":              {"http://a.example/logo.png", ".png is an image; use --files to include it", false, "", "", Stopped},
		"of a host without rule": {"http://www.a.example/list", "links to exactly this URL", false, "", "http://a.example/list", Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			w := explain(t, s, tc.url)
			if w.Seen != tc.seen || w.Outcome != tc.outcome || w.Now.Pass != tc.pass {
				t.Errorf("seen %t, %s, passes %s\n%+v", w.Seen, w.Outcome, w.Now.Pass, w.Now.Checks)
			}
			if tc.near != "" && (len(w.Near) == 0 || w.Near[0].URL != tc.near) {
				t.Errorf("near %+v, want %s", w.Near, tc.near)
			}
			if story := strings.Join(w.Story, "\n"); !strings.Contains(story, tc.story) {
				t.Errorf("the story lacks %q:\n%s", tc.story, story)
			}
		})
	}
}

// TestWhyReplaysTraps finds the reason of a trap rule that depends on counts, by
// replaying the URLs of the host.
func TestWhyReplaysTraps(t *testing.T) {
	s := whyStore(t)
	traps := scope.NewTraps(scope.TrapConfig{})
	var refused, rule string
	for i := range 40 {
		u := parseURL(t, "http://a.example/goods?order="+string(rune('a'+i%26))+strings.Repeat("x", i/26)+"&colour=red")
		e := store.Entry{Item: visit.Item{URL: u, Via: parseURL(t, "http://a.example/"), Found: visit.FoundLink, Depth: 1}, Outcome: visit.Pending}
		if d := traps.Look(u, whyNow); !d.In {
			e.Outcome, e.Reason = visit.Skipped, visit.Reason(d.Reason)
			refused, rule = u.String(), d.Rule
		}
		s.put(e)
	}
	if refused == "" {
		t.Fatal("no URL was refused")
	}
	w := explain(t, s, refused)
	if w.Reason != visit.TrapQuery || !strings.HasPrefix(w.Rule, "more than ") || w.By != byTraps || w.Now.Pass != Unknown {
		t.Errorf("%s: %q by %s, passes %s; the crawl said %q", w.Reason, w.Rule, w.By, w.Now.Pass, rule)
	}
}

func TestWhyChainIsBounded(t *testing.T) {
	s := whyStore(t)
	via := "http://a.example/"
	for i := range 2 * maxChain {
		u := "http://a.example/" + strings.Repeat("n", i+1)
		s.put(store.Entry{Item: link(t, u, via, i+1), Outcome: visit.Pending})
		via = u
	}
	w := explain(t, s, via)
	if len(w.Found.Chain) != maxChain || !w.Found.Cut {
		t.Errorf("%d links, cut %t", len(w.Found.Chain), w.Found.Cut)
	}
}

func TestCrawlSpecLimitsSeeds(t *testing.T) {
	seeds := make([]weburl.URL, 200_000)
	for i := range seeds {
		seeds[i] = parseURL(t, "http://a.example/")
	}
	var a CrawlSpec
	a.SetSeeds(seeds)
	text, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > store.MaxSpec/2 || a.SeedCount != len(seeds) || a.hasAllSeeds() {
		t.Errorf("%d bytes, %d of %d seeds", len(text), len(a.Seeds), a.SeedCount)
	}
	b, err := ReadCrawlSpec(text)
	if err != nil || len(b.Seeds) != len(a.Seeds) {
		t.Errorf("%d seeds, %v", len(b.Seeds), err)
	}
	if _, err := ReadCrawlSpec([]byte("{")); err == nil {
		t.Error("half a text is read")
	}
	if b, err = ReadCrawlSpec(nil); err != nil || b.Scope != "" {
		t.Errorf("%+v, %v", b, err)
	}
}

// TestWhyEstimatesTurn distinguishes the host's next request from that of the URL.
func TestWhyEstimatesTurn(t *testing.T) {
	for name, tc := range map[string]struct {
		url    string
		host   ask.Host
		where  ask.Place
		ahead  int64
		turn   time.Duration
		told   string
		untold bool
	}{
		"the first": {url: "http://a.example/0", host: ask.Host{Pace: ask.Seconds(2 * time.Second)}, turn: time.Second, told: "It is next in the queue of its host."},
		"in the middle": {
			url: "http://a.example/7", host: ask.Host{Pace: ask.Seconds(2 * time.Second)}, ahead: 7, turn: 15 * time.Second,
			told: "In the queue of its host 7 URLs are before it, so its turn comes in 15s (estimate: 2s per URL).",
		},
		"deeper ones go later": {url: "http://a.example/deep", host: ask.Host{Pace: ask.Seconds(time.Second)}, ahead: 20, turn: 21 * time.Second, told: "20 URLs are before it"},
		"paused":               {url: "http://a.example/7", host: ask.Host{Pace: ask.Seconds(time.Second), Paused: true}, untold: true},
		"no pace":              {url: "http://a.example/7", untold: true},
		"in flight":            {url: "http://a.example/7", where: ask.PlaceInFlight, host: ask.Host{Pace: ask.Seconds(time.Second)}, untold: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := whyStore(t)
			s.put(store.Entry{Item: link(t, "http://a.example/deep", "http://a.example/", 9), Outcome: visit.Pending})
			for i := range 20 {
				s.put(store.Entry{Item: link(t, fmt.Sprintf("http://a.example/%d", i), "http://a.example/", 1), Outcome: visit.Pending})
			}
			w := explain(t, s, tc.url, func(q *WhyQuestion) {
				q.Job.State = job.Running
				q.Running = func(context.Context, weburl.URL) (*ask.URL, error) {
					return &ask.URL{Where: tc.where, Wait: visit.WaitPace, Until: whyNow.Add(time.Second), Host: &tc.host}, nil
				}
			})
			story := strings.Join(w.Story, "\n")
			if tc.untold {
				if w.Wait.Ahead != nil || strings.Contains(story, "queue of its host") {
					t.Errorf("%+v\n%s", w.Wait, story)
				}
				return
			}
			if w.Wait.Ahead == nil || *w.Wait.Ahead != tc.ahead || w.Wait.Turn.Sub(whyNow) != tc.turn || !strings.Contains(story, tc.told) {
				t.Errorf("%+v\n%s", w.Wait, story)
			}
			if want := "It is waiting for the host's pace; the next request to its host is due at 2026-11-15 10:00:01 UTC."; !strings.Contains(story, want) {
				t.Errorf("no %q in\n%s", want, story)
			}
		})
	}
}
