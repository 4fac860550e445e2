package robots

import (
	"bytes"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestParseLines(t *testing.T) {
	const us = "KestrelBot"
	tests := []struct {
		name    string
		body    string
		url     string
		allowed bool
		line    int
		rule    string
		group   string
	}{
		{"CRLF counts as one line", "User-agent: *\r\n\r\nDisallow: /x\r\n", "/x", false, 3, "Disallow: /x", "*"},
		{"CR and LF mixed", "User-agent: *\r\n\nDisallow: /y\rDisallow: /x", "/x", false, 4, "Disallow: /x", "*"},
		{"rule as written without its comment", "User-agent: *\n  disALLOW:/x   # why not", "/x", false, 2, "disALLOW:/x", "*"},
		{"group as the file writes it", "User-agent: KESTRELBOT/2\nAllow: /x\n", "/x", true, 2, "Allow: /x", "KESTRELBOT"},
		{"half a byte order mark", "\xEF\xBBUser-agent: *\nDisallow: /x\n", "/x", false, 2, "Disallow: /x", "*"},
		{"byte order mark alone", "\uFEFF", "/x", true, 0, "", ""},
		{"no-break space behind the value", "User-agent: *\nDisallow: /x\u00A0\n", "/x", false, 2, "Disallow: /x", "*"},
		{"forgotten colon, colon in the value", "User-agent: *\nDisallow /go:to\n", "/go:to", false, 2, "Disallow /go:to", "*"},
		{"three words without colon", "User-agent: *\nDisallow /x or /y\n", "/x", true, 0, "", "*"},
		{"colon alone", "User-agent: *\n: /x\n:\nDisallow: /x", "/x", false, 4, "Disallow: /x", "*"},
		{"longer name for a ban", "User-agent: *\nDisallowed: /x\n", "/x", false, 2, "Disallowed: /x", "*"},
		{"longer name for a permission", "User-agent: *\nDisallow: /\nAllowed: /x\n", "/x", false, 2, "Disallow: /", "*"},
		{"digits end a token", "User-agent: KestrelBot2\nDisallow: /x\n", "/x", false, 2, "Disallow: /x", "KestrelBot"},
		{"underscore belongs to a token", "User-agent: KestrelBot_x\nDisallow: /x\n", "/x", true, 0, "", ""},
		{"invalid token", "User-agent: 360Spider\nDisallow: /\n\nUser-agent: *\nDisallow: /x\n", "/y", true, 0, "", "*"},
		{"agent line without value opens a group without agents", "User-agent:\nDisallow: /\n", "/x", true, 0, "", ""},
		{"named twice in one group", "User-agent: KestrelBot\nUser-agent: kestrelbot\nDisallow: /x\n", "/x", false, 3, "Disallow: /x", "KestrelBot"},
		{"first of equal bans", "User-agent: *\nDisallow: /x\nDisallow: /x\n", "/x", false, 2, "Disallow: /x", "*"},
		{"star only", "User-agent: *\nDisallow: *\n", "/x", false, 2, "Disallow: *", "*"},
		{"star and anchor", "User-agent: *\nDisallow: *$\n", "/x", false, 2, "Disallow: *$", "*"},
		{"anchor only", "User-agent: *\nDisallow: $\n", "/x", true, 0, "", "*"},
		{"star before the anchor", "User-agent: *\nDisallow: /x*$\n", "/xyz", false, 2, "Disallow: /x*$", "*"},
		{"two dollars", "User-agent: *\nDisallow: /x$$\n", "/x$", false, 2, "Disallow: /x$$", "*"},
		{"dollar before a star is data", "User-agent: *\nDisallow: /x$*\n", "/x", true, 0, "", "*"},
		{"trailing stars count as octets", "User-agent: *\nAllow: /xy\nDisallow: /x***\n", "/xy", false, 3, "Disallow: /x***", "*"},
		{"tie between a literal and a star", "User-agent: *\nDisallow: /ab\nAllow: /*b\n", "/ab", true, 3, "Allow: /*b", "*"},
		{"longest behind a shorter beginning", "User-agent: *\nAllow: /abcd\nDisallow: /a\nDisallow: /*bcd$\n", "/abcd", false, 4, "Disallow: /*bcd$", "*"},
		{"a star does not read a byte twice", "User-agent: *\nDisallow: /*ab*b\n", "/ab", true, 0, "", "*"},
		{"an anchored tail does not read a byte twice", "User-agent: *\nDisallow: /*aba*ba$\n", "/aba", true, 0, "", "*"},
		{"quote in a query", "User-agent: *\nDisallow: /x?q='a'\n", "/x?q='a'", false, 2, "Disallow: /x?q='a'", "*"},
		{"quote behind a star in a path", "User-agent: *\nDisallow: /*'s\n", "/it's", false, 2, "Disallow: /*'s", "*"},
		{"quote behind a star in a query", "User-agent: *\nDisallow: /*'s\n", "/x?it's", false, 2, "Disallow: /*'s", "*"},
		{"braces in a path", "User-agent: *\nDisallow: /{id}/\n", "/{id}/x", false, 2, "Disallow: /{id}/", "*"},
		{"braces in a query", "User-agent: *\nDisallow: /*?{id}\n", "/x?{id}", false, 2, "Disallow: /*?{id}", "*"},
		{"escaped star in the URL", "User-agent: *\nDisallow: /f-%2A\n", "/f-%2a", false, 2, "Disallow: /f-%2A", "*"},
		{"Latin-1 byte", "User-agent: *\nDisallow: /caf\xE9\n", "/caf%E9", false, 2, "Disallow: /caf\xE9", "*"},
		{"double escape", "User-agent: *\nDisallow: /%2541\n", "/%2541", false, 2, "Disallow: /%2541", "*"},
		{"escape that decoding would create", "User-agent: *\nDisallow: /%%34%31\n", "/%%34%31", false, 2, "Disallow: /%%34%31", "*"},
		{"robots.txt with a query is an address like others", "User-agent: *\nDisallow: /\n", "/robots.txt?x=1", false, 2, "Disallow: /", "*"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := Parse([]byte(tt.body)).Decide(us, parseURL(t, "https://site.test"+tt.url))
			if d.Allowed != tt.allowed || d.Line != tt.line || d.Rule != tt.rule || d.Group != tt.group {
				t.Errorf("got %v line %d %q group %q\nwant %v line %d %q group %q", d.Allowed, d.Line, d.Rule, d.Group, tt.allowed, tt.line, tt.rule, tt.group)
			}
		})
	}
}

