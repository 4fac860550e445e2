package report

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"headway/answer"
	"headway/job"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// Source provides the data of a report. [store.Reader] implements it.
type Source interface {
	Job(ctx context.Context, id job.ID) (store.Job, error)
	Counts(ctx context.Context, id job.ID) (store.Counts, error)
	Lookup(ctx context.Context, id job.ID, u weburl.URL) (store.Entry, error)
	List(ctx context.Context, q store.Query) (store.Page, error)
	HostList(ctx context.Context, q store.HostListQuery) (store.HostListPage, error)
	PaceChanges(ctx context.Context, host string) ([]store.PaceChange, error)
	Points(ctx context.Context, id job.ID) ([]store.Point, error)
}

// Options say what a report is about.
type Options struct {
	Title   string // the seed, for people
	Version string // of this program
	Now     time.Time
	Since   *answer.Comparison // with an earlier crawl; nil for none
	// Interrupted says that no process works on the crawl although its job is running.
	Interrupted bool
	Progress    func(read, of int64) // called while rows are read; may be nil
}

// Report is the content of the page.
type Report struct {
	Title, Version string
	Made           time.Time
	Job            store.Job
	Counts         store.Counts
	Points         []store.Point
	Since          *answer.Comparison
	Changes        *Table // since the earlier crawl; nil without one
	Status         []Count
	Tables         []*Table
	Lines          []Line
	Dots           []Dot
	DotsSampled    bool
}

// Count is a name with its count.
type Count struct {
	Name string
	N    int64
}

// collector reads a crawl.
type collector struct {
	src    Source
	id     job.ID
	opt    Options
	report *Report
	random *rand.Rand
	passes int64 // how often all URLs are read
	read   int64

	dead, redirected, throttled, blocked, failed, deferred, slow, titles, canonicals *Table

	status  map[int]int64 // 0: requested without a response
	skipped map[place]int64
	texts   repeats
	named   repeats
	hosts   map[string]*hostRow
	buckets buckets
}

// Collect reads what a report shows.
func Collect(ctx context.Context, src Source, id job.ID, opt Options) (*Report, error) {
	c := &collector{
		src: src, id: id, opt: opt, passes: 2,
		report: &Report{Title: opt.Title, Version: opt.Version, Made: opt.Now, Since: opt.Since},
		random: rand.New(rand.NewPCG(uint64(id), 0)), //nolint:gosec // a reproducible sample
		status: map[int]int64{}, skipped: map[place]int64{}, hosts: map[string]*hostRow{}, buckets: buckets{of: map[bucket]*sum{}},
	}
	if err := c.collect(ctx); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	return c.report, nil
}

func (c *collector) collect(ctx context.Context) (err error) {
	r := c.report
	if r.Job, err = c.src.Job(ctx, c.id); err != nil {
		return err
	}
	if c.opt.Interrupted {
		r.Job.State = answer.Interrupted
	}
	if r.Counts, err = c.src.Counts(ctx, c.id); err != nil {
		return err
	}
	if r.Points, err = c.src.Points(ctx, c.id); err != nil {
		return err
	}
	c.makeTables()
	if err := c.readURLs(ctx, c.take); err != nil {
		return err
	}
	repeated, err := c.repeated(ctx)
	if err != nil {
		return err
	}
	hosts, err := c.hostTable(ctx)
	if err != nil {
		return err
	}
	for _, t := range []*Table{c.redirected, c.canonicals} {
		if err := c.follow(ctx, t); err != nil {
			return err
		}
	}
	c.slow.About = fmt.Sprintf("The slowest %d pages, from request to end of body.", min(len(c.slow.Rows), maxSlow))
	c.slow.Total = int64(min(len(c.slow.Rows), maxSlow))
	r.Tables = []*Table{c.dead, c.redirected, c.throttled, c.blocked, c.failed, c.deferred, c.skips(), c.slow, repeated, c.titles, c.canonicals, hosts}
	all := r.Tables
	if r.Since != nil {
		r.Changes = changes(r.Since)
		all = append(slices.Clone(all), r.Changes)
	}
	for _, t := range all {
		if err := c.settle(t); err != nil {
			return err
		}
	}
	c.slow.Rows = c.slow.Rows[:min(len(c.slow.Rows), maxSlow)]
	c.statuses()
	c.dots()
	return nil
}

