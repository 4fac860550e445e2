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
		{"reserved", TDMReservation, "1", []Preference{{"tdm", "1", Refuses}}},
		{"not reserved", TDMReservation, "0", []Preference{{"tdm", "0", Permits}}},
		{"no reservation", TDMReservation, "yes", nil},
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

// TestTraining reads each vocabulary's position on training, narrowest use first.
func TestTraining(t *testing.T) {
	for _, tt := range []struct {
		kind  SignalKind
		value string
		want  Stance
	}{
		{ContentUsage, "train-ai=n", Refuses},
		{ContentUsage, "train-ai=y", Permits},
		{ContentUsage, "train-ai=y, train-genai=n", Refuses},
		{ContentUsage, "genai=n", Refuses},
		{ContentUsage, "train-genai=y", Unstated},
		{ContentUsage, "bots=n, train-ai=y", Permits},
		{ContentUsage, "bots=n", Refuses},
		{ContentUsage, "tdm=n, ai=y", Permits},
		{ContentUsage, "tdm=n", Refuses},
		{ContentUsage, "search=n", Unstated},
		{ContentUsage, "train-ai=perhaps", Unstated},
		{ContentSignal, "search=yes, ai-train=no", Refuses},
		{ContentSignal, "search=yes, ai-train=yes", Permits},
		{ContentSignal, "ai-input=no", Unstated},
		{TDMReservation, "1", Refuses},
		{TDMReservation, "0", Permits},
		{TDMReservation, "", Unstated},
	} {
		if got := ParseSignal(tt.kind, tt.value).Training(); got != tt.want {
			t.Errorf("%s: %s: %s, want %s", tt.kind, tt.value, got, tt.want)
		}
	}
}

// TestSignalsFor finds the lines that apply to a URL.
func TestSignalsFor(t *testing.T) {
	rules := Parse([]byte(`User-agent: *
Content-Signal: ai-train=no
Content-Usage: train-ai=n
Content-Usage: /open/ train-ai=y
Content-Usage: /open/ search=y
Content-Usage: /open/not/ train-ai=n
Content-Usage: /*.pdf$ train-ai=n
Content-Usage: /a%2ab train-ai=y
`)).For(ourAgent)
	for path, want := range map[string][]int{
		"/":            {2, 3},
		"/open":        {2, 3},
		"/open/a":      {2, 4, 5},
		"/open/not/a":  {2, 6},
		"/a.pdf":       {2, 7},
		"/a.pdf?x=1":   {2, 3},
		"/open/a.pdf":  {2, 7}, // its path has more octets than /open/
		"/a*b":         {2, 8},
		"/a%2Ab/other": {2, 8},
	} {
		var got []int
		for _, s := range rules.SignalsFor(parseURL(t, "https://site.test"+path)) {
			got = append(got, s.Line)
		}
		if !cmp.Equal(got, want) {
			t.Errorf("%s: lines %v, want %v", path, got, want)
		}
	}
	many := Parse([]byte("User-agent: *\n" + strings.Repeat("Content-Signal: search=yes\n", 100))).For(ourAgent)
	if n := len(many.SignalsFor(parseURL(t, "https://site.test/"))); n != MaxSignals {
		t.Errorf("%d signals", n)
	}
	if s := Parse([]byte("User-agent: *\nAllow: /\n")).For(ourAgent).SignalsFor(parseURL(t, "https://site.test/")); s != nil {
		t.Errorf("signals %v", s)
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
