package robots

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"headway/internal/vectors"
	"headway/weburl"
)

func parseURL(t testing.TB, raw string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(raw)
	if err != nil {
		t.Fatalf("parse %q: %v", raw, err)
	}
	return u
}

// decideRow is a row of robots.json.
type decideRow struct {
	Name, Robots, Agent, URL string
	Allowed                  bool
	DecidedBy                string `json:"decided_by"`
	Source                   string
}

func decideRows(t testing.TB) []decideRow {
	t.Helper()
	return vectors.Rows[decideRow](t, "robots.json")
}

func TestVectorsDecide(t *testing.T) {
	rows := decideRows(t)
	passed := 0
	for _, r := range rows {
		ok := t.Run(r.Name, func(t *testing.T) {
			f := Parse([]byte(r.Robots))
			d := f.Decide(r.Agent, parseURL(t, r.URL))
			if d.Allowed != r.Allowed {
				t.Errorf("allowed %v, want %v (%s); rule %q line %d group %q", d.Allowed, r.Allowed, r.DecidedBy, d.Rule, d.Line, d.Group)
			}
			if d.Line > 0 {
				if text, ok := f.RuleAt(d.Line); !ok || text != d.Rule {
					t.Errorf("RuleAt(%d) = %q, %v; the decision says %q", d.Line, text, ok, d.Rule)
				}
			}
		})
		if ok {
			passed++
		}
	}
	vectors.Count(t, "robots.json", passed, len(rows))
}

func TestVectorsDelay(t *testing.T) {
	type row struct {
		Name, Robots, Agent string
		DelaySeconds        *float64 `json:"delay_seconds"`
		Action, Why, Source string
	}
	rows := vectors.Rows[row](t, "crawl-delay.json")
	passed := 0
	for _, r := range rows {
		ok := t.Run(r.Name, func(t *testing.T) {
			rules := Parse([]byte(r.Robots)).For(r.Agent)
			delay, set := rules.Delay()
			action := "default"
			if set {
				action = "use"
			}
			d := rules.Decide(parseURL(t, "https://site.test/page"))
			if d.Reason == DelayTooLong {
				action = "skip_host"
			}
			if action != r.Action {
				t.Errorf("action %s, want %s (%s)", action, r.Action, r.Why)
			}
			if set != (r.DelaySeconds != nil) || set && delay.Seconds() != *r.DelaySeconds {
				t.Errorf("delay %v set %v, want %v (%s)", delay, set, r.DelaySeconds, r.Why)
			}
			if d.Delay != delay || d.Delayed != set || d.Allowed != (action != "skip_host") {
				t.Errorf("decision %+v does not carry delay %v", d, delay)
			}
		})
		if ok {
			passed++
		}
	}
	vectors.Count(t, "crawl-delay.json", passed, len(rows))
}

// Bodies used in the fetch histories.
const (
	someRules  = "User-agent: *\nDisallow: /private\n"
	newerRules = "User-agent: *\nDisallow: /newer\n"
	banAll     = "User-agent: *\nDisallow: /\n"
	htmlPage   = "<!doctype html>\n<html><body><p>Disallow: /</p></body></html>\n"
	htmlRules  = "<html><body>\nUser-agent: *\nDisallow: /private\n</body></html>\n"
)

