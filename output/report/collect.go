package report

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/zeebo/xxh3"

	"headway/job"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// Source is where a report comes from. [store.Reader] is one.
type Source interface {
	Job(ctx context.Context, id job.ID) (store.Job, error)
	Counts(ctx context.Context, id job.ID) (store.Counts, error)
	List(ctx context.Context, q store.Query) (store.Page, error)
	HostList(ctx context.Context, q store.HostListQuery) (store.HostListPage, error)
	PaceChanges(ctx context.Context, host string) ([]store.PaceChange, error)
	Points(ctx context.Context, id job.ID) ([]store.Point, error)
}

// Bounds of what a report keeps in memory and shows.
const (
	maxRows     = 2000      // of a table
	maxPaths    = 20_000    // places that URLs were skipped in
	maxGroups   = 2_000_000 // texts and titles that are counted
	maxExamples = 5         // pages of a group
	maxHosts    = 2000      // rows of the table of hosts
	maxLines    = 8         // hosts in the plot of paces
	maxBuckets  = 50_000    // of the plot of latency
	maxDots     = 1500      // drawn there
	maxLookAt   = 100_000   // hosts that are looked at
)

// bucketSpan is how long a dot of the plot of latency looks at a host.
const bucketSpan = 10 * time.Second

// Options say what a report is about.
type Options struct {
	Title    string // the seed, for people
	Version  string // of this program
	Now      time.Time
	Progress func(read, of int64) // told while rows are read; nil for nobody
}

// Report is what is shown.
type Report struct {
	Title, Version string
	Made           time.Time
	Job            store.Job
	Counts         store.Counts
	Points         []store.Point
	Status         []Count
	Tables         []*Table
	Lines          []Line
	Dots           []Dot
	DotsSampled    bool
}

// Count is how often something was.
type Count struct {
	Name string
	N    int64
}

// Table is a list of what needs attention.
type Table struct {
	ID, Title, About string
	Columns          []Column
	Rows             [][]any // strings and numbers, one for each column
	Total            int64   // rows there would be
	less             func(a, b []any) int
}

// Column is a column of a table.
type Column struct {
	Name   string `json:"name"`
	Number bool   `json:"number,omitempty"`
	Link   bool   `json:"link,omitempty"` // a URL
}

// Line is the pace of a host over time.
type Line struct {
	Host    string
	Floor   time.Duration
	Changes []store.PaceChange
}

// Dot is a host in a moment: how often it was asked and how soon it answered.
type Dot struct {
	Host  string
	Rate  float64 // requests a second
	Delay time.Duration
}

// collector reads a crawl.
type collector struct {
	src    Source
	id     job.ID
	opt    Options
	report *Report
	random *rand.Rand

	dead, redirected, throttled, blocked, failed, slow, titles, canonicals *Table

	status  map[int]int64
	skipped map[[2]string]int64
	texts   map[uint64]int32
	named   map[uint64]int32
	hosts   map[string]*hostRow
	buckets map[bucket]*sum
}

type hostRow struct {
	pages, requests, refused, failed int64
	total                            time.Duration
	slowest                          time.Duration
}

type bucket struct {
	host string
	at   int64
}

type sum struct {
	n     int64
	total time.Duration
}

// Collect reads what a report shows.
func Collect(ctx context.Context, src Source, id job.ID, opt Options) (*Report, error) {
	c := &collector{
		src: src, id: id, opt: opt, report: &Report{Title: opt.Title, Version: opt.Version, Made: opt.Now}, random: rand.New(rand.NewPCG(uint64(id), 0)),
		status: map[int]int64{}, skipped: map[[2]string]int64{}, texts: map[uint64]int32{}, named: map[uint64]int32{}, hosts: map[string]*hostRow{}, buckets: map[bucket]*sum{},
	}
	var err error
	if c.report.Job, err = src.Job(ctx, id); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	if c.report.Counts, err = src.Counts(ctx, id); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	if c.report.Points, err = src.Points(ctx, id); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	c.makeTables()
	if err := c.readURLs(ctx, c.take); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	repeated, err := c.groups(ctx)
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	hosts, err := c.hostTable(ctx)
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	c.report.Tables = []*Table{c.dead, c.redirected, c.throttled, c.blocked, c.failed, c.skips(), c.slow, repeated, c.titles, c.canonicals, hosts}
	for _, t := range c.report.Tables {
		t.settle()
	}
	for code, n := range c.status {
		c.report.Status = append(c.report.Status, Count{fmt.Sprint(code), n})
	}
	slices.SortFunc(c.report.Status, func(a, b Count) int { return cmp.Compare(a.Name, b.Name) })
	c.dots()
	return c.report, nil
}

