package report_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"html/template"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"headway/answer"
	"headway/job"
	"headway/output/report"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

var begin = time.Date(2026, 11, 15, 9, 0, 0, 0, time.UTC)

// crawl is an in-memory crawl for reports.
type crawl struct {
	entries []store.Entry
	points  []store.Point
	paces   []store.PaceChange
	hosts   []store.HostEntry
	since   *answer.Comparison
}

func (c *crawl) Job(context.Context, job.ID) (store.Job, error) {
	return store.Job{ID: 1, State: job.Complete, Reason: "all URLs processed", CreatedAt: begin}, nil
}

func (c *crawl) Counts(context.Context, job.ID) (store.Counts, error) {
	counts := store.Counts{Ended: map[store.Ending]int64{}}
	for i := range c.entries {
		counts.Ended[store.Ending{Outcome: c.entries[i].Outcome, Reason: c.entries[i].Reason}]++
	}
	return counts, nil
}

func (c *crawl) Lookup(_ context.Context, _ job.ID, u weburl.URL) (store.Entry, error) {
	for i := range c.entries {
		if c.entries[i].Item.URL == u {
			return c.entries[i], nil
		}
	}
	return store.Entry{}, store.ErrNotFound
}

func (c *crawl) List(_ context.Context, q store.Query) (store.Page, error) {
	from := 0
	if q.After != "" {
		if _, err := fmt.Sscan(string(q.After), &from); err != nil {
			return store.Page{}, err
		}
	}
	to := min(from+q.Max, len(c.entries))
	page := store.Page{Entries: c.entries[from:to]}
	if to < len(c.entries) {
		page.Next = store.Cursor(fmt.Sprint(to))
	}
	return page, nil
}

func (c *crawl) HostList(context.Context, store.HostListQuery) (store.HostListPage, error) {
	if c.hosts != nil {
		return store.HostListPage{Hosts: c.hosts}, nil
	}
	return store.HostListPage{Hosts: []store.HostEntry{{Host: store.Host{Host: "https://shop.example", Pace: 2 * time.Second, Floor: time.Second}, Waiting: 3}}}, nil
}

func (c *crawl) PaceChanges(_ context.Context, host string) ([]store.PaceChange, error) {
	var list []store.PaceChange
	for _, ch := range c.paces {
		if ch.Host == host {
			list = append(list, ch)
		}
	}
	return list, nil
}

func (c *crawl) Points(context.Context, job.ID) ([]store.Point, error) { return c.points, nil }

// add adds a URL to the crawl.
func (c *crawl) add(raw string, o visit.Outcome, r visit.Reason, change ...func(*visit.Visit)) {
	u, err := weburl.Parse(raw)
	if err != nil {
		panic(err)
	}
	v := &visit.Visit{Item: visit.Item{URL: u}, Outcome: o, Reason: r}
	if o != visit.Skipped {
		v.Answer = visit.Answer{Status: 200, ContentType: "text/html; charset=utf-8", DecodedBytes: 1000}
		v.Timing = visit.Timing{Sent: begin.Add(time.Duration(len(c.entries)) * time.Second), FirstByte: 20 * time.Millisecond, Total: time.Duration(len(c.entries)) * time.Millisecond}
		v.Page.Title = "Page " + raw
	}
	for _, f := range change {
		f(v)
	}
	c.entries = append(c.entries, store.Entry{Item: v.Item, Outcome: o, Reason: r, Visit: v})
}

const hostile = `</script><script>alert(1)</script><img src=x onerror=alert(1)>"'&`

// everything is a crawl with data for each plot and table.
func everything() *crawl {
	c := &crawl{}
	site := "https://shop.example"
	c.add(site+"/", visit.Fetched, "")
	c.add(site+"/gone", visit.Dead, "", func(v *visit.Visit) { v.Answer.Status = 404 })
	c.add(site+"/old", visit.Redirected, "", func(v *visit.Visit) {
		v.Answer.Status, v.Answer.Location = 301, c.entries[0].Item.URL
	})
	c.add(site+"/busy", visit.Throttled, "", func(v *visit.Visit) { v.Answer.Status, v.Item.Attempt = 429, 3 })
	c.add(site+"/wall", visit.Blocked, "", func(v *visit.Visit) { v.Detail = hostile })
	c.add(site+"/broken", visit.Failed, visit.Timeout, func(v *visit.Visit) { v.Answer.Status, v.Detail = 0, "no answer" })
	c.add(site+"/late", visit.Deferred, "", func(v *visit.Visit) { v.Answer, v.Timing = visit.Answer{}, visit.Timing{} })
	for i := range 3 {
		c.add(fmt.Sprintf("%s/private/%d", site, i), visit.Skipped, visit.RobotsDisallow)
	}
	c.add(site+"/a", visit.Fetched, "", func(v *visit.Visit) { v.Page.Digest, v.Page.Title = "same", "" })
	c.add(site+"/b?token=secret", visit.Fetched, "", func(v *visit.Visit) {
		v.Page.Digest, v.Page.Title, v.Page.Canonical = "same", hostile, c.entries[0].Item.URL
	})
	c.add(site+"/c", visit.Fetched, "", func(v *visit.Visit) { v.Page.Title = hostile })
	for i := range 400 {
		c.points = append(c.points, store.Point{
			Job: 1, At: begin.Add(time.Duration(i) * 10 * time.Second), Span: 10 * time.Second, Ran: 10 * time.Second, Memory: 50 << 20, Waiting: int64(400 - i),
			Ended: map[visit.Outcome]int64{visit.Fetched: 5, visit.Dead: 1}, Fetching: 4 * time.Second, Waits: map[visit.Wait]time.Duration{visit.WaitPace: 6 * time.Second},
		})
	}
	c.paces = []store.PaceChange{
		{Host: site, At: begin, From: time.Second, To: 2 * time.Second, Cause: "incident"},
		{Host: site, At: begin.Add(time.Minute), From: 2 * time.Second, To: 1500 * time.Millisecond, Cause: "probe"},
	}
	return c
}

