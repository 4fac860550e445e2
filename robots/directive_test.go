package robots

import (
	"testing"
	"time"
)

func TestParseHeader(t *testing.T) {
	date := time.Date(2010, 6, 25, 15, 0, 0, 0, time.UTC)
	tests := []struct {
		name  string
		lines []string
		want  Directives
	}{
		{"nothing", nil, Directives{}},
		{"empty", []string{""}, Directives{}},
		{"all", []string{"all"}, Directives{}},
		{"two", []string{"noindex, nofollow"}, Directives{NoIndex: true, NoFollow: true}},
		{"none", []string{"none"}, Directives{NoIndex: true, NoFollow: true}},
		{"any case and spacing", []string{" NoIndex ,NOARCHIVE"}, Directives{NoIndex: true, NoArchive: true}},
		{"unknown words", []string{"noodp, noydir, nofollow, max-depth: 3"}, Directives{NoFollow: true}},
		{"words without commas", []string{"noindex nofollow;nosnippet"}, Directives{NoIndex: true, NoFollow: true, NoSnippet: true}},
		{"several lines merge", []string{"noindex", "nofollow", "noimageindex, notranslate"}, Directives{NoIndex: true, NoFollow: true, NoImageIndex: true, NoTranslate: true}},
		{"for us", []string{"HeadwayBot: nofollow"}, Directives{NoFollow: true}},
		{"for us with version", []string{"headwaybot/1.0: nofollow"}, Directives{NoFollow: true}},
		{"for another bot", []string{"otherbot: noindex, nofollow"}, Directives{}},
		{"for everyone by name", []string{"robots: nofollow", "*: noindex"}, Directives{NoFollow: true, NoIndex: true}},
		{"general, then another bot", []string{"noarchive, otherbot: noindex, nofollow"}, Directives{NoArchive: true}},
		{"another bot, then us", []string{"otherbot: noindex, headwaybot: nofollow"}, Directives{NoFollow: true}},
		{"a bot's name ends with its line", []string{"otherbot: noindex", "nofollow"}, Directives{NoFollow: true}},
		{"value behind our name", []string{"headwaybot: max-snippet: 20, noindex"}, Directives{NoIndex: true, MaxSnippet: Limit{true, 20}}},
		{"value behind another name", []string{"otherbot: unavailable_after: Fri, 25 Jun 2010 15:00:00 GMT, noindex"}, Directives{}},
		{"limits", []string{"max-snippet: 10, max-video-preview:5, max-image-preview: Standard"}, Directives{MaxSnippet: Limit{true, 10}, MaxVideoPreview: Limit{true, 5}, MaxImagePreview: PreviewStandard}},
		{"strictest limits", []string{"max-snippet: 10, max-image-preview: large", "max-snippet: 3, max-image-preview: none"}, Directives{MaxSnippet: Limit{true, 3}, MaxImagePreview: PreviewNone}},
		{"no limit", []string{"max-snippet: -1, max-video-preview: -1"}, Directives{}},
		{"no limit is not stricter", []string{"max-snippet: 0", "max-snippet: -1"}, Directives{MaxSnippet: Limit{true, 0}}},
		{"no number", []string{"max-snippet: few, max-image-preview: huge"}, Directives{}},
		{"date with comma", []string{"unavailable_after: Fri, 25 Jun 2010 15:00:00 GMT, nofollow"}, Directives{NoFollow: true, UnavailableAfter: date}},
		{"date of RFC 850", []string{"unavailable_after: Friday, 25-Jun-10 15:00:00 GMT"}, Directives{UnavailableAfter: date}},
		{"date without weekday", []string{"noindex, unavailable_after: 25 Jun 2010 15:00:00 UTC"}, Directives{NoIndex: true, UnavailableAfter: date}},
		{"date in a US zone", []string{"unavailable_after: 25 Jun 2010 08:00:00 PDT"}, Directives{UnavailableAfter: date}},
		{"date of ISO 8601", []string{"unavailable_after: 2010-06-25T17:00:00+02:00"}, Directives{UnavailableAfter: date}},
		{"earliest date", []string{"unavailable_after: 2020-01-01", "unavailable_after: 2010-06-25 15:00:00"}, Directives{UnavailableAfter: date}},
		{"no date", []string{"unavailable_after: soon, nofollow"}, Directives{NoFollow: true}},
		{"broken date does not start a bot's list", []string{"unavailable_after: Fri, 99 Jun 2010 15:00:00 GMT, nofollow"}, Directives{NoFollow: true}},
		{"AI-use words", []string{"noai, noimageai"}, Directives{NoAI: true, NoImageAI: true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := ParseHeader(ourAgent, tt.lines...); got != tt.want {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

func TestParseMeta(t *testing.T) {
	tests := []struct {
		name, meta, content string
		want                Directives
	}{
		{"robots", "robots", "noindex,nofollow", Directives{NoIndex: true, NoFollow: true}},
		{"any case", "ROBOTS", "None", Directives{NoIndex: true, NoFollow: true}},
		{"us", " HeadwayBot ", "nofollow", Directives{NoFollow: true}},
		{"another bot", "googlebot", "nofollow", Directives{}},
		{"not about robots", "description", "nofollow", Directives{}},
		{"no name", "", "nofollow", Directives{}},
		{"line breaks", "robots", "noindex,\n\tnofollow", Directives{NoIndex: true, NoFollow: true}},
		{"a colon starts no list", "robots", "googlebot: noindex, nofollow", Directives{NoFollow: true}},
		{"limit", "robots", "max-snippet:-1, max-image-preview:large, max-video-preview:-1", Directives{MaxImagePreview: PreviewLarge}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := ParseMeta(ourAgent, tt.meta, tt.content); got != tt.want {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

func TestIndexable(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	d := Directives{UnavailableAfter: at}
	if !d.Indexable(at.Add(-1)) || d.Indexable(at) || (Directives{NoIndex: true}).Indexable(at) || !(Directives{}).Indexable(at) {
		t.Error("indexable at the wrong times")
	}
}

func FuzzDirectives(f *testing.F) {
	for _, s := range []string{
		"noindex, nofollow", "otherbot: none, headwaybot: nofollow", "unavailable_after: Fri, 25 Jun 2010 15:00:00 GMT, none",
		"max-snippet: 10", "headwaybot:max-image-preview:none;noai", ":,:,", "unavailable_after:,,,",
	} {
		f.Add(s, "nofollow")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		x, y := ParseHeader(ourAgent, a), ParseHeader(ourAgent, b)
		both := ParseHeader(ourAgent, a, b)
		if both != x.Merge(y) {
			t.Fatalf("two lines give %+v, merged one by one %+v", both, x.Merge(y))
		}
		if x.Merge(y) != y.Merge(x) || x.Merge(x) != x {
			t.Fatalf("merging is not symmetric: %+v and %+v", x, y)
		}
		if ParseMeta(ourAgent, "otherbot", a) != (Directives{}) {
			t.Fatal("another bot's element spoke to us")
		}
		m := ParseMeta(ourAgent, "robots", a)
		if m.Merge(m) != m {
			t.Fatalf("%+v", m)
		}
		ParseSignal(ContentUsage, a)
		if s := ParseSignal(ContentSignal, b); len(s.Text) > maxSignalText {
			t.Fatalf("a signal of %d bytes", len(s.Text))
		}
	})
}

// TestAIUse lists the directives that are AI-use signals.
func TestAIUse(t *testing.T) {
	for content, want := range map[string]struct {
		words    string
		training Stance
	}{
		"noindex, nofollow":         {"", Unstated},
		"NoAI":                      {"noai", Refuses},
		"noai, noimageai":           {"noai, noimageai", Refuses},
		"noimageai":                 {"noimageai", Unstated},
		"nocache":                   {"noarchive", Unstated},
		"noarchive noai noindex":    {"noai, noarchive", Refuses},
		"max-snippet:5, noarchive;": {"noarchive", Unstated},
	} {
		if words, training := ParseMeta(ourAgent, "robots", content).AIUse(); words != want.words || training != want.training {
			t.Errorf("%q: %q, %s", content, words, training)
		}
	}
	if words, _ := ParseHeader(ourAgent, "otherbot: noai", "noarchive").AIUse(); words != "noarchive" {
		t.Errorf("the signals of another bot count: %q", words)
	}
}