// makeTables sets up the tables that are filled from single URLs.
func (c *collector) makeTables() {
	url, found := Column{Name: "URL", Link: true}, Column{Name: "found on", Link: true}
	status, ms := Column{Name: "status", Number: true}, Column{Name: "ms", Number: true}
	bySlowest := func(a, b []any) int { return cmp.Compare(b[1].(int64), a[1].(int64)) }
	c.dead = &Table{ID: "dead", Title: "Dead", About: "The server says that there is no such page.", Columns: []Column{url, status, found}}
	c.redirected = &Table{ID: "redirected", Title: "Redirected", About: "Links that lead elsewhere: better to link the target.", Columns: []Column{url, status, {Name: "leads to", Link: true}, found}}
	c.throttled = &Table{ID: "throttled", Title: "Throttled", About: "Refused for being asked too often, until retries were used up. Not dead.", Columns: []Column{url, status, {Name: "attempts", Number: true}, found}}
	c.blocked = &Table{ID: "blocked", Title: "Blocked", About: "A challenge page or a firewall instead of the page.", Columns: []Column{url, status, {Name: "what it was"}, found}}
	c.failed = &Table{ID: "failed", Title: "Failed", About: "No usable answer: server errors, names, connections, timeouts, bodies.", Columns: []Column{url, {Name: "reason"}, {Name: "detail"}, found}}
	c.slow = &Table{ID: "slow", Title: "Slow pages", About: "Slowest first, from the request to the end of the body.", Columns: []Column{url, ms, {Name: "bytes", Number: true}}, less: bySlowest}
	c.titles = &Table{ID: "titles", Title: "Titles that need attention", About: "Missing, very long, or the same as on other pages.", Columns: []Column{url, {Name: "what"}, {Name: "title"}}}
	c.canonicals = &Table{ID: "canonicals", Title: "Canonicals that point elsewhere", About: "Pages that name another URL as the one to index.", Columns: []Column{url, {Name: "canonical", Link: true}, {Name: "same host"}}}
}

// readURLs hands each URL of the job to a function.
func (c *collector) readURLs(ctx context.Context, take func(*store.Entry)) error {
	q := store.Query{Job: c.id, Max: pageSize}
	var read int64
	for {
		page, err := c.src.List(ctx, q)
		if err != nil {
			return err
		}
		for i := range page.Entries {
			take(&page.Entries[i])
		}
		read += int64(len(page.Entries))
		if c.opt.Progress != nil {
			c.opt.Progress(read, c.report.Counts.Seen())
		}
		if page.Next == "" {
			return nil
		}
		q.After = page.Next
	}
}

// pageSize is how many URLs are read at a time.
const pageSize = 1000

// take looks at one URL.
func (c *collector) take(e *store.Entry) {
	u := visit.Redact(e.Item.URL)
	via := ""
	if !e.Item.Via.IsZero() {
		via = visit.Redact(e.Item.Via)
	}
	v := e.Visit
	if v == nil {
		v = &visit.Visit{}
	}
	if v.Answer.Status > 0 {
		c.status[v.Answer.Status]++
	}
	c.host(e, v)
	status := int64(v.Answer.Status)
	switch e.Outcome {
	case visit.Dead:
		c.keep(c.dead, u, status, via)
	case visit.Redirected:
		c.keep(c.redirected, u, status, visit.Redact(v.Answer.Location), via)
	case visit.Throttled:
		c.keep(c.throttled, u, status, int64(v.Item.Attempt)+1, via)
	case visit.Blocked:
		c.keep(c.blocked, u, status, v.Detail, via)
	case visit.ServerError, visit.Failed, visit.Deferred:
		c.keep(c.failed, u, cmp.Or(string(e.Reason), string(e.Outcome)), v.Detail, via)
	case visit.Skipped:
		c.skip(e)
	case visit.Fetched, visit.NotModified:
		c.page(e.Item.URL, u, v)
	}
}

// page looks at a page that was fetched.
func (c *collector) page(at weburl.URL, u string, v *visit.Visit) {
	c.top(c.slow, u, v.Timing.Total.Milliseconds(), v.Answer.DecodedBytes)
	if v.Page.Digest != "" {
		count(c.texts, v.Page.Digest)
	}
	if !strings.HasPrefix(v.Answer.ContentType, "text/html") {
		return
	}
	title := strings.TrimSpace(v.Page.Title)
	switch {
	case title == "":
		c.keep(c.titles, u, "no title", "")
	case len([]rune(title)) > longTitle:
		c.keep(c.titles, u, fmt.Sprintf("%d characters", len([]rune(title))), title)
	default:
		count(c.named, title)
	}
	if to := v.Page.Canonical; !to.IsZero() && to != at {
		same := "no"
		if to.Host() == at.Host() {
			same = "yes"
		}
		c.keep(c.canonicals, u, visit.Redact(to), same)
	}
}

