package service_test

import (
	"context"
	"errors"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"headway/client"
	"headway/internal/archive"
	"headway/job"
	"headway/output"
	"headway/service"
	"headway/store"
	"headway/store/postgres"
	"headway/visit"
)

// TestRaw reads what a server sent for a page: as a file that no browser opens, and for this
// tenant only. A response that is gone from the archive is a problem of its own.
func TestRaw(t *testing.T) {
	t.Parallel()
	st, dir := openStore(t), t.TempDir()
	kept := openArchive(t, st, dir)
	const page, bare, sent = "https://news.example/article", "https://news.example/bare", "<script>alert(1)</script>"
	id := keptRaw(t, st, kept, "acme", page, bare, sent)
	s, without := start(t, service.Config{Store: st, Archive: kept}), start(t, service.Config{Store: st})
	c := s.client(key(t, st, "acme", store.ScopeRead))
	code := func(c *client.Client, u string) string {
		t.Helper()
		_, err := c.GetContent(t.Context(), int64(id), client.GetContentParams{URL: u, As: "raw"})
		return codeOf(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.base+"/v1/jobs/1/content?as=raw&url="+url.QueryEscape(page), nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+key(t, st, "acme", store.ScopeRead))
	a, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	body, err := io.ReadAll(a.Body)
	if err != nil || string(body) != sent || a.StatusCode != http.StatusOK {
		t.Errorf("%d: %q, %v", a.StatusCode, body, err)
	}
	for name, want := range map[string]string{"Content-Type": "application/octet-stream", "Content-Disposition": "attachment", "X-Content-Type-Options": "nosniff"} {
		if a.Header.Get(name) != want {
			t.Errorf("%s: %q", name, a.Header.Get(name))
		}
	}
	if !strings.Contains(strings.Join(a.Header.Values("Content-Security-Policy"), " "), "sandbox") {
		t.Errorf("sent with %v", a.Header)
	}
	if got := code(c, bare); got != "content_not_kept" {
		t.Errorf("a page without: %s", got)
	}
	if got := code(s.client(key(t, st, "byte", store.ScopeRead)), page); got != "not_found" {
		t.Errorf("another tenant: %s", got)
	}
	if got := code(without.client(key(t, st, "acme", store.ScopeRead)), page); got != "content_not_kept" {
		t.Errorf("a server without an archive: %s", got)
	}
	segments, err := filepath.Glob(filepath.Join(dir, "fleet-*", "job-1", "*"))
	if err != nil || len(segments) != 1 || os.Remove(segments[0]) != nil {
		t.Fatalf("segments %v, %v", segments, err)
	}
	if got := code(c, page); got != "content_not_kept" {
		t.Errorf("a response that is gone: %s", got)
	}
}

// openArchive opens an archive in a folder.
func openArchive(t *testing.T, st *postgres.Store, dir string) *archive.Archive {
	t.Helper()
	kept, err := archive.Open(t.Context(), archive.Config{To: dir, Fleet: st.Key()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(kept.Close)
	return kept
}

// TestRawRefused creates jobs and schedules with raw responses on a server without an archive,
// which refuses them at once, and on one with an archive.
func TestRawRefused(t *testing.T) {
	t.Parallel()
	st := openStore(t)
	kept := openArchive(t, st, t.TempDir())
	k, without, with := key(t, st, "acme", store.ScopeWrite), start(t, service.Config{Store: st}), start(t, service.Config{Store: st, Archive: kept})
	crawl := func(raw, dry bool) map[string]any {
		return map[string]any{"seeds": []string{"https://example.com/"}, "raw": raw, "dry_run": dry}
	}
	var made struct{ ID string }
	without.ask("POST", "/v1/schedules", k, map[string]any{"job": crawl(false, false), "cron": "@yearly"}).read(t, http.StatusCreated, &made)
	for _, tt := range []struct {
		method, path string
		body         map[string]any
		status       int // with an archive
	}{
		{"POST", "/v1/jobs", crawl(true, false), http.StatusCreated},
		{"POST", "/v1/schedules", map[string]any{"job": crawl(true, false), "cron": "@daily"}, http.StatusCreated},
		{"PATCH", "/v1/schedules/" + made.ID, map[string]any{"job": crawl(true, false)}, http.StatusOK},
	} {
		var refused struct{ Code, Hint string }
		without.ask(tt.method, tt.path, k, tt.body).read(t, http.StatusConflict, &refused)
		if refused.Code != "no_archive" || !strings.Contains(refused.Hint, "headway serve --archive") {
			t.Errorf("%s %s: %+v", tt.method, tt.path, refused)
		}
		with.ask(tt.method, tt.path, k, tt.body).read(t, tt.status, nil)
	}
	without.ask("POST", "/v1/jobs", k, crawl(true, true)).read(t, http.StatusCreated, nil) // fetches no pages
}

// keptRaw adds a job with a page whose response is in the archive and one without.
func keptRaw(t *testing.T, st *postgres.Store, to *archive.Archive, tenant, page, bare, sent string) job.ID {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx, now := t.Context(), store.Stored(time.Now())
	id, err := st.CreateJob(ctx, store.Job{Tenant: tenant, Name: "raw", State: job.Running, CreatedAt: now, Spec: []byte(`{"seeds":["https://news.example/"]}`)})
	check(err)
	item := func(raw string) visit.Item {
		return visit.Item{URL: mustURL(t, raw), Job: id, Found: visit.FoundSeed}
	}
	const segment = "job-1/1.warc.gz"
	data, err := to.Begin(segment, now)
	check(err)
	records, length, err := to.Records(ctx, &output.Exchange{
		Purpose: output.ForPage, Item: item(page), Timing: visit.Timing{Sent: now}, Status: 200,
		Request: []byte("GET /article HTTP/1.1\r\n\r\n"), Response: []byte("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"), Body: []byte(sent),
	})
	check(err)
	at := visit.Archived{Segment: segment, Offset: int64(len(data)), Length: length}
	data = append(data, records...)
	check(to.Put(ctx, segment, data))
	_, err = st.Add(ctx, now, []store.Found{{Item: item(page)}, {Item: item(bare)}})
	check(err)
	w, err := st.Join(ctx, now, "w")
	check(err)
	leases, err := st.Acquire(ctx, now, w, store.SlotCount)
	check(err)
	_, err = st.Commit(ctx, store.Commit{
		Worker: w, Number: 1, At: now, Leases: leases, Segments: []store.Segment{{Key: segment, Job: id, Bytes: int64(len(data))}},
		Visits: []visit.Visit{
			{Item: item(page), Outcome: visit.Fetched, Answer: visit.Answer{Status: 200, Archived: at}},
			{Item: item(bare), Outcome: visit.Fetched, Answer: visit.Answer{Status: 200}},
		},
	})
	check(err)
	check(st.Leave(ctx, w))
	return id
}

// codeOf is the code of a problem; empty for any other error.
func codeOf(err error) string {
	p, _ := errors.AsType[*client.Problem](err)
	if p == nil {
		return ""
	}
	return p.Code
}

// TestServiceRawInBrowser opens a raw response that is both a page and a script with a real browser,
// on the origin of the API: as a page, in a frame and as a script. None of it runs.
func TestServiceRawInBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser")
	}
	t.Parallel()
	st := openStore(t)
	kept := openArchive(t, st, t.TempDir())
	const page, sent = "https://news.example/article", `/*<script>fetch("/ran")</script>*/fetch("/ran")`
	keptRaw(t, st, kept, "acme", page, "https://news.example/bare", sent)
	s := start(t, service.Config{Store: st, Archive: kept})
	api, err := url.Parse(s.base)
	if err != nil {
		t.Fatal(err)
	}
	k, raw := key(t, st, "acme", store.ScopeRead), "/v1/jobs/1/content?as=raw&url="+url.QueryEscape(page)
	// What the browser opens comes from the origin of the API, and what it requests there
	// has a key.
	const later = `setTimeout(() => fetch("/later"), 1000)` // enough for what was loaded to run
	pages := map[string]string{
		"/frame":  `<iframe src="` + raw + `"></iframe><script>` + later + `</script>`,
		"/script": `<script src="` + raw + `"></script><script>` + later + `</script>`,
		"/page":   `<script>` + later + `; location = "` + raw + `"</script>`,
		"/itself": sent,
	}
	asked := make(chan string, 100)
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(api)
		r.Out.Header.Set("Authorization", "Bearer "+k)
	}, ErrorLog: log.New(io.Discard, "", 0)} // the browser is killed
	origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Path
		if html, ok := pages[r.URL.Path]; ok {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, html) // an error is the browser's, which then requests nothing
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	defer origin.Close()
	for path, want := range map[string][]string{
		"/frame":  {"/frame", "/later", "/v1/jobs/1/content"},
		"/script": {"/later", "/script", "/v1/jobs/1/content"},
		"/page":   {"/later", "/page", "/v1/jobs/1/content"},
		"/itself": {"/itself", "/ran"}, // as a page of the origin it runs
	} {
		closeBrowser := openBrowser(t, origin.URL+path)
		got := map[string]bool{}
		for len(got) < len(want) {
			select {
			case path := <-asked:
				got[path] = true
			case <-time.After(time.Minute): // the browser did not start
				t.Fatalf("%s requests %v, want %v", path, got, want)
			}
			delete(got, "/favicon.ico")
		}
		closeBrowser()
		for len(asked) > 0 {
			got[<-asked] = true
		}
		delete(got, "/favicon.ico")
		if list := slices.Sorted(maps.Keys(got)); !slices.Equal(list, want) {
			t.Errorf("%s requests %v, want %v", path, list, want)
		}
	}
}

// openBrowser opens an address in headless Chromium.
func openBrowser(t *testing.T, address string) (closeBrowser func()) {
	t.Helper()
	name, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatalf("this test needs Chromium, which .ci/run installs: %v", err)
	}
	dir, err := os.MkdirTemp("", "browser") // not t.TempDir: its processes write there until all are dead
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	cmd := exec.CommandContext(ctx, name, "--headless=new", "--no-sandbox", "--disable-gpu", "--user-data-dir="+filepath.Join(dir, "profile"), address)
	cmd.Dir = dir
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return func() {
		stop()
		_ = cmd.Wait()        // it was killed
		_ = os.RemoveAll(dir) // as above
	}
}