func TestCut(t *testing.T) {
	ban := "User-agent: *\nDisallow: /"
	pad := func(n int) string { return strings.Repeat("#", n-1) + "\n" }
	tests := []struct {
		name    string
		body    string
		allowed bool
	}{
		{"within the limit", pad(MaxBytes-len(ban)-1) + ban + "\n", false},
		{"ends exactly at the limit", pad(MaxBytes-len(ban)) + ban, false},
		{"line ends exactly at the limit", pad(MaxBytes-len(ban)) + ban + "\nAllow: /", false},
		{"line ends by CR exactly at the limit", pad(MaxBytes-len(ban)) + ban + "\rAllow: /", false},
		{"cut line is dropped", pad(MaxBytes-len(ban)+1) + ban + "\n", true},
		{"cut word is dropped", pad(MaxBytes-len(ban)) + ban + "private\n", true},
		{"one endless line", strings.Repeat("x", 2*MaxBytes), true},
		{"ban behind the limit", pad(MaxBytes) + ban + "\n", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			body := []byte(tt.body)
			f := Parse(body)
			if d := f.Decide(ourAgent, parseURL(t, "https://site.test/x")); d.Allowed != tt.allowed {
				t.Errorf("allowed %v, want %v", d.Allowed, tt.allowed)
			}
			cut := Cut(body)
			if len(cut) > MaxBytes || !bytes.Equal(Cut(cut), cut) {
				t.Errorf("Cut kept %d bytes, or cut again", len(cut))
			}
			if again := Parse(cut); again.Sum() != f.Sum() || again.Binding() != f.Binding() {
				t.Error("the kept part parses differently")
			}
		})
	}
}

func TestLongRule(t *testing.T) {
	pattern := "/x" + strings.Repeat("*", 3*maxRuleText) + "y"
	f := Parse([]byte("User-agent: *\nDisallow: " + pattern + "\n"))
	d := f.Decide(ourAgent, parseURL(t, "https://site.test/x/y"))
	if d.Allowed || len(d.Rule) != maxRuleText || !strings.HasPrefix("Disallow: "+pattern, d.Rule) {
		t.Errorf("allowed %v with a rule text of %d bytes", d.Allowed, len(d.Rule))
	}
}

