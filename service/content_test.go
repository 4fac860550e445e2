package service_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"headway/answer"
	"headway/client"
	"headway/job"
	"headway/service"
	"headway/store"
	"headway/store/postgres"
	"headway/visit"
)

// TestContent reads what a page says: its text, its Markdown and its links, each with its
// type and for this tenant only. What was not kept is a problem of its own.
func TestContent(t *testing.T) {
	t.Parallel()
	s := start(t, service.Config{Store: openStore(t)})
	const page, bare = "https://news.example/article", "https://news.example/bare"
	id := keptContent(t, s.st, "acme", page, bare)
	c, ctx := s.client(key(t, s.st, "acme", store.ScopeRead)), t.Context()
	read := func(u, as string) (string, error) {
		body, err := c.GetContent(ctx, int64(id), client.GetContentParams{URL: u, As: as})
		if err != nil {
			return "", err
		}
		defer body.Close()
		text, err := io.ReadAll(body)
		return string(text), err
	}
	for as, want := range map[string]string{"": "<script>Words</script> of it", "text": "<script>Words</script> of it", "markdown": "# Title\n\nWords of it"} {
		if text, err := read(page, as); err != nil || text != want {
			t.Errorf("as %q: %q, %v", as, text, err)
		}
	}
	text, err := read(page, "links")
	var links answer.Links
	if err == nil {
		err = json.Unmarshal([]byte(text), &links)
	}
	if err != nil || links.Out == nil || len(links.Out.Links) != 1 || links.Out.Links[0].Anchor != "elsewhere" {
		t.Errorf("links %q, %v", text, err)
	}
	for _, x := range []struct{ url, as, code string }{
		{bare, "text", "content_not_kept"},
		{bare, "links", "content_not_kept"},
		{"https://news.example/unseen", "text", "not_found"},
		{"https://news.example/unseen", "links", "not_found"},
		{"no url", "text", "invalid_value"},
		{page, "raw", "content_not_kept"},
		{"https://news.example/unseen", "raw", "not_found"},
		{page, "pdf", "invalid_value"},
	} {
		_, err := read(x.url, x.as)
		if p, ok := errors.AsType[*client.Problem](err); !ok || p.Code != x.code || p.Hint == "" {
			t.Errorf("%s of %s: %+v, want %s", x.as, x.url, err, x.code)
		}
	}
	other := s.client(key(t, s.st, "byte", store.ScopeRead))
	if _, err := other.GetContent(ctx, int64(id), client.GetContentParams{URL: page}); err == nil {
		t.Error("another tenant reads it")
	}

	// A browser that opens it runs nothing and guesses nothing.
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+"/v1/jobs/1/content?url="+url.QueryEscape(page), nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+key(t, s.st, "acme", store.ScopeRead))
	a, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	if h := a.Header; h.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(strings.Join(h.Values("Content-Security-Policy"), " "), "sandbox") || h.Get("Content-Type") != "text/plain; charset=utf-8" {
		t.Errorf("sent with %v", h)
	}
}

// keptContent adds a job with a page that says something and one that does not.
func keptContent(t *testing.T, st *postgres.Store, tenant, page, bare string) job.ID {
	t.Helper()
	now := store.Stored(time.Now())
	id, err := st.CreateJob(t.Context(), store.Job{Tenant: tenant, Name: "kept", State: job.Running, CreatedAt: now, Spec: []byte(`{"seeds":["https://news.example/"]}`)})
	if err != nil {
		t.Fatal(err)
	}
	says := visit.Visit{Item: visit.Item{URL: mustURL(t, page), Job: id, Found: visit.FoundSeed}, Outcome: visit.Fetched, Answer: visit.Answer{Status: 200}}
	says.Page.Content = &visit.Content{Text: "<script>Words</script> of it", Markdown: "# Title\n\nWords of it", Words: 3}
	says.Links = []visit.Link{{URL: mustURL(t, "https://example.org/"), Kind: "a", Anchor: "elsewhere"}}
	says.Page.Links = visit.Keep(says.Links, false)
	silent := visit.Visit{Item: visit.Item{URL: mustURL(t, bare), Job: id, Found: visit.FoundSeed}, Outcome: visit.Fetched, Answer: visit.Answer{Status: 200}}
	if _, err := st.Add(t.Context(), now, []store.Found{{Item: says.Item}, {Item: silent.Item}}); err != nil {
		t.Fatal(err)
	}
	w, err := st.Join(t.Context(), now, "w")
	if err != nil {
		t.Fatal(err)
	}
	leases, err := st.Acquire(t.Context(), now, w, store.SlotCount)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := st.Commit(t.Context(), store.Commit{Worker: w, Number: 1, At: now, Leases: leases, Visits: []visit.Visit{says, silent}}); err != nil {
		t.Fatal(err)
	}
	if err := st.Leave(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	return id
}

// TestScrapeWaits asks for a page that no worker fetches: the response names its job, also
// for a URL whose letters have several bytes.
func TestScrapeWaits(t *testing.T) {
	t.Parallel()
	s := start(t, service.Config{Store: openStore(t)})
	c := s.client(key(t, s.st, "acme", store.ScopeWrite))
	for i, u := range []string{"https://example.com/", "https://example.com/a" + strings.Repeat("é", 100)} {
		got, err := c.Scrape(t.Context(), client.ScrapeRequest{URL: u, TimeoutSeconds: new(1.0)})
		if err != nil || got.Job != int64(i+1) || got.State != "queued" || got.Page != nil {
			t.Errorf("%s: %+v, %v", u, got, err)
		}
	}
}
