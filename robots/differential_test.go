package robots

import (
	"bytes"
	"net/url"
	"strings"
	"testing"

	"github.com/jimsmart/grobotstxt"
	"pgregory.net/rapid"

	"headway/weburl"
)

const oracleAgent = "KestrelBot"

// maxOracleLine is where the oracle cuts lines; we do not cut.
const maxOracleLine = 16_000

// difference names why the oracle, a port of Google's parser, may decide differently
// for a file and a path, or returns "" if both must agree. The classes marked DIFFERS
// in the vectors come first; each is as narrow as possible.
func difference(body, path string) string {
	if path == robotsPath {
		return "robots-file-is-free" // section 2.2.2: "The /robots.txt URI is implicitly allowed."
	}
	if len(body) > maxOracleLine {
		return "long-line"
	}
	rest := trimBOM([]byte(body))
	for len(rest) > 0 {
		var line []byte
		line, rest = cutLine(rest)
		line, _, _ = bytes.Cut(line, []byte("#"))
		if d := lineDifference(string(bytes.TrimSpace(line)), path); d != "" {
			return d
		}
	}
	return ""
}

func lineDifference(line, path string) string {
	key, value, colon := strings.Cut(line, ":")
	if !colon {
		key, value, _ = strings.Cut(strings.ReplaceAll(line, "\t", " "), " ")
	}
	key, value = strings.ToLower(strings.TrimSpace(key)), strings.TrimSpace(value)
	ours, oursValue, _ := splitLine([]byte(line))
	if len(ours) > 0 && readKey(ours) != keyUnknown && string(oursValue) != value {
		return "blank-for-colon" // not in the grammar of section 2.2; the oracle takes a colon inside the value
	}
	switch {
	case strings.HasPrefix(key, "allow"):
		if key != "allow" {
			return "longer-allow" // section 2.2: the name is "allow"; we accept longer names only for restrictions
		}
		if strings.Contains(value, "/index.htm") {
			return "index-page-is-not-dir" // not in section 2.2.2
		}
		return valueDifference(value, path)
	case strings.HasPrefix(key, "user"):
		// Section 2.2.1: identifier = 1*(%x2D / %x41-5A / %x5F / %x61-7A). The
		// oracle also accepts digits and other characters.
		end := strings.IndexFunc(value, func(r rune) bool {
			return !(r < 0x80 && (isLetter(byte(r)) || '0' <= r && r <= '9' || strings.ContainsRune("~#$%'*+-.^_`|", r)))
		})
		theirs := value
		if end >= 0 {
			theirs = value[:end]
		}
		if strings.EqualFold(theirs, oracleAgent) != strings.EqualFold(productToken(value), oracleAgent) {
			return "token-characters"
		}
		if len(value) > 1 && value[0] == '*' && (value[1] == 0x85 || value[1] == 0xA0) {
			return "star-and-stray-byte" // half a UTF-8 sequence is not a space
		}
		return ""
	}
	return valueDifference(value, path)
}

// valueDifference finds the bytes of a rule that the oracle compares literally and we
// normalise first.
func valueDifference(value, path string) string {
	rawSpecial, escapedSpecial, escapes, rewritten := false, false, false, false
	for i := 0; i < len(value); i++ {
		c := value[i]
		switch {
		case c == '%' && i+2 < len(value) && isHex(value[i+1]) && isHex(value[i+2]):
			escapes = true
			rewritten = rewritten || value[i+1] >= 'a' || value[i+2] >= 'a'
			c = unhex(value[i+1])<<4 | unhex(value[i+2])
			i += 2
			if isUnreserved(c) {
				return "unreserved-decoded" // section 2.2.2: a percent-encoded unreserved octet "MUST be unencoded prior to comparison"
			}
			escapedSpecial = escapedSpecial || isSpecial(c)
		case c == '*', c == '$' && i == len(value)-1:
		case isSpecial(c):
			rawSpecial = true
		case c >= 0x80:
			rewritten = true
		case c <= ' ' || c == 0x7F || c == '"' || c == '<' || c == '>':
			// A URL never contains these bytes unescaped: the oracle cannot match.
			if strings.Contains(path, "%") {
				return "space-in-rule"
			}
		}
	}
	// A bug of the port, not of Google's parser: when it rewrites a value to
	// upper-case hex it also clears a bit of decimal digits.
	if escapes && rewritten {
		return "oracle-hex-digits"
	}
	// Section 2.2.3 lets %2A and %24 mean the bytes themselves, and section 2.2.2
	// requires reserved octets to be percent-encoded before comparison: the two
	// spellings are one.
	if rawSpecial && escapeData(path) == path && strings.Contains(path, "%") {
		return "special-bytes"
	}
	if (rawSpecial || escapedSpecial) && escapeData(path) != path {
		return "special-bytes"
	}
	return ""
}