func TestDelay(t *testing.T) {
	const none = -1 * time.Second
	tests := []struct {
		name, body, agent string
		want              time.Duration
	}{
		{"names above it", "User-agent: a\nCrawl-delay: 9\n\nUser-agent: us\nDisallow: /x\n", "us", none},
		{"names above it keep theirs", "User-agent: us\nCrawl-delay: 9\n\nUser-agent: a\nDisallow: /x\n", "us", 9 * time.Second},
		{"all names above it", "User-agent: us\nUser-agent: a\nCrawl-delay: 9\n", "us", 9 * time.Second},
		{"a later one also counts", "User-agent: us\nCrawl-delay: 1\nUser-agent: a\nCrawl-delay: 9\n", "us", 9 * time.Second},
		{"the earlier one is not for later names", "User-agent: a\nCrawl-delay: 9\nUser-agent: us\nCrawl-delay: 1\n", "us", time.Second},
		{"named again below it", "User-agent: us\nCrawl-delay: 9\nUser-agent: us\nCrawl-delay: 1\n", "us", 9 * time.Second},
		{"exponent", "User-agent: *\nCrawl-delay: 1e2\n", "us", 100 * time.Second},
		{"plus sign", "User-agent: *\nCrawl-delay: +5\n", "us", 5 * time.Second},
		{"minus zero", "User-agent: *\nCrawl-delay: -0\n", "us", 0},
		{"point first", "User-agent: *\nCrawl-delay: .25\n", "us", 250 * time.Millisecond},
		{"hex", "User-agent: *\nCrawl-delay: 0x1p4\n", "us", none},
		{"underscore", "User-agent: *\nCrawl-delay: 1_0\n", "us", none},
		{"infinity by name", "User-agent: *\nCrawl-delay: Inf\n", "us", none},
		{"empty", "User-agent: *\nCrawl-delay:\n", "us", none},
		{"longer than a Duration", "User-agent: *\nCrawl-delay: 1e300\n", "us", math.MaxInt64},
		{"forgotten colon", "User-agent: *\nCrawl-delay 7\n", "us", 7 * time.Second},
		{"without dash", "User-agent: *\nCrawl delay: 7\n", "us", 7 * time.Second},
		{"no group", "User-agent: other\nCrawl-delay: 7\n", "us", none},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := Parse([]byte(tt.body))
			got, set := f.For(tt.agent).Delay()
			if set != (tt.want != none) || set && got != tt.want {
				t.Errorf("delay %v set %v, want %v", got, set, tt.want)
			}
			if set && !f.Binding() {
				t.Error("a file with a delay is not binding")
			}
		})
	}
}

func TestSitemaps(t *testing.T) {
	body := "Sitemap: https://a.test/1.xml\nUser-agent: *\nsitemap:/2.xml # second\nDisallow: /x\nSite-map: https://a.test/3.xml\nSitemap https://a.test/4.xml\nSitemap:\n"
	want := []string{"https://a.test/1.xml", "/2.xml", "https://a.test/3.xml", "https://a.test/4.xml"}
	f := Parse([]byte(body))
	if got := slices.Collect(f.Sitemaps()); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for range f.Sitemaps() {
		break // stopping early must work
	}
}

func TestBinding(t *testing.T) {
	for body, want := range map[string]bool{
		"":                                     false,
		htmlPage:                               false,
		"Sitemap: /s.xml\n":                    false,
		"User-agent: *\n":                      false,
		"User-agent: *\nDisallow:\n":           false,
		"User-agent: *\nDisallow: secret\n":    false,
		"Disallow: /\n":                        false,
		"User-agent: *\nDisallow: /x\n":        true,
		"User-agent: *\nCrawl-delay: 0\n":      true,
		"User-agent: other\nAllow: /x\n":       true,
		"User-agent: 360\nDisallow: /x\n":      false,
		"Content-Signal: ai-train=no\n":        false,
		"User-agent: *\nCrawl-delay: nonsense": false,
	} {
		if got := Parse([]byte(body)).Binding(); got != want {
			t.Errorf("%q: binding %v, want %v", body, got, want)
		}
	}
}

