package report

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/zeebo/xxh3"

	"headway/store"
	"headway/visit"
)

// Limits for hosts.
const (
	maxHosts   = 100_000 // read
	maxLines   = 8       // in the plot of intervals
	maxBuckets = 50_000  // for the latency plot
	maxDots    = 1500    // drawn there
)

// bucketSpan is the time span of a dot of the latency plot.
const bucketSpan = 10 * time.Second

// Line is the pace of a host over time.
type Line struct {
	Host    string
	Floor   time.Duration
	Changes []store.PaceChange
}

// Dot is a host in a span of time: its request rate and response time.
type Dot struct {
	Host  string
	Rate  float64 // requests per second
	Delay time.Duration
}

// hostRow counts the requests and responses of a host.
type hostRow struct {
	pages, requests, refused, failed int64
	total, slowest                   time.Duration
}

// host counts a request and its response for its host.
func (c *collector) host(e *store.Entry, v *visit.Visit) {
	if v.Timing.Sent.IsZero() {
		return
	}
	name := e.Item.URL.Host()
	h := c.hosts[name]
	if h == nil {
		if len(c.hosts) >= maxHosts {
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
	if v.Timing.FirstByte > 0 {
		c.buckets.add(bucket{name, v.Timing.Sent.Unix() / int64(bucketSpan/time.Second)}, v.Timing.FirstByte)
	}
}

// bucket is a host in a span of time.
type bucket struct {
	host string
	at   int64
}

type sum struct {
	n     int64
	total time.Duration
}

// buckets are responses by host and time. If there are too many, half of them are dropped by
// hash, together with all later ones of the same hashes, so that a fair sample remains.
type buckets struct {
	of     map[bucket]*sum
	halved int
}

func (b *buckets) kept(k bucket) bool {
	seed := uint64(k.at) //nolint:gosec // any number works
	return xxh3.HashStringSeed(k.host, seed)>>(64-b.halved) == 0
}

func (b *buckets) add(k bucket, took time.Duration) {
	s := b.of[k]
	if s == nil {
		if !b.kept(k) {
			return
		}
		for len(b.of) >= maxBuckets {
			b.halved++
			maps.DeleteFunc(b.of, func(k bucket, _ *sum) bool { return !b.kept(k) })
		}
		if !b.kept(k) {
			return
		}
		s = &sum{}
		b.of[k] = s
	}
	s.n++
	s.total += took
}

// dots selects the dots of the latency plot.
func (c *collector) dots() {
	r := c.report
	r.DotsSampled = c.buckets.halved > 0
	for key, b := range c.buckets.of {
		r.Dots = append(r.Dots, Dot{Host: key.host, Rate: float64(b.n) / bucketSpan.Seconds(), Delay: b.total / time.Duration(b.n)})
	}
	slices.SortFunc(r.Dots, func(a, b Dot) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Rate, b.Rate), cmp.Compare(a.Delay, b.Delay))
	})
	if len(r.Dots) > maxDots {
		c.random.Shuffle(len(r.Dots), func(i, j int) { r.Dots[i], r.Dots[j] = r.Dots[j], r.Dots[i] })
		r.Dots, r.DotsSampled = r.Dots[:maxDots], true
	}
}

// hostTable lists the hosts, and selects those whose pace is drawn.
func (c *collector) hostTable(ctx context.Context) (*Table, error) {
	number := func(name string) Column { return Column{Name: name, Number: true} }
	t := &Table{
		ID: "hosts", Title: "Hosts", About: "Requests to each host, its responses, and the learned interval between requests.",
		Columns: []Column{
			{Name: "host"},
			number("pages"), number("requests"), number("throttled"), number("failed"), number("mean (ms)"), number("slowest (ms)"),
			number("interval (ms)"), number("floor (ms)"), number("incidents"), number("waiting"),
		},
		less: func(a, b []any) int { return cmp.Compare(b[1].(int64), a[1].(int64)) }, first: true,
	}
	var drawn []store.HostEntry
	q := store.HostListQuery{Job: c.id, Max: pageSize}
	for {
		page, err := c.src.HostList(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, e := range page.Hosts {
			h := cmp.Or(c.hosts[e.Host.Host], &hostRow{})
			mean := h.total / time.Duration(max(h.pages, 1))
			c.top(t, e.Host.Host, h.pages, h.requests, h.refused, h.failed, mean.Milliseconds(), h.slowest.Milliseconds(),
				e.Host.Pace.Milliseconds(), e.Host.Floor.Milliseconds(), e.Incidents, e.Waiting)
			if e.Host.Pace > 0 {
				drawn = append(drawn, e)
			}
		}
		slices.SortStableFunc(drawn, slower)
		drawn = slices.Clone(drawn[:min(len(drawn), maxLines)])
		if page.Next == "" {
			break
		}
		q.After = page.Next
	}
	for _, e := range drawn {
		changes, err := c.src.PaceChanges(ctx, e.Host.Host)
		if err != nil {
			return nil, err
		}
		if len(changes) > 0 {
			c.report.Lines = append(c.report.Lines, Line{Host: e.Host.Host, Floor: e.Host.Floor, Changes: changes})
		}
	}
	return t, nil
}

// slower sorts hosts that refused first, the slowest of them before others.
func slower(a, b store.HostEntry) int {
	calm := func(e store.HostEntry) int {
		if e.Incidents > 0 {
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(calm(a), calm(b)), cmp.Compare(b.Host.Pace, a.Host.Pace), cmp.Compare(a.Host.Host, b.Host.Host))
}