// maxSlow limits the slowest pages shown.
const maxSlow = 250

// makeTables creates the tables that are filled from single URLs.
func (c *collector) makeTables() {
	url, found := Column{Name: "URL", Link: true}, Column{Name: "found on", Link: true}
	status := Column{Name: "status", Number: true, None: true}
	c.dead = &Table{ID: "dead", Title: "Dead", About: "The server reports that the page does not exist.", Columns: []Column{url, status, found}}
	c.redirected = &Table{
		ID: "redirected", Title: "Redirected", About: "Links that redirect: link to the target instead. Redirects whose target is not a page come first.",
		Columns: []Column{url, status, {Name: "redirects to", Link: true}, {Name: "target outcome", Word: true}, found}, less: byTarget,
	}
	c.throttled = &Table{
		ID: "throttled", Title: "Throttled", About: "Rate-limited until all retries were used. Not dead: the state of these pages is unknown.",
		Columns: []Column{url, status, {Name: "attempts", Number: true}, found},
	}
	c.blocked = &Table{
		ID: "blocked", Title: "Blocked", About: "Access denied, or a firewall challenge instead of the page. Visitors with a browser may still see the page.",
		Columns: []Column{url, status, {Name: "evidence"}, found},
	}
	c.failed = &Table{
		ID: "failed", Title: "Failures and server errors", About: "No usable response: server errors, DNS, connections, timeouts, invalid bodies.",
		Columns: []Column{url, {Name: "reason", Word: true}, status, {Name: "detail"}, found},
	}
	c.deferred = &Table{
		ID: "deferred", Title: "Deferred", About: "Left for a later run, because the host was on hold for longer than the patience of this crawl.",
		Columns: []Column{url, found},
	}
	c.slow = &Table{
		ID: "slow", Title: "Slowest pages", Columns: []Column{url, {Name: "total (ms)", Number: true}, {Name: "first byte (ms)", Number: true}, {Name: "bytes", Number: true}},
		less: func(a, b []any) int { return cmp.Compare(b[1].(int64), a[1].(int64)) }, first: true,
	}
	c.titles = &Table{ID: "titles", Title: "Titles that need attention", About: "Missing, very long, or the same as on other pages.", Columns: []Column{url, {Name: "what", Word: true}, {Name: "title"}}}
	c.canonicals = &Table{
		ID: "canonicals", Title: "Canonical URLs that point elsewhere", About: "Pages whose canonical URL is another URL. Those whose canonical URL is not a page come first.",
		Columns: []Column{url, {Name: "same host", Word: true}, {Name: "canonical", Link: true}, {Name: "target outcome", Word: true}}, less: byTarget,
	}
}

// readURLs calls take for each URL of the job.
func (c *collector) readURLs(ctx context.Context, take func(*store.Entry)) error {
	q := store.Query{Job: c.id, Max: pageSize}
	for {
		page, err := c.src.List(ctx, q)
		if err != nil {
			return err
		}
		for i := range page.Entries {
			take(&page.Entries[i])
		}
		c.read += int64(len(page.Entries))
		if c.opt.Progress != nil {
			c.opt.Progress(c.read, c.passes*c.report.Counts.Seen())
		}
		if page.Next == "" {
			return nil
		}
		q.After = page.Next
	}
}

// pageSize is how many URLs are read at a time.
const pageSize = 1000

