package visit

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"headway/weburl"
)

func mustURL(t testing.TB, raw string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// whole is a visit with every field set, so that the round trip fails if the encoding misses a field.
func whole(t testing.TB) *Visit {
	at := time.Date(2026, 11, 15, 10, 0, 0, 123456789, time.UTC)
	return &Visit{
		Item: Item{
			Job: 9, URL: mustURL(t, "https://example.com/b"), Via: mustURL(t, "https://example.com/a"), Found: FoundRedirect,
			Depth: 2, Hops: 1, Chain: []uint64{1 << 63, 7}, Priority: 5, Attempt: 1,
			NotBefore: at, Validators: Validators{ETag: `W/"x"`, LastModified: "Sun, 15 Nov 2026 10:00:00 GMT"},
		},
		Outcome: Redirected, Detail: "moved",
		Answer: Answer{
			Status: 301, Protocol: "HTTP/2.0", Remote: "192.0.2.1:443", ContentType: "text/html", Location: mustURL(t, "https://example.com/c"),
			RetryAfter: "5", Validators: Validators{ETag: `"y"`}, WireBytes: 10, DecodedBytes: 20,
			Cache: Cache{Verdict: CacheMiss, By: "X-Cache: MISS", Age: 3, Barred: "Set-Cookie"},
		},
		Timing: Timing{Sent: at, DNS: 1, Connect: 2, TLS: 3, Send: 6, FirstByte: 4, Total: 5, Reused: true},
		Page: Page{
			Title: "<b>\u2028", Description: "d", Canonical: mustURL(t, "https://example.com/b"), Language: "en", Charset: "utf-8",
			Robots: []string{"noindex"}, Digest: "ab", SimHash: 1<<64 - 1,
		},
		Links: []Link{{URL: mustURL(t, "https://example.com/c"), Kind: "a", Nofollow: true}},
		Evidence: []Evidence{{
			Kind: RobotsAllowed, At: at, Rule: "Allow: /", Line: 3, Group: "*", CrawlDelayMS: 8, Source: "sha", SourceAt: at, Confidence: High, Note: "n",
		}},
	}
}

// TestJSON encodes and decodes a visit as stores and programs do.
func TestJSON(t *testing.T) {
	in := whole(t)
	data, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	out := new(Visit)
	if err := json.Unmarshal(data, out); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(in, out, cmp.Comparer(func(a, b weburl.URL) bool { return a == b })); diff != "" {
		t.Error(diff)
	}
}

func TestCheck(t *testing.T) {
	for name, tc := range map[string]struct {
		outcome Outcome
		reason  Reason
		wait    Wait
		ok      bool
	}{
		"fetched":                       {Fetched, "", "", true},
		"skipped with its reason":       {Skipped, RobotsDisallow, "", true},
		"skipped without reason":        {Skipped, "", "", false},
		"skipped with a failed reason":  {Skipped, DNS, "", false},
		"failed with its reason":        {Failed, DNS, "", true},
		"fetched with a reason":         {Fetched, DNS, "", false},
		"pending with a wait":           {Pending, "", WaitPace, true},
		"pending without a wait":        {Pending, "", "", false},
		"pending with an unknown wait":  {Pending, "", "boredom", false},
		"fetched and waiting":           {Fetched, "", WaitPace, false},
		"no outcome":                    {"", "", "", false},
		"dns as a wait of pending":      {Pending, "", WaitDNS, true},
		"parse as a reason, not a wait": {Failed, Parse, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			if err := Check(tc.outcome, tc.reason, tc.wait); (err == nil) != tc.ok {
				t.Errorf("got %v, want ok %v", err, tc.ok)
			}
		})
	}
	v := whole(t)
	v.Answer.Location = weburl.URL{}
	if v.Check() == nil {
		t.Error("a redirect to nowhere was accepted")
	}
	v = whole(t)
	v.Answer.Cache.Verdict = "luck"
	if v.Check() == nil {
		t.Error("an unknown verdict of a cache was accepted")
	}
	if (&Visit{Outcome: Fetched}).Check() == nil {
		t.Error("a visit without a URL was accepted")
	}
}