// differ compares one case with the oracle. It returns the class of difference, if any,
// that excluded the comparison.
func differ(t interface{ Fatalf(string, ...any) }, body, rawPath string) string {
	u, err := weburl.Parse("https://site.test/" + strings.TrimPrefix(rawPath, "/"))
	if err != nil {
		return "no-url"
	}
	if plain, err := url.Parse(u.String()); err != nil || plain.String() != u.String() {
		return "respelt" // the oracle normalises URLs like net/url
	}
	if class := difference(body, u.PathQuery()); class != "" {
		return class
	}
	want := grobotstxt.AgentAllowed(body, oracleAgent, u.String())
	d := Parse([]byte(body)).Decide(oracleAgent, u)
	if d.Reason == DelayTooLong {
		return "delay"
	}
	if d.Allowed != want {
		t.Fatalf("allowed %v, the oracle says %v\nURL   %s\nrule  %q line %d group %q\nbody:\n%q", d.Allowed, want, u, d.Rule, d.Line, d.Group, body)
	}
	return ""
}

// TestDifferential compares generated files with the oracle and checks that most of them
// are really compared.
func TestDifferential(t *testing.T) {
	agent := rapid.SampledFrom([]string{"KestrelBot", "kestrelbot", "*", "OtherBot", "KestrelBot/2.0", "Kestrel", "KestrelBot-x", "* all", "", "KestrelBot the bot", "*Bot"})
	piece := rapid.SampledFrom([]string{"/", "a", "b", "ab", "aa", "*", "**", "?", "=", "&", "x.php", ".", "%2F", "%2f", "é", "/a", "/b", "//", "A", "index.html", "~", ";", ",", "%zz", "%", "+"})
	pattern := rapid.Custom(func(t *rapid.T) string {
		s := strings.Join(rapid.SliceOfN(piece, 0, 6).Draw(t, "pieces"), "")
		if rapid.IntRange(0, 9).Draw(t, "slash") > 0 {
			s = "/" + s
		}
		if rapid.IntRange(0, 4).Draw(t, "anchor") == 0 {
			s += "$"
		}
		return s
	})
	line := rapid.Custom(func(t *rapid.T) string {
		sep := rapid.SampledFrom([]string{": ", ":", " : ", " ", "\t:\t"}).Draw(t, "sep")
		switch rapid.IntRange(0, 9).Draw(t, "kind") {
		case 0, 1:
			return rapid.SampledFrom([]string{"User-agent", "user-AGENT", "Useragent", "User agent"}).Draw(t, "key") + sep + agent.Draw(t, "agent")
		case 2, 3, 4:
			return rapid.SampledFrom([]string{"Disallow", "disallow", "Disalow", "Dissallow"}).Draw(t, "key") + sep + pattern.Draw(t, "pattern")
		case 5, 6:
			return rapid.SampledFrom([]string{"Allow", "ALLOW", "Alow"}).Draw(t, "key") + sep + pattern.Draw(t, "pattern")
		case 7:
			return rapid.SampledFrom([]string{"Sitemap: https://site.test/s.xml", "Crawl-delay: 2", "Noise: 1", "Content-Signal: search=yes", "garbage", ":", ""}).Draw(t, "other")
		case 8:
			return "# " + pattern.Draw(t, "comment")
		}
		return "Disallow" + sep + pattern.Draw(t, "pattern") + "# " + agent.Draw(t, "comment")
	})
	compared, total := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(line, 0, 12).Draw(t, "lines")
		body := "User-agent: " + agent.Draw(t, "first") + "\n" + strings.Join(lines, rapid.SampledFrom([]string{"\n", "\r\n", "\r"}).Draw(t, "eol"))
		path := strings.ReplaceAll(strings.ReplaceAll(pattern.Draw(t, "path"), "*", "x"), "$", "")
		total++
		if differ(t, body, path) == "" {
			compared++
		}
	})
	if compared*2 < total {
		t.Errorf("only %d of %d cases were compared", compared, total)
	}
	t.Logf("%d of %d cases compared", compared, total)
}

func FuzzDifferential(f *testing.F) {
	for _, row := range decideRows(f) {
		f.Add(row.Robots, row.URL)
	}
	f.Fuzz(func(t *testing.T, body, path string) {
		path = strings.TrimPrefix(path, "https://site.test")
		differ(t, body, path)
	})
}

// TestOracleVectors checks that the oracle differs exactly in the rows marked DIFFERS, and
// in those affected by its digit bug.
func TestOracleVectors(t *testing.T) {
	digitFault := map[string]bool{"hex-case-folded": true, "reserved-slash-equal": true}
	marked := 0
	for _, r := range decideRows(t) {
		differs := grobotstxt.AgentAllowed(r.Robots, r.Agent, r.URL) != r.Allowed
		want := strings.Contains(r.Source, "DIFFERS")
		if want {
			marked++
		}
		if differs != (want || digitFault[r.Name]) {
			t.Errorf("%s: oracle differs %v, marked %v", r.Name, differs, want)
		}
	}
	if marked != 8 {
		t.Errorf("%d rows are marked DIFFERS, want 8", marked)
	}
}
