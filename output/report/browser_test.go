package report_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"headway/internal/humanize"
	"headway/job"
	"headway/output/report"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// large is a generated crawl of this many pages.
type large struct {
	*crawl
	pages int
}

func (l *large) Counts(ctx context.Context, _ job.ID) (store.Counts, error) {
	return store.Counts{Ended: map[store.Ending]int64{{Outcome: visit.Fetched}: int64(l.pages)}}, ctx.Err()
}

func (l *large) List(ctx context.Context, q store.Query) (store.Page, error) {
	from := 0
	if q.After != "" {
		if _, err := fmt.Sscan(string(q.After), &from); err != nil {
			return store.Page{}, err
		}
	}
	to := min(from+q.Max, l.pages)
	c := &crawl{}
	for i := from; i < to; i++ {
		at := fmt.Sprintf("https://host%d.example/section-%d/a-page-with-a-name-of-usual-length-%d.html", i%97, i%31, i)
		long := func(v *visit.Visit) {
			v.Page.Title, v.Page.Digest = fmt.Sprintf("The title of page %d, as long as titles tend to be", i/3), fmt.Sprint("text", i/2)
			v.Item.Via, v.Timing.Sent = mustURL("https://host1.example/somewhere/on-the-way"), begin.Add(time.Duration(i)*100*time.Millisecond)
		}
		switch i % 10 {
		case 0:
			c.add(at, visit.Dead, "", long)
		case 1:
			c.add(at, visit.Redirected, "", long, func(v *visit.Visit) { v.Answer.Location = mustURL("https://host1.example/target") })
		case 2:
			c.add(at, visit.Failed, visit.Timeout, long, func(v *visit.Visit) { v.Detail = "no answer within 30 s" })
		case 3:
			c.add(at, visit.Skipped, visit.RobotsDisallow)
		default:
			c.add(at, visit.Fetched, "", long)
		}
	}
	page := store.Page{Entries: c.entries}
	if to < l.pages {
		page.Next = store.Cursor(fmt.Sprint(to))
	}
	return page, ctx.Err()
}

func mustURL(raw string) weburl.URL {
	u, err := weburl.Parse(raw)
	if err != nil {
		panic(err)
	}
	return u
}

// file writes the report of a large crawl.
func file(t *testing.T, pages int) (path string, r *report.Report) {
	t.Helper()
	r, err := report.Collect(t.Context(), &large{everything(), pages}, 1, report.Options{Title: "a large crawl", Version: "test", Now: begin})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path, r
}

// browser runs headless Chromium and returns its output.
func browser(t *testing.T, args ...string) string {
	t.Helper()
	name, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatalf("this test needs Chromium, which .ci/run installs: %v", err)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, name, append([]string{
		"--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--enable-logging=stderr", "--user-data-dir=" + filepath.Join(t.TempDir(), "profile"),
	}, args...)...)
	var errs strings.Builder
	cmd.Stderr = &errs
	b, err := cmd.Output()
	if err != nil {
		t.Fatalf("chromium: %v\n%s", err, &errs)
	}
	for line := range strings.Lines(errs.String()) {
		if strings.Contains(line, "CONSOLE") {
			t.Errorf("the browser complains: %s", line)
		}
	}
	return string(b)
}

// watch writes into the title when the page was loaded and laid out, in milliseconds since
// the request.
const watch = `addEventListener("load", () => { document.body.getBoundingClientRect(); document.title = "opened " + performance.now(); });`

// opened opens a page that has [watch] and returns its DOM and the milliseconds until it was
// laid out.
func opened(t *testing.T, path string) (dom string, ms float64) {
	t.Helper()
	dom = browser(t, "--dump-dom", "file://"+path)
	if _, err := fmt.Sscanf(titleOf(t, dom), "opened %g", &ms); err != nil {
		t.Fatal(err)
	}
	return dom, ms
}

// TestBrowser opens the report of 20,000 pages in a real browser: it is small, the script
// runs under the page's own policy and shows the start of each table, and everything is
// there within a second; on a busy machine, within ten times what an empty page takes.
func TestBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser on a report of 20,000 pages")
	}
	path, r := file(t, 20_000)
	page, err := os.ReadFile(path)
	if err != nil || len(page) > 5<<20 {
		t.Errorf("%d bytes, %v", len(page), err)
	}
	if err := os.WriteFile(path, []byte(with(string(page), watch)), 0o600); err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(t.TempDir(), "empty.html")
	if err := os.WriteFile(empty, []byte("<!DOCTYPE html><title></title><body><script>"+watch+"</script>"), 0o600); err != nil {
		t.Fatal(err)
	}
	var dom string
	best, within := math.Inf(1), 1000.0 // other load can only make it slower
	for n := 0; n < 15 && best > within; n++ {
		var ms float64
		dom, ms = opened(t, path)
		best = min(best, ms)
		if best > within {
			_, ms = opened(t, empty)
			within = max(within, 10*ms)
		}
	}
	t.Logf("%.1f MB, opened in %.0f ms, allowed %.0f", float64(len(page))/(1<<20), best, within)
	if best > within {
		t.Errorf("opening it takes %.0f ms, want at most %.0f", best, within)
	}
	want := 0
	for _, table := range r.Tables {
		if n := len(table.Rows); n > 0 {
			want += 1 + min(n, 25) // and a header row
			if says := fmt.Sprintf("%d of %s rows</output>", min(n, 25), humanize.Count(int64(n))); !strings.Contains(dom, says) {
				t.Errorf("%s does not say %q", table.ID, says)
			}
		}
	}
	if got := strings.Count(dom, "<tr>"); got != want || want == 0 {
		t.Errorf("%d rows are shown, want %d", got, want)
	}
}
