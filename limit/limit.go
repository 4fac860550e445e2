package limit

import (
	"strconv"
	"strings"
	"time"
)

// Name is the name of a limit in flags, config, API and summary.
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

// Limits is what one layer allows. A zero field sets no limit; a negative one allows nothing, as for a
// used-up quota.
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

// Use is what a crawl has used of the limits that are counted.
type Use struct {
	Pages    int64
	Requests int64
	Bytes    int64
	Time     time.Duration // running time of previous runs
	Hosts    int64         // reserved
}

// Kind is the unit of a limit.
type Kind int

// The kinds of limits.
const (
	Count Kind = iota
	Size       // in bytes
	Span       // a time.Duration
)

// Rule describes one limit. Settings, flags, API fields, JSON and messages are generated from it.
type Rule struct {
	Name Name
	Kind Kind
	// Doc says what is limited, without a full stop.
	Doc string
	// Asked says that a job can set it: there are a setting, a flag and an API field.
	Asked bool
	// Extent says that it bounds the size of a crawl: raising it may add work.
	Extent bool
	// Safety says that the operator can set it in the configuration.
	Safety bool
	// Preset says that politeness presets may include it.
	Preset bool
	// Least and Most bound the allowed values; a Most of 0 means no bound.
	Least, Most int64

	// thing and per describe a count in a message: "50 pages per crawl"; timeout is what a span ends:
	// "Crawl timeout exceeded (60000ms)".
	thing, per, timeout string
	at                  func(*Limits) *int64
	used                func(*Use) *int64 // nil if it is not counted; see Counted
}

// Rules are all limits, in display order.
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

// perCrawl marks limits of a whole crawl, or of what a month's quota leaves for it.
const perCrawl = "per crawl"

// Counted are the limits that a [Budget] counts, in the order in which they are checked. The others are
// checked where they apply: depth and pages per host for a URL, patience for a host.
var Counted = []Name{Pages, Requests, Bytes, Time, Hosts}

// Extendable are the limits that can be changed after a job was created.
var Extendable = []Name{Pages, Requests, Bytes, Time}

// Names lists all limits in display order.
var Names = names()

func names() []Name {
	list := make([]Name, len(Rules))
	for i := range Rules {
		list[i] = Rules[i].Name
	}
	return list
}

// Rule returns the rule of the limit; nil for an unknown name.
func (n Name) Rule() *Rule {
	for i := range Rules {
		if Rules[i].Name == n {
			return &Rules[i]
		}
	}
	return nil
}

// Field is the name of the limit in [Fields], where durations are in seconds.
func (r *Rule) Field() string {
	if r.Kind == Span {
		return string(r.Name) + "_seconds"
	}
	return string(r.Name)
}

// At points to the limit in l, durations in nanoseconds.
func (r *Rule) At(l *Limits) *int64 { return r.at(l) }

// String lists the limits that are set, as in `max_pages 50, max_time 1m`.
func (l Limits) String() string {
	var list []string
	for i := range Rules {
		if n := *Rules[i].at(&l); n != 0 {
			list = append(list, string(Rules[i].Name)+" "+Rules[i].Name.format(n))
		}
	}
	if len(list) == 0 {
		return "no limit"
	}
	return strings.Join(list, ", ")
}

// Of returns the limit with this name, durations in nanoseconds; 0 for an unknown name.
func (l *Limits) Of(n Name) int64 {
	if r := n.Rule(); r != nil {
		return *r.at(l)
	}
	return 0
}

// Of returns what was used of a limit, durations in nanoseconds; 0 for one that is not counted.
func (u Use) Of(n Name) int64 {
	if r := n.Rule(); r != nil && r.used != nil {
		return *r.used(&u)
	}
	return 0
}

// Add adds further use.
func (u *Use) Add(more Use) {
	for i := range Rules {
		if used := Rules[i].used; used != nil {
			*used(u) += *used(&more)
		}
	}
}

// span reports whether the limit is a duration.
func (n Name) span() bool {
	r := n.Rule()
	return r != nil && r.Kind == Span
}

// InUnits is an amount of the limit and its unit for machine-readable output: durations in seconds,
// sizes in bytes, counts without a unit.
func (n Name) InUnits(amount int64) (value float64, unit string) {
	r := n.Rule()
	switch {
	case r != nil && r.Kind == Span:
		return time.Duration(amount).Round(time.Millisecond).Seconds(), "seconds"
	case r != nil && r.Kind == Size:
		return float64(amount), "bytes"
	default:
		return float64(amount), ""
	}
}

// format formats an amount of the limit for people: numbers as they are, durations to the millisecond
// and without empty units.
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