// longTitle is where search engines begin to cut.
const longTitle = 70

// count counts a text by its hash.
func count(m map[uint64]int32, text string) {
	h := xxh3.HashString(text)
	if _, ok := m[h]; ok || len(m) < maxGroups {
		m[h]++
	}
}

// skip counts a URL that was not fetched, by reason and place.
func (c *collector) skip(e *store.Entry) {
	place := e.Item.URL.Host() + firstFolder(e.Item.URL.PathQuery())
	key := [2]string{string(e.Reason), place}
	if _, ok := c.skipped[key]; !ok && len(c.skipped) >= maxPaths {
		key[1] = "elsewhere"
	}
	c.skipped[key]++
}

// firstFolder is the first part of a path.
func firstFolder(path string) string {
	path, _, _ = strings.Cut(path, "?")
	first, _, more := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if !more {
		return "/"
	}
	return "/" + first + "/"
}

// host counts what a host was asked and how it answered.
func (c *collector) host(e *store.Entry, v *visit.Visit) {
	if v.Timing.Sent.IsZero() {
		return
	}
	name := e.Item.URL.Host()
	h := c.hosts[name]
	if h == nil {
		if len(c.hosts) >= maxLookAt {
			return
		}
		h = &hostRow{}
		c.hosts[name] = h
	}
	h.requests += int64(v.Item.Attempt) + 1
	switch e.Outcome {
	case visit.Throttled:
		h.refused++
	case visit.Failed, visit.ServerError:
		h.failed++
	}
	if e.Outcome.Page() {
		h.pages++
		h.total += v.Timing.FirstByte
		h.slowest = max(h.slowest, v.Timing.FirstByte)
	}
	key := bucket{name, v.Timing.Sent.Unix() / int64(bucketSpan/time.Second)}
	b := c.buckets[key]
	if b == nil {
		if len(c.buckets) >= maxBuckets {
			c.report.DotsSampled = true
			return
		}
		b = &sum{}
		c.buckets[key] = b
	}
	b.n++
	b.total += v.Timing.FirstByte
}

// keep adds a row; beyond the bound each row is as likely to stay as any other.
func (c *collector) keep(t *Table, row ...any) {
	t.Total++
	if len(t.Rows) < maxRows {
		t.Rows = append(t.Rows, row)
		return
	}
	if i := c.random.Int64N(t.Total); i < maxRows {
		t.Rows[i] = row
	}
}

// top adds a row to a table that shows the first of an order.
func (c *collector) top(t *Table, row ...any) {
	t.Total++
	t.Rows = append(t.Rows, row)
	if len(t.Rows) >= 2*maxRows {
		slices.SortStableFunc(t.Rows, t.less)
		t.Rows = slices.Clone(t.Rows[:maxRows])
	}
}

// settle puts a table in order.
func (t *Table) settle() {
	if t.less != nil {
		slices.SortStableFunc(t.Rows, t.less)
	} else {
		slices.SortStableFunc(t.Rows, func(a, b []any) int { return cmp.Compare(fmt.Sprint(a[0]), fmt.Sprint(b[0])) })
	}
	if len(t.Rows) > maxRows {
		t.Rows = t.Rows[:maxRows]
	}
}

// Sampled tells whether rows are missing.
func (t *Table) Sampled() bool { return t.Total > int64(len(t.Rows)) }

// skips is the table of what was not fetched.
func (c *collector) skips() *Table {
	t := &Table{
		ID: "skipped", Title: "Skipped, by reason and place", About: "What was not asked for. headway why URL tells the rule for each.",
		Columns: []Column{{Name: "reason"}, {Name: "place"}, {Name: "URLs", Number: true}},
		less:    func(a, b []any) int { return cmp.Compare(b[2].(int64), a[2].(int64)) },
	}
	for key, n := range c.skipped {
		t.Rows = append(t.Rows, []any{key[0], key[1], n})
	}
	t.Total = int64(len(t.Rows))
	slices.SortFunc(t.Rows, func(a, b []any) int {
		return cmp.Or(cmp.Compare(b[2].(int64), a[2].(int64)), cmp.Compare(a[0].(string), b[0].(string)), cmp.Compare(a[1].(string), b[1].(string)))
	})
	return t
}