// take processes one URL.
func (c *collector) take(e *store.Entry) {
	v := e.Visit
	if v == nil {
		v = &visit.Visit{}
	}
	if v.Answer.Status > 0 || !v.Timing.Sent.IsZero() {
		c.status[v.Answer.Status]++
	}
	c.host(e, v)
	switch e.Outcome {
	case visit.Skipped:
		c.skip(e)
		return
	case visit.Pending:
		return
	}
	u := visit.Redact(e.Item.URL)
	via := ""
	if !e.Item.Via.IsZero() {
		via = visit.Redact(e.Item.Via)
	}
	status := int64(v.Answer.Status)
	switch e.Outcome {
	case visit.Dead:
		c.keep(c.dead, u, status, via)
	case visit.Redirected:
		c.keep(c.redirected, u, status, v.Answer.Location, "", via)
	case visit.Throttled:
		c.keep(c.throttled, u, status, int64(v.Item.Attempt)+1, via)
	case visit.Blocked:
		c.keep(c.blocked, u, status, v.Detail, via)
	case visit.ServerError, visit.Failed:
		c.keep(c.failed, u, cmp.Or(string(e.Reason), string(e.Outcome)), status, v.Detail, via)
	case visit.Deferred:
		c.keep(c.deferred, u, via)
	case visit.Fetched, visit.NotModified:
		c.page(e.Item.URL, u, v)
	}
}

// page processes a fetched page.
func (c *collector) page(at weburl.URL, u string, v *visit.Visit) {
	c.top(c.slow, u, v.Timing.Total.Milliseconds(), v.Timing.FirstByte.Milliseconds(), v.Answer.DecodedBytes)
	if v.Page.Digest != "" {
		c.texts.add(v.Page.Digest)
	}
	if !strings.HasPrefix(v.Answer.ContentType, "text/html") {
		return
	}
	title := strings.TrimSpace(v.Page.Title)
	switch n := len([]rune(title)); {
	case n == 0:
		c.keep(c.titles, u, "no title", "")
	case n > longTitle:
		c.keep(c.titles, u, fmt.Sprintf("%d characters", n), title)
	default:
		c.named.add(title)
	}
	if to := v.Page.Canonical; !to.IsZero() && to != at {
		same := "no"
		if to.Host() == at.Host() {
			same = "yes"
		}
		c.keep(c.canonicals, u, same, to, "")
	}
}

// longTitle is the length at which search engines start to cut.
const longTitle = 70

// targetColumn is the column with the URL that a row leads to; how that one ended is in the
// next column.
const targetColumn = 2

// follow looks up the targets of a table's rows.
func (c *collector) follow(ctx context.Context, t *Table) error {
	for _, row := range t.Rows {
		to := row[targetColumn].(weburl.URL)
		row[targetColumn] = visit.Redact(to)
		switch e, err := c.src.Lookup(ctx, c.id, to); {
		case errors.Is(err, store.ErrNotFound):
			row[targetColumn+1] = notCrawled
		case err != nil:
			return err
		default:
			row[targetColumn+1] = string(e.Outcome)
		}
	}
	return nil
}

const notCrawled = "not in this crawl"

// byTarget sorts rows whose target is not a page first, then those where it may be one.
func byTarget(a, b []any) int {
	rank := func(row []any) int {
		switch o := visit.Outcome(row[targetColumn+1].(string)); o {
		case visit.Dead:
			return 0
		case visit.Fetched, visit.NotModified:
			return 3
		case notCrawled, visit.Pending, visit.Skipped:
			return 2
		default:
			return 1
		}
	}
	return cmp.Compare(rank(a), rank(b))
}

// statuses lists responses by status, and requests without a response last.
func (c *collector) statuses() {
	none := c.status[0]
	delete(c.status, 0)
	for code, n := range c.status {
		c.report.Status = append(c.report.Status, Count{fmt.Sprint(code), n})
	}
	slices.SortFunc(c.report.Status, func(a, b Count) int { return cmp.Compare(a.Name, b.Name) })
	if none > 0 {
		c.report.Status = append(c.report.Status, Count{"none", none})
	}
}
