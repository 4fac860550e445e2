package outputtest

import (
	"testing"
	"time"

	"headway/output"
	"headway/visit"
	"headway/weburl"
)

// URL parses a valid URL.
func URL(t testing.TB, raw string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// Full is a visit with every field set that a format may write. Tests change what is
// special to their format.
func Full(t testing.TB) *visit.Visit {
	t.Helper()
	at := time.Date(2026, 11, 15, 10, 0, 0, 123456789, time.FixedZone("", 3600))
	return &visit.Visit{
		Item: visit.Item{
			Job: 9, URL: URL(t, `https://example.com/b?a,b`), Via: URL(t, "https://example.com/a"), Found: visit.FoundRedirect,
			Depth: 2, Hops: 1, Attempt: 1,
		},
		Outcome: visit.Failed, Reason: visit.Parse, Detail: "odd\x7f\xff",
		Answer: visit.Answer{
			Status: 200, Protocol: "HTTP/2.0", Remote: "192.0.2.1:443", ContentType: "text/html", Location: URL(t, "https://example.com/c"),
			RetryAfter: "5", Validators: visit.Validators{ETag: `W/"y"`, LastModified: "Sun, 15 Nov 2026 10:00:00 GMT"}, WireBytes: 10, DecodedBytes: 20,
			Cache: visit.Cache{Verdict: visit.CacheExpired, By: "X-Cache: EXPIRED", Age: 7 * time.Second, Barred: "Vary: *"},
		},
		Timing: visit.Timing{Sent: at, FirstByte: 1234567, Total: time.Second},
		Page: visit.Page{
			Title: "<b>\u2028", Description: "two\nlines", Canonical: URL(t, "https://example.com/b"), Language: "en", Charset: "utf-8",
			Robots: []string{"noindex", "nofollow"}, Digest: "ab", SimHash: 0xfedcba9876543210,
			Content: &visit.Content{
				Text: "One.\n\nTwo \xff.", Markdown: "# One\n\nTwo.", Author: "A. Writer", Published: "2026-11-15", Words: 2, Digest: "cd", Cut: true,
				Fields: `{"price":9.5,"tags":["a","<b>"]}`, FieldProblems: `{"date":"none"}`,
			},
			Signals: []visit.Signal{
				{Source: visit.SignalRobots, Line: 2, Text: "content-signal: ai-train=no", Training: visit.TrainingRefused},
				{Source: visit.SignalMeta, Text: "robots: noimageai"},
			},
		},
		Links: []visit.Link{{URL: URL(t, "https://example.com/c"), Kind: "a", Nofollow: true}},
		Evidence: []visit.Evidence{
			{Kind: visit.RobotsAllowed, At: at, Rule: "Allow: /", Line: 3, Group: "*", Source: "sha", SourceAt: at, Confidence: visit.High, Note: "n"},
			{Kind: visit.Override, At: at},
		},
	}
}

// BenchmarkAdd adds a visit to a draft.
func BenchmarkAdd(b *testing.B, d output.Draft) {
	if err := d.Begin(); err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := d.Drop(); err != nil {
			b.Error(err)
		}
	}()
	v := Visit(0)
	b.ReportAllocs()
	for b.Loop() {
		if err := d.Add(v); err != nil {
			b.Fatal(err)
		}
	}
}