// write writes the page of a crawl.
func write(t *testing.T, c *crawl) (*report.Report, string) {
	t.Helper()
	r, err := report.Collect(t.Context(), c, 1, report.Options{Title: "shop.example " + hostile, Version: "test", Now: begin, Since: c.since})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	return r, b.String()
}

func TestTables(t *testing.T) {
	r, _ := write(t, everything())
	want := map[string]int64{
		"dead": 1, "redirected": 1, "throttled": 1, "blocked": 1, "failed": 1, "deferred": 1, "skipped": 1, "slow": 4, "duplicates": 1,
		"titles": 3, "canonicals": 1, "hosts": 1,
	}
	for _, table := range r.Tables {
		if table.Total != want[table.ID] || int64(len(table.Rows)) != want[table.ID] {
			t.Errorf("%s: %d rows of %d, want %d: %v", table.ID, len(table.Rows), table.Total, want[table.ID], table.Rows)
		}
		for _, row := range table.Rows {
			if len(row) != len(table.Columns) {
				t.Errorf("%s: a row of %d in %d columns", table.ID, len(row), len(table.Columns))
			}
		}
		delete(want, table.ID)
	}
	if len(want) > 0 {
		t.Errorf("without %v", want)
	}
}

// TestTargets checks where redirects and canonicals lead, the worst first.
func TestTargets(t *testing.T) {
	c := &crawl{}
	to := func(name string) func(*visit.Visit) {
		return func(v *visit.Visit) { v.Answer.Status, v.Answer.Location = 301, mustURL("https://shop.example/"+name) }
	}
	c.add("https://shop.example/", visit.Fetched, "", func(v *visit.Visit) { v.Page.Canonical = mustURL("https://shop.example/gone") })
	c.add("https://shop.example/gone", visit.Dead, "")
	c.add("https://shop.example/a", visit.Redirected, "", to(""))
	c.add("https://shop.example/b", visit.Redirected, "", to("elsewhere"))
	c.add("https://shop.example/c", visit.Redirected, "", to("a"))
	c.add("https://shop.example/d", visit.Redirected, "", to("gone"))
	r, _ := write(t, c)
	var got []string
	for _, table := range r.Tables {
		for _, row := range table.Rows {
			if table.ID == "redirected" || table.ID == "canonicals" {
				got = append(got, fmt.Sprint(row[0], " ", row[2], " ", row[3]))
			}
		}
	}
	want := []string{
		"https://shop.example/d https://shop.example/gone dead",
		"https://shop.example/c https://shop.example/a redirected",
		"https://shop.example/b https://shop.example/elsewhere not in this crawl",
		"https://shop.example/a https://shop.example/ fetched",
		"https://shop.example/ https://shop.example/gone dead",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestSince shows the differences from an earlier crawl, each kind in its order.
func TestSince(t *testing.T) {
	c := shop()
	c.since = lastWeek(c)
	r, page := write(t, c)
	if r.Changes.Total != 311 || len(r.Changes.Rows) != 311 || r.Changes.Missing() != "" {
		t.Errorf("%d rows of %d", len(r.Changes.Rows), r.Changes.Total)
	}
	counts := map[any]int{}
	var order []any
	for _, row := range r.Changes.Rows {
		if counts[row[1]]++; counts[row[1]] == 1 {
			order = append(order, row[1])
		}
	}
	if got := fmt.Sprint(order); got != "[newly dead gone new recovered changed slower]" || counts["newly dead"] != 14 || counts["new"] != 143 {
		t.Errorf("%s, %v", got, counts)
	}
	for _, want := range []string{`id="since"`, "Earlier crawl: complete, ended 2026-11-08 09:00 UTC, 1,978 pages. This crawl: complete, 2,090 pages.", "newly dead: 14 · 0.7 %", "unchanged: 1,840"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page is without %q", want)
		}
	}
	c.since.Certain = false
	if _, page = write(t, c); !strings.Contains(page, "not seen again (the later crawl is not complete)") {
		t.Error("a crawl that is not complete calls pages gone")
	}
	c.since = &answer.Comparison{}
	if _, page = write(t, c); !strings.Contains(page, "No changes.") {
		t.Error("two crawls that are the same differ")
	}
}

// TestPlots draws each plot as well-formed SVG.
func TestPlots(t *testing.T) {
	r, _ := write(t, everything())
	var ids []string
	for _, p := range r.Plots() {
		ids = append(ids, p.ID)
		for _, drawing := range []template.HTML{p.Wide, p.Narrow} {
			for d := xml.NewDecoder(strings.NewReader(string(drawing))); ; {
				if _, err := d.Token(); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Errorf("%s: %v", p.ID, err)
					break
				}
			}
			if strings.Contains(string(drawing), "NaN") || strings.Contains(string(drawing), "Inf") {
				t.Errorf("%s has a number that is none", p.ID)
			}
		}
	}
	if got := strings.Join(ids, " "); got != "outcomes status throughput frontier waits paces latency memory" {
		t.Errorf("plots: %s", got)
	}
	empty, _ := write(t, &crawl{})
	if n := len(empty.Plots()); n != 0 {
		t.Errorf("%d plots of nothing", n)
	}
}