// TestClosedSets pins the values: they are stored, shown and matched by others.
func TestClosedSets(t *testing.T) {
	join := func(n int, at func(int) string) string {
		var words []string
		for i := range n {
			words = append(words, at(i))
		}
		return strings.Join(words, " ")
	}
	for name, tc := range map[string]struct{ got, want string }{
		"outcomes": {
			join(len(Outcomes), func(i int) string { return string(Outcomes[i]) }),
			"fetched not_modified redirected dead server_error throttled blocked skipped deferred failed pending",
		},
		"skipped": {
			join(len(Reasons[Skipped]), func(i int) string { return string(Reasons[Skipped][i]) }),
			"robots_disallow robots_unreachable crawl_delay_too_long out_of_scope excluded duplicate_content depth trap_path trap_query non_document nofollow private_address bad_port budget_bytes budget_host opted_out",
		},
		"failed": {
			join(len(Reasons[Failed]), func(i int) string { return string(Reasons[Failed][i]) }),
			"dns connect tls timeout too_large truncated bad_encoding protocol parse redirect_loop host_parked quarantined",
		},
		"caches": {
			join(len(CacheVerdicts), func(i int) string { return string(CacheVerdicts[i]) }),
			"hit stale revalidated expired miss bypass dynamic",
		},
		"waits": {
			join(len(Waits), func(i int) string { return string(Waits[i]) }),
			"pace crawl_delay hold in_flight domain_interval address_interval robots dns workers parse cpu disk database storage budget network lease idle",
		},
	} {
		if tc.got != tc.want {
			t.Errorf("%s:\n got %s\nwant %s", name, tc.got, tc.want)
		}
	}
}

func TestOfStatus(t *testing.T) {
	for status, want := range map[int]Outcome{
		200: Fetched, 204: Fetched, 301: Redirected, 308: Redirected, 304: NotModified, 404: Dead, 410: Dead, 400: Dead,
		401: Blocked, 403: Blocked, 451: Blocked, 408: ServerError, 429: Throttled, 503: Throttled, 500: ServerError,
		502: ServerError, 520: ServerError, 0: Failed, 101: Failed, 600: Failed, 999: Failed,
	} {
		got, reason := OfStatus(status)
		if got != want {
			t.Errorf("%d: %s, want %s", status, got, want)
		}
		if err := Check(got, reason, ""); err != nil {
			t.Errorf("%d: %v", status, err)
		}
	}
}

func TestFollow(t *testing.T) {
	key := weburl.Key{1}
	start := Item{URL: mustURL(t, "https://example.com/0"), Job: 4, Found: FoundLink, Depth: 3, Priority: 2}
	it := start
	for i := 1; i <= MaxHops; i++ {
		next, ok := it.Follow(mustURL(t, "https://example.com/"+strings.Repeat("x", i)), key)
		if !ok {
			t.Fatalf("hop %d refused", i)
		}
		if next.Job != 4 || next.Depth != 3 || next.Hops != i || next.Via != it.URL || next.Found != FoundRedirect || len(next.Chain) != i {
			t.Fatalf("hop %d: %+v", i, next)
		}
		it = next
	}
	if _, ok := it.Follow(mustURL(t, "https://example.com/eleven"), key); ok {
		t.Error("an 11th hop was followed")
	}
	one, ok := start.Follow(mustURL(t, "https://example.com/a"), key)
	if !ok {
		t.Fatal("first hop refused")
	}
	for name, target := range map[string]weburl.URL{"back to the start": start.URL, "to itself": one.URL} {
		if _, ok := one.Follow(target, key); ok {
			t.Errorf("a redirect %s was followed", name)
		}
	}
	// Two targets of one item must not share a chain's memory.
	a, _ := one.Follow(mustURL(t, "https://example.com/p"), key)
	b, _ := one.Follow(mustURL(t, "https://example.com/q"), key)
	a.Chain[1], b.Chain[1] = 1, 2
	if a.Chain[1] != 1 {
		t.Error("chains share memory")
	}
}

func TestRedact(t *testing.T) {
	for in, want := range map[string]string{
		"https://example.com/a":                             "https://example.com/a",
		"https://example.com/?q=1&access_token=abc&b":       "https://example.com/?q=1&access_token=REDACTED&b",
		"https://example.com/?apiKey=1&api_key=2&API-KEY=3": "https://example.com/?apiKey=REDACTED&api_key=REDACTED&API-KEY=REDACTED",
		"https://example.com/?X-Amz-Signature=ff":           "https://example.com/?X-Amz-Signature=REDACTED",
		"https://example.com/?tokenizer=1&keyboard=2":       "https://example.com/?tokenizer=1&keyboard=2",
		"https://example.com/?token=&sid":                   "https://example.com/?token=&sid",
		"https://example.com/?a=x=token":                    "https://example.com/?a=x=token",
		"https://example.com/?q=token&token=q":              "https://example.com/?q=token&token=REDACTED",
	} {
		if got := Redact(mustURL(t, in)); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}
