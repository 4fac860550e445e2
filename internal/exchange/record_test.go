package exchange

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"headway/fetch"
	"headway/visit"
)

// TestCacheAnswer records each cache verdict by its own name, and counts only responses of
// the host itself as its latency.
func TestCacheAnswer(t *testing.T) {
	for word, want := range map[string]struct {
		verdict visit.CacheVerdict
		latency bool
	}{
		"HIT":         {visit.CacheHit, false},
		"STALE":       {visit.CacheStale, false},
		"REVALIDATED": {visit.CacheRevalidated, true},
		"EXPIRED":     {visit.CacheExpired, true},
		"MISS":        {visit.CacheMiss, true},
		"BYPASS":      {visit.CacheBypass, true},
		"DYNAMIC":     {visit.CacheDynamic, true},
		"":            {"", true},
	} {
		t.Run(word, func(t *testing.T) {
			res := &fetch.Result{Status: 200, Header: http.Header{}, Timing: fetch.Timing{FirstByte: time.Second}}
			if word != "" {
				res.Header.Set("Cf-Cache-Status", word)
			}
			got := cacheAnswer(res.Header)
			if got.Verdict != want.verdict || got.Check() != nil {
				t.Errorf("recorded as %q, want %q", got.Verdict, want.verdict)
			}
			if a := politeAnswer(res, nil, false, time.Now()); (a.Latency > 0) != want.latency {
				t.Errorf("a response time of %v counts", a.Latency)
			}
			if word != "" && !slices.Contains(visit.CacheVerdicts, got.Verdict) {
				t.Errorf("%q is not in the closed set", got.Verdict)
			}
		})
	}
}

// TestUnexpectedNotModified covers a 304 response to an unconditional request.
func TestUnexpectedNotModified(t *testing.T) {
	for _, known := range []visit.Validators{{}, {ETag: `"a"`}} {
		v := &visit.Visit{Item: visit.Item{Validators: known}}
		record(v, reading{res: &fetch.Result{Status: 304, Header: http.Header{}}, at: time.Now()})
		want := visit.NotModified
		if known == (visit.Validators{}) {
			want = visit.Failed
		}
		if v.Outcome != want {
			t.Errorf("304 with %+v: %s, want %s", known, v.Outcome, want)
		}
	}
}