// TestHostile checks that text from pages stays text, and that secrets are left out.
func TestHostile(t *testing.T) {
	c := everything()
	c.since = &answer.Comparison{Certain: true, Changes: []answer.Change{
		{Kind: answer.PageDead, Total: 1, URLs: []answer.ChangedURL{{URL: "https://shop.example/" + hostile, FoundOn: "javascript:alert(1)//" + hostile}}},
	}}
	_, page := write(t, c)
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	scripts, images := 0, 0
	var data string
	for n := range doc.Descendants() {
		switch n.Data {
		case "script":
			scripts++
			if n.Attr != nil && n.FirstChild != nil {
				data = n.FirstChild.Data
			}
		case "img":
			images++
		}
		for _, a := range n.Attr {
			if n.Type == html.ElementNode && strings.HasPrefix(a.Key, "on") {
				t.Errorf("<%s %s>", n.Data, a.Key)
			}
		}
	}
	if scripts != 2 || images != 0 {
		t.Errorf("%d scripts and %d images, want 2 and none", scripts, images)
	}
	var tables map[string]any
	if err := json.Unmarshal([]byte(data), &tables); err != nil || len(tables) == 0 {
		t.Errorf("the data: %v", err)
	}
	if strings.Contains(page, "token=secret") {
		t.Error("a secret of a URL is on the page")
	}
}

// TestPolicy checks that the policy allows only the page's own style and script.
func TestPolicy(t *testing.T) {
	_, page := write(t, everything())
	policy := strings.ReplaceAll(regexp.MustCompile(`Content-Security-Policy" content="([^"]*)"`).FindStringSubmatch(page)[1], "&#39;", "'")
	policy = strings.ReplaceAll(policy, "&#43;", "+")
	for _, e := range []struct{ from, to, directive string }{{"<style>", "</style>", "style-src"}, {"<script>", "</script>", "script-src"}} {
		_, rest, _ := strings.Cut(page, e.from)
		text, _, _ := strings.Cut(rest, e.to)
		sum := sha256.Sum256([]byte(text))
		if want := e.directive + " 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; !strings.Contains(policy, want) {
			t.Errorf("policy %q is without %q", policy, want)
		}
	}
	if !strings.HasPrefix(policy, "default-src 'none';") || strings.Contains(policy, "unsafe") {
		t.Errorf("policy %q", policy)
	}
	for _, tag := range []string{"<link", "@import", "url("} {
		if strings.Contains(page, tag) {
			t.Errorf("the page has %s", tag)
		}
	}
}

// TestSampled shows a sample of a large crawl, and says so.
func TestSampled(t *testing.T) {
	c := &crawl{}
	const pages = 30_000
	for i := range pages {
		c.add(fmt.Sprintf("https://shop.example/page/%d", i), visit.Dead, "", func(v *visit.Visit) { v.Answer.Status = 404 })
	}
	r, page := write(t, c)
	dead := r.Tables[0]
	if dead.Total != pages || len(dead.Rows) != 2000 || dead.Missing() == "" {
		t.Errorf("%d rows of %d", len(dead.Rows), dead.Total)
	}
	if !strings.Contains(page, "Showing 2,000 of 30,000 rows, a random sample") {
		t.Error("the page does not say so")
	}
	// The sample is from the whole crawl, not from its start.
	late := 0
	for _, row := range dead.Rows {
		var n int
		if _, err := fmt.Sscanf(row[0].(string), "https://shop.example/page/%d", &n); err != nil {
			t.Fatal(err)
		}
		if n >= pages/2 {
			late++
		}
	}
	if late < 800 || late > 1200 {
		t.Errorf("%d of 2000 rows are of the second half", late)
	}
	if len(page) > 2<<20 {
		t.Errorf("%d bytes", len(page))
	}
}
