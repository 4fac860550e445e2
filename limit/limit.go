package limit

import (
	"strconv"
	"strings"
	"time"
)

// Name is a limit as flags, config, API and summary call it.
type Name string

// The limits of a job, then those that only a service has.
const (
	Pages        Name = "max_pages"
	Requests     Name = "max_requests"
	Time         Name = "max_time"
	Depth        Name = "max_depth"
	Bytes        Name = "max_bytes"
	PagesPerHost Name = "max_pages_per_host"
	Patience     Name = "patience"

	ConcurrentCrawls  Name = "max_concurrent_crawls"
	Hosts             Name = "max_hosts"
	RequestsPerSecond Name = "max_requests_per_second"
	Retention         Name = "retention"
)

// Limits is what one layer allows. A zero field sets no limit; a negative one
// allows nothing, which is how a used-up quota looks.
type Limits struct {
	Pages        int64
	Requests     int64
	Time         time.Duration
	Depth        int64
	Bytes        int64
	PagesPerHost int64
	Patience     time.Duration

	ConcurrentCrawls  int64
	Hosts             int64
	RequestsPerSecond int64
	Retention         time.Duration
}

// Use is what a crawl has spent of the limits that are counted.
type Use struct {
	Pages    int64
	Requests int64
	Bytes    int64
	Time     time.Duration // spent running, in runs before this one
	Hosts    int64         // taken up
}

// Kind is what a limit is measured in.
type Kind int

// The kinds of limits.
const (
	Count Kind = iota
	Size       // in bytes
	Span       // a time.Duration
)

// Rule is what is known of one limit. Settings, flags, the fields of the API, JSON
// and messages are made from it.
type Rule struct {
	Name Name
	Kind Kind
	// Doc says what is limited, without a full stop.
	Doc string
	// Asked tells that a job can ask for it: there are a setting, a flag and a field
	// of the API.
	Asked bool
	// Extent tells that it bounds how much of a crawl there is: with a higher one
	// there may be more.
	Extent bool
	// Safety tells that the operator can set it in the configuration.
	Safety bool
	// Preset tells that presets of politeness may bring it along.
	Preset bool
	// Least and Most bound what can be asked for; a Most of 0 is none.
	Least, Most int64

	// thing and per tell a count in a message: "50 pages per crawl"; timeout is what
	// a span ends: "Crawl timeout exceeded (60000ms)".
	thing, per, timeout string
	at                  func(*Limits) *int64
	used                func(*Use) *int64 // nil where it is not counted; see Counted
}

// Rules are all limits, in the order in which they are told.
var Rules = []Rule{
	{
		Name: Pages, Doc: "maximum pages per crawl", Asked: true, Extent: true, Safety: true, Preset: true, thing: "page", per: perCrawl,
		at: func(l *Limits) *int64 { return &l.Pages }, used: func(u *Use) *int64 { return &u.Pages },
	},
	{
		Name: Requests, Doc: "maximum requests per crawl, including robots.txt and sitemaps", Asked: true, Extent: true, Safety: true, thing: "request", per: perCrawl,
		at: func(l *Limits) *int64 { return &l.Requests }, used: func(u *Use) *int64 { return &u.Requests },
	},
	{
		Name: Time, Kind: Span, Doc: "maximum running time", Asked: true, Extent: true, Safety: true, Preset: true, timeout: "Crawl timeout",
		at: func(l *Limits) *int64 { return (*int64)(&l.Time) }, used: func(u *Use) *int64 { return (*int64)(&u.Time) },
	},
	{
		Name: Depth, Doc: "maximum depth, in links from a seed", Asked: true, Extent: true, Safety: true, Most: 65_535, thing: "link", per: "from a seed",
		at: func(l *Limits) *int64 { return &l.Depth },
	},
	{
		Name: Bytes, Kind: Size, Doc: "maximum bytes downloaded, counted before decompression", Asked: true, Extent: true, Safety: true, thing: "byte", per: perCrawl,
		at: func(l *Limits) *int64 { return &l.Bytes }, used: func(u *Use) *int64 { return &u.Bytes },
	},
	{
		Name: PagesPerHost, Doc: "maximum pages per host", Asked: true, Extent: true, Safety: true, thing: "page", per: "per host",
		at: func(l *Limits) *int64 { return &l.PagesPerHost },
	},
	{
		Name: Patience, Kind: Span, Doc: "how long to wait for a held, failing or unreachable host before giving up on it", Asked: true, Safety: true,
		Least: int64(time.Second), timeout: "Patience with a host", at: func(l *Limits) *int64 { return (*int64)(&l.Patience) },
	},
	{
		Name: ConcurrentCrawls, Doc: "maximum concurrent crawls per tenant", thing: "crawl", per: "at a time",
		at: func(l *Limits) *int64 { return &l.ConcurrentCrawls },
	},
	{
		Name: Hosts, Doc: "maximum hosts per crawl, counting the seeds' hosts first", Extent: true, Safety: true, thing: "host", per: perCrawl,
		at: func(l *Limits) *int64 { return &l.Hosts }, used: func(u *Use) *int64 { return &u.Hosts },
	},
	{
		Name: RequestsPerSecond, Doc: "maximum requests per second per tenant, over all its jobs and workers; on one machine, per crawl", Safety: true,
		thing: "request", per: "per second", at: func(l *Limits) *int64 { return &l.RequestsPerSecond },
	},
	{
		Name: Retention, Kind: Span, Doc: "how long results are kept",
		at: func(l *Limits) *int64 { return (*int64)(&l.Retention) },
	},
}

