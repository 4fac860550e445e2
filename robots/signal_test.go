package robots

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseSignal(t *testing.T) {
	tests := []struct {
		name  string
		kind  SignalKind
		value string
		want  []Preference
	}{
		{"cloudflare", ContentSignal, "search=yes, ai-train=no", []Preference{{"search", "yes", Permits}, {"ai-train", "no", Refuses}}},
		{"aipref", ContentUsage, "train-ai=n, search=y", []Preference{{"train-ai", "n", Refuses}, {"search", "y", Permits}}},
		{"any case, no blanks", ContentSignal, "Search=Yes,AI-Train=NO", []Preference{{"search", "Yes", Permits}, {"ai-train", "NO", Refuses}}},
		{"parameters are skipped", ContentUsage, "train-ai=n;exp=1", []Preference{{"train-ai", "n", Refuses}}},
		{"unknown value states nothing", ContentUsage, "train-ai=maybe", []Preference{{"train-ai", "maybe", Unstated}}},
		{"no value", ContentUsage, "train-ai", nil},
		{"no use", ContentUsage, "=n", nil},
		{"empty", ContentUsage, "", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := ParseSignal(tt.kind, tt.value)
			if s.Kind != tt.kind || s.Text != tt.value || !cmp.Equal(s.Preferences, tt.want) {
				t.Errorf("got %+v, want %+v", s, tt.want)
			}
		})
	}
}

func TestSignalSays(t *testing.T) {
	s := ParseSignal(ContentUsage, "search=y, train-ai=n, train-ai=y, bots=perhaps")
	for use, want := range map[string]Stance{"search": Permits, "train-ai": Refuses, "bots": Unstated, "other": Unstated} {
		if got := s.Says(use); got != want {
			t.Errorf("%s: %s, want %s", use, got, want)
		}
	}
}

func TestFileSignals(t *testing.T) {
	body := `Content-Signal: ai-train=no
User-agent: otherbot
Content-Usage: train-ai=y
Disallow: /other

User-agent: *
Content-Usage: train-ai=n
Content-Usage: /open/ train-ai=y # except here
Disallow: /x
content-signal: search=yes
Content-Usage: /nothing
`
	rules := Parse([]byte(body)).For(ourAgent)
	want := []Signal{
		{ContentSignal, "ai-train=no", "", 1, []Preference{{"ai-train", "no", Refuses}}},
		{ContentUsage, "train-ai=n", "", 7, []Preference{{"train-ai", "n", Refuses}}},
		{ContentUsage, "/open/ train-ai=y", "/open/", 8, []Preference{{"train-ai", "y", Permits}}},
		{ContentSignal, "search=yes", "", 10, []Preference{{"search", "yes", Permits}}},
		{ContentUsage, "/nothing", "/nothing", 11, nil},
	}
	if diff := cmp.Diff(want, rules.Signals()); diff != "" {
		t.Errorf("signals (-want +got):\n%s", diff)
	}
	if d := rules.Decide(parseURL(t, "https://site.test/open/")); !d.Allowed || d.Reason != NoRule {
		t.Errorf("a signal decided: %+v", d)
	}
}

func TestSignalBound(t *testing.T) {
	long := strings.Repeat("a=y,", maxSignalText)
	if s := ParseSignal(ContentSignal, long); len(s.Text) > maxSignalText || strings.HasSuffix(s.Text, ",") {
		t.Errorf("kept %d bytes ending in %q", len(s.Text), s.Text[len(s.Text)-5:])
	}
	rules := Parse([]byte("User-agent: *\nContent-Signal: " + long + "\n")).For(ourAgent)
	if s := rules.Signals(); len(s) != 1 || len(s[0].Text) > maxSignalText {
		t.Errorf("%d signals", len(s))
	}
}
