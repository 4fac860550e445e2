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
	Pages        Name = "max_pages"          // pages of a crawl
	Requests     Name = "max_requests"       // requests of a crawl, robots.txt and sitemaps included
	Time         Name = "max_time"           // running time of a crawl
	Depth        Name = "max_depth"          // links from a seed
	Bytes        Name = "max_bytes"          // bytes of bodies as sent
	PagesPerHost Name = "max_pages_per_host" // pages of each host
	Patience     Name = "patience"           // wait for one host that is held, failing or unreadable

	ConcurrentCrawls  Name = "max_concurrent_crawls"   // crawls that run at the same time
	Hosts             Name = "max_hosts"               // hosts of a crawl
	RequestsPerSecond Name = "max_requests_per_second" // over all hosts
	Retention         Name = "retention"               // how long results are kept
)

// Names lists the closed set in the order in which limits are told.
var Names = []Name{
	Pages, Requests, Time, Depth, Bytes, PagesPerHost, Patience,
	ConcurrentCrawls, Hosts, RequestsPerSecond, Retention,
}

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

// Of returns the limit with this name, durations in nanoseconds; 0 for a name
// that is not in the set.
func (l *Limits) Of(n Name) int64 {
	switch n {
	case Pages:
		return l.Pages
	case Requests:
		return l.Requests
	case Time:
		return int64(l.Time)
	case Depth:
		return l.Depth
	case Bytes:
		return l.Bytes
	case PagesPerHost:
		return l.PagesPerHost
	case Patience:
		return int64(l.Patience)
	case ConcurrentCrawls:
		return l.ConcurrentCrawls
	case Hosts:
		return l.Hosts
	case RequestsPerSecond:
		return l.RequestsPerSecond
	case Retention:
		return int64(l.Retention)
	default:
		return 0
	}
}

// span tells limits that are durations from those that are numbers.
func (n Name) span() bool { return n == Time || n == Patience || n == Retention }

// Told is an amount of the limit as programs are told it, and its unit: durations
// in milliseconds (ms), bodies in bytes, the rest is a count and has none.
func (n Name) Told(amount int64) (value int64, unit string) {
	switch {
	case n.span():
		return time.Duration(amount).Milliseconds(), "ms"
	case n == Bytes:
		return amount, "bytes"
	default:
		return amount, ""
	}
}

// format writes an amount of the limit for people: numbers as they are,
// durations in milliseconds and without
// empty units.
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