// perCrawl is of a crawl as a whole, or of what a month's quota leaves for it.
const perCrawl = "per crawl"

// Counted are the limits that a [Budget] counts, in the order in which they are
// looked at. The others are asked where they apply: depth and pages per host of a
// URL, patience of a host.
var Counted = []Name{Pages, Requests, Bytes, Time, Hosts}

// Names lists the closed set in the order in which limits are told.
var Names = names()

func names() []Name {
	list := make([]Name, len(Rules))
	for i := range Rules {
		list[i] = Rules[i].Name
	}
	return list
}

// Rule is what is known of the limit; nil for a name that is not in the set.
func (n Name) Rule() *Rule {
	for i := range Rules {
		if Rules[i].Name == n {
			return &Rules[i]
		}
	}
	return nil
}

// Field is the name of the limit in JSON, where durations are in milliseconds.
func (r *Rule) Field() string {
	if r.Kind == Span {
		return string(r.Name) + "_ms"
	}
	return string(r.Name)
}

// At is where limits keep it, durations in nanoseconds.
func (r *Rule) At(l *Limits) *int64 { return r.at(l) }

// Of returns the limit with this name, durations in nanoseconds; 0 for a name
// that is not in the set.
func (l *Limits) Of(n Name) int64 {
	if r := n.Rule(); r != nil {
		return *r.at(l)
	}
	return 0
}

// Of returns what was spent of a limit, durations in nanoseconds; 0 for one that is
// not counted.
func (u Use) Of(n Name) int64 {
	if r := n.Rule(); r != nil && r.used != nil {
		return *r.used(&u)
	}
	return 0
}

// Add adds what else was spent.
func (u *Use) Add(more Use) {
	for i := range Rules {
		if used := Rules[i].used; used != nil {
			*used(u) += *used(&more)
		}
	}
}

// span tells limits that are durations from those that are numbers.
func (n Name) span() bool {
	r := n.Rule()
	return r != nil && r.Kind == Span
}

// Told is an amount of the limit as programs are told it, and its unit: durations
// in milliseconds (ms), bodies in bytes, the rest is a count and has none.
func (n Name) Told(amount int64) (value int64, unit string) {
	r := n.Rule()
	switch {
	case r != nil && r.Kind == Span:
		return time.Duration(amount).Milliseconds(), "ms"
	case r != nil && r.Kind == Size:
		return amount, "bytes"
	default:
		return amount, ""
	}
}

// format writes an amount of the limit for people: numbers as they are, durations to
// the millisecond and without empty units.
func (n Name) format(amount int64) string {
	if !n.span() {
		return strconv.FormatInt(amount, 10)
	}
	s := time.Duration(amount).Round(time.Millisecond).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