// TestSize compares the computed size with the memory really used, since the cache
// relies on it.
func TestSize(t *testing.T) {
	const files = 500
	body := shop(200)
	kept := make([]*File, files)
	before := heap()
	var counted int64
	for i := range kept {
		kept[i] = Parse(fmt.Appendf(nil, "%s# %d\n", body, i))
		kept[i].For(ourAgent)
		counted += kept[i].Size()
	}
	taken := int64(heap() - before)
	runtime.KeepAlive(kept)
	t.Logf("200 rules in %d bytes: %d bytes of heap a file, %d counted", len(body), taken/files, counted/files)
	if counted < taken*8/10 || counted > taken*13/10 {
		t.Errorf("counted %d bytes, taken %d", counted, taken)
	}
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// hostile returns bodies meant to trigger non-linear time.
func hostile() map[string]string {
	fill := func(line string) string { return strings.Repeat(line, MaxBytes/len(line)) }
	return map[string]string{
		"agents and delays": strings.Repeat("User-agent: a\n", 20_000) + strings.Repeat("Crawl-delay: 1\n", 15_000),
		"one agent again":   fill("User-agent: headwaybot\nDisallow: /a\n"),
		"many agents":       fill("User-agent: a\n"),
		"short rules":       "User-agent: *\n" + fill("Allow:/\n"),
		"nested prefixes":   "User-agent: *\n" + nested(1000),
		"one long pattern":  "User-agent: *\nDisallow: /" + strings.Repeat("*a", MaxBytes/2-20),
		"carriage returns":  fill("\r"),
		"blanks":            fill(" "),
		"colons":            fill(":"),
		"bytes to escape":   "User-agent: *\nDisallow: /" + strings.Repeat("\xFF", MaxBytes-40),
		"signals":           "User-agent: *\n" + fill("Content-Signal: a=b\n"),
	}
}

func nested(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("Disallow: /" + strings.Repeat("a", i) + "\n")
	}
	return b.String()
}

func TestHostile(t *testing.T) {
	u := parseURL(t, "https://site.test/"+strings.Repeat("a", 4000))
	for name, body := range hostile() {
		t.Run(name, func(t *testing.T) {
			f := Parse([]byte(body))
			f.Decide(ourAgent, u)
			if f.Size() > 16*MaxBytes {
				t.Errorf("compiled to %d bytes", f.Size())
			}
		})
	}
}

func BenchmarkParseWorst(b *testing.B) {
	for name, body := range hostile() {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				sinkFile = Parse([]byte(body))
				sinkFile.For(ourAgent)
			}
			b.ReportMetric(float64(sinkFile.Size()), "file-bytes")
		})
	}
}

func FuzzParse(f *testing.F) {
	for _, r := range decideRows(f) {
		f.Add([]byte(r.Robots), strings.TrimPrefix(r.URL, "https://site.test"))
	}
	for _, body := range []string{shop(30), "User-agent: us\nContent-Usage: /x train-ai=n\nCrawl-delay: 4\nSitemap: /s.xml"} {
		f.Add([]byte(body), "/x")
	}
	f.Fuzz(func(t *testing.T, body []byte, path string) {
		file := Parse(body)
		if !bytes.Equal(Cut(Cut(body)), Cut(body)) {
			t.Fatal("Cut cuts twice")
		}
		if n := len(file.rules); n > len(body)/len("allow:/") {
			t.Fatalf("%d rules from %d bytes", n, len(body))
		}
		u, err := parseFuzzURL(path)
		if err != nil {
			return
		}
		for _, agent := range []string{ourAgent, "KestrelBot", "", "*"} {
			rules := file.For(agent)
			d := rules.Decide(u)
			if again := Parse(body).Decide(agent, u); again != d {
				t.Fatalf("decided %+v, then %+v", d, again)
			}
			want := rules.scan(u.PathQuery())
			if d.Reason != DelayTooLong && d.Reason != RobotsFile && (want < 0) != (d.Line == 0) {
				t.Fatalf("decided by line %d, a plain scan by rule %d", d.Line, want)
			}
			if want >= 0 && d.Line > 0 && d.Allowed != file.rules[want].allow {
				t.Fatalf("decided by line %d (%v), a plain scan by line %d", d.Line, d.Allowed, file.rules[want].line)
			}
			if text, ok := file.RuleAt(d.Line); ok != (d.Line > 0) || text != d.Rule {
				t.Fatalf("RuleAt(%d) = %q, the decision says %q", d.Line, text, d.Rule)
			}
			rules.Signals()
		}
		// A Disallow of the URL itself applies, whatever its bytes.
		rule := strings.NewReplacer("*", "%2A", "$", "%24").Replace(u.PathQuery())
		ban := Parse([]byte("User-agent: *\nDisallow: " + rule + "\n"))
		if d := ban.Decide(ourAgent, u); d.Allowed && d.Reason != RobotsFile {
			t.Fatalf("%q does not ban %s", rule, u)
		}
		// So does one that is anchored at its end.
		ban = Parse([]byte("User-agent: *\nDisallow: " + rule + "$\n"))
		if d := ban.Decide(ourAgent, u); d.Allowed && d.Reason != RobotsFile {
			t.Fatalf("%q does not ban %s", rule+"$", u)
		}
	})
}
