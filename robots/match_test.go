package robots

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"headway/weburl"
)

func parseFuzzURL(path string) (weburl.URL, error) {
	return weburl.Parse("https://site.test/" + strings.TrimPrefix(path, "/"))
}

// scan is the simple form of match: every rule of the group in turn, compared by
// dynamic programming. It returns the index of the deciding rule, or -1.
func (r *Rules) scan(path string) int {
	best := -1
	spelt := escapeData(path)
	for _, g := range r.groups {
		for i := r.file.groups[g].firstRule; i < r.file.groups[g].endRule; i++ {
			rule := &r.file.rules[i]
			subject := path
			if rule.kind&escaped != 0 {
				subject = spelt
			}
			pattern := r.file.at(rule.pattern)
			if rule.kind&anchored == 0 {
				pattern += "*"
			}
			if !glob(pattern, subject) {
				continue
			}
			if best < 0 || rule.octets > r.file.rules[best].octets ||
				rule.octets == r.file.rules[best].octets && rule.allow && !r.file.rules[best].allow {
				best = int(i)
			}
		}
	}
	return best
}

// glob matches all of s.
func glob(pattern, s string) bool {
	reach := make([]bool, len(s)+1) // reach[i]: the pattern so far matches s[:i]
	reach[0] = true
	for i := range len(pattern) {
		if pattern[i] == '*' {
			for j := 1; j <= len(s); j++ {
				reach[j] = reach[j] || reach[j-1]
			}
			continue
		}
		for j := len(s); j > 0; j-- {
			reach[j] = reach[j-1] && s[j-1] == pattern[i]
		}
		reach[0] = false
	}
	return reach[len(s)]
}

func TestMatchAgainstScan(t *testing.T) {
	piece := rapid.SampledFrom([]string{"a", "b", "ab", "/", "*", "$", "?", "=", "%2A", "%24", "'", "{", "é", " ", "%7E"})
	value := rapid.Map(rapid.SliceOfN(piece, 0, 7), func(p []string) string { return "/" + strings.Join(p, "") })
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		b.WriteString("User-agent: *\n")
		for range rapid.IntRange(0, 30).Draw(t, "rules") {
			b.WriteString(rapid.SampledFrom([]string{"Allow: ", "Disallow: "}).Draw(t, "key") + value.Draw(t, "value") + "\n")
		}
		u, err := weburl.Parse("https://site.test" + value.Draw(t, "path"))
		if err != nil {
			t.Skip("no URL")
		}
		file := Parse([]byte(b.String()))
		rules := file.For(ourAgent)
		got, ok := rules.match(u.PathQuery(), escapeData(u.PathQuery()))
		want := rules.scan(u.PathQuery())
		if ok != (want >= 0) {
			t.Fatalf("%s: matched %v, scan found rule %d\n%s", u, ok, want, b.String())
		}
		if ok && (file.rules[got].octets != file.rules[want].octets || file.rules[got].allow != file.rules[want].allow) {
			t.Fatalf("%s: matched line %d, scan line %d\n%s", u, file.rules[got].line, file.rules[want].line, b.String())
		}
	})
}

func TestNormalise(t *testing.T) {
	tests := []struct {
		value, pattern string
		octets         int
		kind           patternKind
		ok             bool
	}{
		{"/a", "/a", 2, 0, true},
		{"/a$", "/a", 3, anchored, true},
		{"/a*", "/a", 3, 0, true},
		{"/a**b", "/a*b", 5, 0, true},
		{"/a*$", "/a", 4, 0, true},
		{"*", "", 1, 0, true},
		{"$", "", 1, anchored, false},
		{"", "", 0, 0, false},
		{"a", "a", 1, 0, false},
		{"%2Fa", "%2Fa", 4, 0, false},
		{"/%61%7e%2f", "/a~%2F", 6, 0, true},
		{"/é", "/%C3%A9", 7, 0, true},
		{"/a b\"<>\x01", "/a%20b%22%3C%3E%01", 18, 0, true},
		{"/%2a", "/%2A", 4, escaped, true},
		{"/$a", "/%24a", 3, escaped, true},
		{"/{a}$", "/%7Ba%7D", 5, escaped | anchored, true},
		{"/%zz%", "/%zz%", 5, 0, true},
		{"/%%34%31", "/%%341", 6, 0, true},
	}
	for _, tt := range tests {
		t.Run(tt.value, func(t *testing.T) {
			pattern, octets, kind, ok := normalise(nil, []byte(tt.value))
			if string(pattern) != tt.pattern || octets != tt.octets || kind != tt.kind || ok != tt.ok {
				t.Errorf("got %q %d %b %v, want %q %d %b %v", pattern, octets, kind, ok, tt.pattern, tt.octets, tt.kind, tt.ok)
			}
		})
	}
}

