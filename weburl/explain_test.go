package weburl

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"headway/internal/vectors"
)

// checkExplain checks that the steps lead from raw to the result of Parse and Resolve
// without a gap, and that every intermediate text is the same link.
func checkExplain(t *testing.T, raw string, base URL) {
	t.Helper()
	want, wantErr := base.Resolve(raw)
	u, steps, err := Explain(raw, base)
	if u != want || (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() {
		t.Fatalf("Explain(%q) = %q, %v; Resolve says %q, %v", raw, u, err, want, wantErr)
	}
	text := raw
	for i, s := range steps {
		if s.Before != text || s.After == text {
			t.Fatalf("Explain(%q): step %d goes from %q to %q, but follows %q", raw, i, s.Before, s.After, text)
		}
		if s.Reason == "" || strings.ContainsAny(s.Reason, "\n\r\t\x00") {
			t.Errorf("Explain(%q): step %d has the reason %q", raw, i, s.Reason)
		}
		text = s.After
		if between, err := base.Resolve(text); wantErr == nil && (err != nil || between != want) {
			t.Errorf("Explain(%q): after %q the link is %q, which means %q, %v", raw, s.Reason, text, between, err)
		}
	}
	if wantErr == nil && text != want.String() {
		t.Errorf("Explain(%q) ends in %q, want %q", raw, text, want)
	}
}

func TestExplainVectors(t *testing.T) {
	for _, r := range vectors.Rows[row](t, "urls.json") {
		t.Run(r.Name, func(t *testing.T) {
			var base URL
			if r.Base != nil {
				base = mustParse(t, *r.Base)
			}
			checkExplain(t, r.In, base)
		})
	}
}

func TestExplain(t *testing.T) {
	const base = "https://site.test/docs/guide/page?x=1"
	tests := []struct {
		name, raw, base string
		want            []string
	}{
		{"canonical", "https://site.test/a", "", nil},
		{"blanks and breaks", " https://site.test/a\nb ", "", []string{"surrounding whitespace removed", "tabs and line breaks removed"}},
		{"scheme", "HTTPS:site.test/", "", []string{"scheme lower-cased", "slashes after the scheme normalised to two"}},
		{"backslashes", `https:\\site.test\a`, "", []string{"backslashes replaced by slashes"}},
		{"credentials", "https://ann:pw@site.test/", "", []string{"credentials removed: they are never used or stored"}},
		{"escaped host", "https://s%69te.test/", "", []string{"percent-encoding in the host decoded"}},
		{"upper-case host", "https://SITE.test/", "", []string{"host lower-cased"}},
		{"international host", "https://b\u00fccher.test/", "", []string{"internationalised host written in Punycode"}},
		{"root dot", "https://site.test./", "", []string{"trailing dot removed from the host"}},
		{"IPv4", "http://0x7f.1/", "", []string{"IPv4 address written in dotted decimal form"}},
		{"IPv6", "http://[0:0::1]/", "", []string{"IPv6 address compressed"}},
		{"default port", "https://site.test:0443/", "", []string{"leading zeros removed from the port", "default port 443 removed"}},
		{"empty port", "https://site.test:/", "", []string{"empty port removed"}},
		{"empty path", "https://site.test", "", []string{"empty path written as /"}},
		{"escaped", "https://site.test/a b\u00e9?c='", "", []string{"invalid bytes percent-encoded: space → %20, é → %C3%A9, ' → %27"}},
		{"many escaped", "https://site.test/<>{}\"", "", []string{"invalid bytes percent-encoded: < → %3C, > → %3E, { → %7B, …"}},
		{"control escaped", "https://site.test/a\x01b", "", []string{"invalid bytes percent-encoded: U+0001 → %01"}},
		{"dots", "https://site.test/a/../b/%2e/c", "", []string{"dot segments resolved"}},
		{"escapes", "https://site.test/%7e%c3%a9", "", []string{
			"percent-encoding written in upper case: %7e → %7E, %c3 → %C3, %a9 → %A9", "unnecessary percent-encoding decoded: %7E → ~",
		}},
		{"query and fragment", "https://site.test/a?#b", "", []string{"empty query removed: it requests the same page", "fragment removed: it is not sent to servers"}},
		{"relative", "../other#x", base, []string{"resolved against the base", "dot segments resolved", "fragment removed: it is not sent to servers"}},
		{"empty", "", base, []string{"resolved against the base"}},
		{"scheme-relative", "//other.test/", base, []string{"scheme taken from the base"}},
		{"same scheme", "https:next", base, []string{"resolved against the base"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var b URL
			if tt.base != "" {
				b = mustParse(t, tt.base)
			}
			checkExplain(t, tt.raw, b)
			_, steps, err := Explain(tt.raw, b)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, s := range steps {
				got = append(got, s.Reason)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("reasons (-want +got):\n%s", diff)
			}
		})
	}
}

// TestExplainError checks that the steps before an error are returned.
func TestExplainError(t *testing.T) {
	u, steps, err := Explain(" HTTPS://site..test/", URL{})
	if err == nil || !u.IsZero() || len(steps) != 2 {
		t.Errorf("got %q, %d steps, %v; want two steps and an error", u, len(steps), err)
	}
}

func FuzzExplain(f *testing.F) {
	fuzzSeeds(f)
	f.Fuzz(func(t *testing.T, raw, rawBase string) {
		base, err := Parse(rawBase)
		if err != nil && rawBase != "" {
			return
		}
		checkExplain(t, raw, base)
	})
}