// groups reads the URLs again, if there are texts or titles on several of them.
func (c *collector) groups(ctx context.Context) (*Table, error) {
	t := &Table{
		ID: "duplicates", Title: "Duplicate content", About: "Pages with exactly the same visible text.",
		Columns: []Column{{Name: "first page", Link: true}, {Name: "pages", Number: true}, {Name: "others"}},
		less:    func(a, b []any) int { return cmp.Compare(b[1].(int64), a[1].(int64)) },
	}
	single := func(_ uint64, n int32) bool { return n < 2 }
	maps.DeleteFunc(c.texts, single)
	maps.DeleteFunc(c.named, single)
	if len(c.texts) == 0 && len(c.named) == 0 {
		return t, nil
	}
	type group struct {
		row      []any
		examples []string
	}
	seen := map[uint64]*group{}
	err := c.readURLs(ctx, func(e *store.Entry) {
		if v := e.Visit; v != nil && (e.Outcome == visit.Fetched || e.Outcome == visit.NotModified) {
			u := visit.Redact(e.Item.URL)
			if n := c.texts[xxh3.HashString(v.Page.Digest)]; n > 1 && v.Page.Digest != "" {
				h := xxh3.HashString(v.Page.Digest)
				switch g := seen[h]; {
				case g == nil && len(seen) < maxRows:
					seen[h] = &group{row: []any{u, int64(n), ""}}
				case g != nil && len(g.examples) < maxExamples:
					g.examples = append(g.examples, u)
				}
			}
			if title := strings.TrimSpace(v.Page.Title); title != "" {
				if n := c.named[xxh3.HashString(title)]; n > 1 {
					c.keep(c.titles, u, fmt.Sprintf("on %d pages", n), title)
				}
			}
		}
	})
	t.Total = int64(len(c.texts))
	for _, g := range seen {
		g.row[2] = strings.Join(g.examples, "  ")
		t.Rows = append(t.Rows, g.row)
	}
	slices.SortFunc(t.Rows, func(a, b []any) int { return cmp.Compare(a[0].(string), b[0].(string)) })
	return t, err
}

// hostTable lists the hosts, and picks those whose pace changed most.
func (c *collector) hostTable(ctx context.Context) (*Table, error) {
	t := &Table{
		ID: "hosts", Title: "Hosts", About: "What each was asked, how it answered, and the interval that was learned.",
		Columns: []Column{
			{Name: "host"},
			{Name: "pages", Number: true},
			{Name: "requests", Number: true},
			{Name: "throttled", Number: true},
			{Name: "failed", Number: true},
			{Name: "mean ms", Number: true},
			{Name: "slowest ms", Number: true},
			{Name: "learned ms", Number: true},
			{Name: "floor ms", Number: true},
			{Name: "waiting", Number: true},
		},
		less: func(a, b []any) int { return cmp.Compare(b[1].(int64), a[1].(int64)) },
	}
	type learned struct {
		host  string
		pace  time.Duration
		floor time.Duration
	}
	var slowest []learned
	q := store.HostListQuery{Job: c.id, Max: pageSize}
	for {
		page, err := c.src.HostList(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, e := range page.Hosts {
			h := c.hosts[e.Host.Host]
			if h == nil {
				h = &hostRow{}
			}
			mean := int64(0)
			if h.pages > 0 {
				mean = (h.total / time.Duration(h.pages)).Milliseconds()
			}
			c.top(t, e.Host.Host, h.pages, h.requests, h.refused, h.failed, mean, h.slowest.Milliseconds(), e.Host.Pace.Milliseconds(), e.Host.Floor.Milliseconds(), e.Waiting)
			if e.Host.Pace > 0 {
				slowest = append(slowest, learned{e.Host.Host, e.Host.Pace, e.Host.Floor})
				if len(slowest) > 10*maxLines {
					slices.SortStableFunc(slowest, func(a, b learned) int { return cmp.Compare(b.pace, a.pace) })
					slowest = slowest[:maxLines]
				}
			}
		}
		if page.Next == "" {
			break
		}
		q.After = page.Next
	}
	slices.SortStableFunc(slowest, func(a, b learned) int { return cmp.Or(cmp.Compare(b.pace, a.pace), cmp.Compare(a.host, b.host)) })
	for _, l := range slowest[:min(len(slowest), maxLines)] {
		changes, err := c.src.PaceChanges(ctx, l.host)
		if err != nil {
			return nil, err
		}
		c.report.Lines = append(c.report.Lines, Line{Host: l.host, Floor: l.floor, Changes: changes})
	}
	return t, nil
}

// dots picks the dots of the plot of latency.
func (c *collector) dots() {
	for key, b := range c.buckets {
		c.report.Dots = append(c.report.Dots, Dot{Host: key.host, Rate: float64(b.n) / bucketSpan.Seconds(), Delay: b.total / time.Duration(b.n)})
	}
	slices.SortFunc(c.report.Dots, func(a, b Dot) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Rate, b.Rate), cmp.Compare(a.Delay, b.Delay))
	})
	if len(c.report.Dots) > maxDots {
		c.random.Shuffle(len(c.report.Dots), func(i, j int) { c.report.Dots[i], c.report.Dots[j] = c.report.Dots[j], c.report.Dots[i] })
		c.report.Dots, c.report.DotsSampled = c.report.Dots[:maxDots], true
	}
}
