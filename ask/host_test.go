package ask_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"headway/ask"
	"headway/politeness"
)

// TestHostOf lets a host refuse, serve, refuse a faster pace and fail, and checks its
// description under the stable JSON keys.
func TestHostOf(t *testing.T) {
	p, _ := politeness.Preset("warm")
	p.Jitter = 0
	s := politeness.New("https://shop.example").WithCrawlDelay(200 * time.Millisecond)
	now := time.Date(2026, 11, 15, 10, 0, 0, 0, time.UTC)
	answered := func(a politeness.Answer) {
		t.Helper()
		for w := p.Admit(s, now); !w.Until.IsZero() && w.Until.After(now); w = p.Admit(s, now) {
			now = w.Until
		}
		s = p.Sent(s, now)
		a.SentAt = now
		now = now.Add(20 * time.Millisecond)
		s, _ = p.Observe(s, now, a)
	}
	look := func() map[string]any {
		t.Helper()
		text, err := json.Marshal(ask.HostOf("https://shop.example", p, s))
		if err != nil {
			t.Fatal(err)
		}
		var keys map[string]any
		if err := json.Unmarshal(text, &keys); err != nil {
			t.Fatal(err)
		}
		return keys
	}
	want := func(keys map[string]any) {
		t.Helper()
		got := look()
		for k, v := range keys {
			if diff := cmp.Diff(v, got[k]); diff != "" {
				t.Errorf("%s: %s", k, diff)
			}
		}
	}
	served := politeness.Answer{Status: 200, Latency: 20 * time.Millisecond}

	want(map[string]any{"pace_seconds": 0.5, "source": "base", "base_seconds": 0.5, "crawl_delay_seconds": 0.2, "clean": 0.0, "refusing": nil, "held_until": nil})
	answered(politeness.Answer{Status: 429})
	want(map[string]any{
		"pace_seconds": 1.5, "source": "learned", "learned_seconds": 1.5, "refusing": true, "clean": 0.0,
		"held_until": now.Add(time.Second).Format(time.RFC3339Nano), "last_incident_at": now.Format(time.RFC3339Nano),
	})
	for range 20 {
		answered(served)
	}
	want(map[string]any{"pace_seconds": 1.0, "refusing": nil})
	answered(politeness.Answer{Status: 429})
	want(map[string]any{"pace_seconds": 1.5, "floor_seconds": 1.0, "refusing": true})
	answered(served)
	answered(politeness.Answer{Status: 500})
	answered(politeness.Answer{Status: 500})
	want(map[string]any{"failures": 2.0, "refusing": nil})
}