// answers turns the outcome of a vector row into what the fetcher reports, through the
// real parser. The fetcher itself (redirects, limits) has its own tests.
func answers(t *testing.T, outcome string) map[string]Answer {
	t.Helper()
	ok := func(body string) Answer { return Answer{Status: 200, File: Parse([]byte(body))} }
	with := func(a Answer, set func(*Answer)) Answer { set(&a); return a }
	const host = "https://site.test"
	one := func(a Answer) map[string]Answer { return map[string]Answer{host: a} }
	padding := strings.Repeat("# padding\n", MaxBytes/10) // exactly MaxBytes
	switch outcome {
	case "200 rules", "5 redirects then 200 rules", "redirect to other host, 200 rules":
		return one(ok(someRules))
	case "200 newer rules":
		return one(ok(newerRules))
	case "200 empty":
		return one(ok(""))
	case "204":
		return one(Answer{Status: 204})
	case "200 html page":
		return one(ok(htmlPage))
	case "200 html page that contains two valid rule lines":
		return one(ok(htmlRules))
	case "200 rules with ETag":
		return one(with(ok(someRules), func(a *Answer) { a.ETag = `"v1"` }))
	case "200 rules max-age=60":
		return one(with(ok(someRules), func(a *Answer) { a.CacheControl = "public, max-age=60" }))
	case "200 rules max-age=604800":
		return one(with(ok(someRules), func(a *Answer) { a.CacheControl = "max-age=604800" }))
	case "200 rules no-store":
		return one(with(ok(someRules), func(a *Answer) { a.CacheControl = "no-store" }))
	case "200 600 KiB, ban in the first 500 KiB":
		return one(ok(someRules + padding + strings.Repeat("# more\n", 14_000)))
	case "200 600 KiB, only ban after byte 512000":
		return one(ok(padding + banAll + strings.Repeat("# more\n", 14_000)))
	case "200 gzip of 1 GiB blanks after two rules":
		return one(ok(someRules + strings.Repeat(" ", MaxBytes))) // what a limited reader returns
	case "404", "410", "401", "403", "429", "500", "503", "520", "304":
		var status int
		if _, err := fmt.Sscan(outcome, &status); err != nil {
			t.Fatal(err)
		}
		return one(Answer{Status: status})
	case "redirect then 404":
		return one(Answer{Status: 404})
	case "redirect then 503":
		return one(Answer{Status: 503})
	case "302 without Location":
		return one(Answer{Status: 302})
	case "6 redirects", "redirect to itself":
		return one(Answer{Status: 302, Fault: Redirects})
	case "dns failure", "connection refused", "timeout", "certificate invalid", "redirect to 10.0.0.1":
		return one(Answer{Fault: Network})
	case "200 body ends before Content-Length", "200 one byte a second, total time limit hit", "200 corrupt gzip":
		return one(Answer{Status: 200, Fault: Incomplete})
	case "http: 200 ban all; https: 404":
		return map[string]Answer{"http://site.test": ok(banAll), "https://site.test": {Status: 404}}
	case "port 443: 200 ban all; port 8443: 404":
		return map[string]Answer{"https://site.test": ok(banAll), "https://site.test:8443": {Status: 404}}
	case "site.test: 200 ban all; www.site.test: 404":
		return map[string]Answer{"https://site.test": ok(banAll), "https://www.site.test": {Status: 404}}
	}
	t.Fatalf("unknown outcome %q", outcome)
	return nil
}

// asked names the host a scope row is about.
var asked = map[string]string{
	"scope-scheme":    "https://site.test/page",
	"scope-port":      "https://site.test:8443/page",
	"scope-subdomain": "https://www.site.test/page",
}

func TestVectorsFetch(t *testing.T) {
	type event struct {
		Hour    int
		Outcome string
	}
	type row struct {
		Name    string
		History []event
		AskHour int `json:"ask_hour"`
		Expect  string
		Why     string
		Source  string
	}
	start := time.Date(2026, 11, 15, 0, 0, 0, 0, time.UTC)
	hour := func(n int) time.Time { return start.Add(time.Duration(n) * time.Hour) }
	rows := vectors.Rows[row](t, "robots-fetch.json")
	passed := 0
	for _, r := range rows {
		ok := t.Run(r.Name, func(t *testing.T) {
			// Once as a crawler does it, fetching only when due, and once observing every
			// response: the verdict must be the same.
			for _, always := range []bool{false, true} {
				var p Policy
				states := map[string]State{}
				bodies := map[Sum]string{}
				for _, e := range r.History {
					for host, a := range answers(t, e.Outcome) {
						s := states[host]
						if due := p.Due(s, hour(e.Hour)); due.After(hour(e.Hour)) && !always {
							continue
						}
						states[host] = reload(t, p.Observe(s, hour(e.Hour), a))
						if a.File != nil {
							bodies[a.File.Sum()] = e.Outcome
						}
					}
				}
				url := asked[r.Name]
				if url == "" {
					url = "https://site.test/page"
				}
				u := parseURL(t, url)
				v := p.Verdict(states[u.Host()], hour(r.AskHour))
				got := string(v.Access)
				if v.Access == AccessRules && bodies[v.Sum] == "200 newer rules" {
					got = "newer_rules"
				}
				if got != r.Expect {
					t.Errorf("always=%v: %s, want %s (%s)", always, got, r.Expect, r.Why)
				}
				if (v.Access == AccessRules || v.Access == AccessCached) && bodies[v.Sum] == "" {
					t.Errorf("always=%v: %s with sum %s", always, v.Access, v.Sum)
				}
			}
		})
		if ok {
			passed++
		}
	}
	vectors.Count(t, "robots-fetch.json", passed, len(rows))
}

// reload stores a state and reads it back.
func reload(t testing.TB, s State) State {
	t.Helper()
	data, err := s.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	var back State
	if err := back.UnmarshalBinary(data); err != nil {
		t.Fatal(err)
	}
	if back != s {
		t.Fatalf("state came back as\n%+v, was\n%+v", back, s)
	}
	return back
}
