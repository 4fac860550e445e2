package weburl

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// tokens are the parts of random links, valid and unusual.
var tokens = []string{
	"http", "https", "HTTP", "hTTps", "ftp", "mailto:", "javascript:", "data:", "://", "://",
	":", ":", "/", "/", "//", "//", "///", `\`, `\\`, "?", "?", "#", "@", "|", "|",
	".", ".", "..", "/../", "/./", "/..", "/.", "%2e", "%2E", "%2e%2e", "/a/b", "?q=1", "#f",
	"%", "%4", "%41", "%zz", "%7e", "%c3%a9", "%2f", "%25", "%00", "%0a", "%20", " ", "\t", "\n", "\r", "\x00", "\x01", "\x7f",
	"a", "b", "A", "B", "-", "+", "_", "~", "!", "$", "&", "'", "(", ")", "*", ",", ";", "=", "[", "]", "\"", "<", ">", "^", "`", "{", "}",
	"example", "site.test", "localhost", ".com", "user:pw@", "user@", "xn--", "xn--bcher-kva", "xn--a",
	"1", "0", "127", "0x7f", "0177", "256", "09", "4294967295", "4294967296", "0x", "127.0.0.1",
	"[::1]", "[::ffff:1.2.3.4]", "[1:2:3:4:5:6:7:8]", "[1::]", "::",
	":80", ":443", ":0", ":65535", ":65536", ":08080", ":8a",
	"b\u00fccher", "\u00df", "\u00e9", "\u3002", "\uff0e", "\uff11", "\u00ad", "\u200d", "\U0001f989", "\ufffd", "\u0338", "\u2260", "\xff",
}

// randomLink combines tokens so that about half of the links are valid.
func randomLink(rng *rand.Rand) string {
	var b strings.Builder
	add := func(most int) {
		for range rng.IntN(most) {
			b.WriteString(tokens[rng.IntN(len(tokens))])
		}
	}
	switch rng.IntN(4) {
	case 0:
		b.WriteString("https://")
	case 1:
		b.WriteString("http://a.test/")
	case 2:
		b.WriteString("http://a")
		add(4)
		b.WriteString("/")
	}
	add(8)
	return b.String()
}

// TestRandomLinks compares all ways to read a link: fast path, reference, explanation, and
// the oracle if the link is valid UTF-8.
func TestRandomLinks(t *testing.T) {
	const links, seed = 20_000, 1
	rng := rand.New(rand.NewPCG(seed, seed))
	bases := []URL{{}, {}, mustParse(t, "https://site.test/docs/guide/page?x=1"), mustParse(t, "http://h.test:8080/"), mustParse(t, "http://[::1]/a//b/")}
	valid := 0
	for range links {
		raw, base := randomLink(rng), bases[rng.IntN(len(bases))]
		checkExplain(t, raw, base) // also compares Resolve with read
		if u, err := base.Resolve(raw); err == nil {
			checkURL(t, u)
			valid++
		}
		if !strings.Contains(raw, "\xff") {
			sameAsOracle(t, raw, base)
		}
		if t.Failed() {
			t.Fatalf("the link was %q, the base %q", raw, base)
		}
	}
	if valid < links/4 {
		t.Errorf("only %d of %d links are valid: the test is too easy", valid, links)
	}
}