func TestDecideAllocatesNothing(t *testing.T) {
	file := Parse([]byte(shop(200)))
	rules := file.For(ourAgent)
	urls := shopURLs(t)
	blocked := 0
	for _, u := range urls {
		if !rules.Decide(u).Allowed {
			blocked++
		}
	}
	if blocked < 4 || blocked > len(urls)/2 {
		t.Errorf("%d of %d URLs are blocked: not a fair sample", blocked, len(urls))
	}
	n := testing.AllocsPerRun(100, func() {
		for _, u := range urls {
			sinkDecision = rules.Decide(u)
			sinkDecision = file.Decide(ourAgent, u)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestForCachesRules(t *testing.T) {
	f := Parse([]byte("User-agent: a\nDisallow: /a\n\nUser-agent: b\nDisallow: /b\n"))
	a := f.For("a")
	if f.For("a") != a {
		t.Error("the same agent was chosen for twice")
	}
	if g := f.For("b").Group(); g != "b" {
		t.Errorf("group %q, want b", g)
	}
	if g := f.For("a").Group(); g != "a" {
		t.Errorf("group %q, want a", g)
	}
}

// TestWorkIsBounded uses up the work limit of a decision with rules that never match,
// before it reaches those that would.
func TestWorkIsBounded(t *testing.T) {
	long := strings.Repeat("a", 4000)
	costly := strings.Repeat("Disallow: /c*"+strings.Repeat("a", 40)+"b\n", 4000) + strings.Repeat("Allow: /c*"+strings.Repeat("a", 40)+"b\n", 4000)
	body := "User-agent: *\n" + costly + "Disallow: /c*zb\nAllow: /c*aaa\nAllow: /cb" + long + "$\n"
	rules := Parse([]byte(body)).For(ourAgent)
	for _, tt := range []struct {
		path    string
		allowed bool
		why     string
	}{
		{"/cb", true, "a short URL is compared in full: no rule matches"},
		{"/cxaaa", true, "a short URL is compared in full: the Allow matches"},
		{"/czb", false, "a short URL is compared in full: the Disallow matches"},
		{"/c" + long + "xb", false, "the work is used up: a Disallow bans by its beginning"},
		{"/d" + long + "b", true, "no rule begins like it"},
	} {
		d := rules.Decide(parseURL(t, "https://site.test"+tt.path))
		if d.Allowed != tt.allowed {
			t.Errorf("%.20s: allowed %v by %.40q, want %v: %s", tt.path, d.Allowed, d.Rule, tt.allowed, tt.why)
		}
	}
}

// TestWorkLimitNeverAllows: once the work limit is used up, an Allow with a star has no
// effect, and rules without a star still apply.
func TestWorkLimitNeverAllows(t *testing.T) {
	f := Parse([]byte("User-agent: *\nAllow: /a*\nAllow: /a*b\nDisallow: /a*b\nAllow: /a$\n"))
	for i, want := range []bool{true, false, true, false} {
		work := maxWork + 1
		if got := f.matches(&f.rules[i], "/axb", "/axb", &work); got != want {
			t.Errorf("rule %d matches %v, want %v", i, got, want)
		}
	}
}
