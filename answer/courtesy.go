package answer

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"headway/ask"
	"headway/robots"
	"headway/store"
	"headway/visit"
)

// Receipt is the courtesy receipt of a host, for its webmaster: everything in it
// was recorded when it happened.
type Receipt struct {
	Host    string    `json:"host"`
	MadeAt  time.Time `json:"created_at"`
	Running bool      `json:"running"` // whether the crawl is still running, so that the numbers will change
	Who     Who       `json:"who"`

	From     time.Time     `json:"from,omitzero"` // the first recorded request
	To       time.Time     `json:"to,omitzero"`   // the end of the last request
	Requests int64         `json:"requests"`      // page requests, counting every attempt
	Repeated int64         `json:"repeated"`      // of these, attempts that were retried
	Pages    int64         `json:"pages"`         // URLs with a final response other than a refusal or a redirect
	Bytes    int64         `json:"bytes"`         // bytes of response bodies, as transferred
	Statuses []StatusCount `json:"statuses"`      // responses by HTTP status
	// Unsent counts attempts that failed to connect, so that no request was sent.
	Unsent int64 `json:"unsent,omitempty"`
	// AllSent counts every request, including robots.txt, sitemaps and those of other
	// crawls from the same machine; 0 if not known.
	AllSent int64 `json:"all_sent,omitempty"`

	PeakConcurrency int          `json:"peak_concurrency"`               // maximum number of concurrent requests
	SmallestGap     *ask.Seconds `json:"smallest_gap_seconds,omitempty"` // smallest interval between the starts of two requests; absent with fewer than two
	SmallestGapAt   time.Time    `json:"smallest_gap_at,omitzero"`
	MedianGap       *ask.Seconds `json:"median_gap_seconds,omitempty"` // median interval
	BusiestMinute   int          `json:"busiest_minute"`               // most requests within 60 seconds

	Now    *ask.Host       `json:"now,omitempty"` // the current state of the host
	Robots []RobotsVersion `json:"robots"`        // versions of robots.txt, in the order they applied
	// RobotsNone counts decisions without robots.txt: the host had none, or it could
	// not be read.
	RobotsNone    int64 `json:"robots_none,omitempty"`
	RobotsIgnored int64 `json:"robots_ignored,omitempty"` // decisions that ignored robots.txt because the host is owned
	Disallowed    int64 `json:"disallowed"`               // URLs not requested because robots.txt disallows them

	Refusals    int64     `json:"refusals"`               // refusals: responses 429 and 503, in preset warm also 403
	RefusalList []Refusal `json:"refusal_list,omitempty"` // the latest refusals
	// Incidents are the moments in which the host refused, each counted once however
	// many responses showed it; from the listed refusals.
	Incidents []Incident `json:"incidents,omitempty"`
	// SentInside counts the requests sent after a refusal was read and before
	// its Retry-After had passed.
	SentInside   int        `json:"sent_inside_retry_after"`
	PaceChanges  []PaceStep `json:"pace_changes,omitempty"`
	Orders       []Order    `json:"orders,omitempty"` // the latest orders of the operator for the host
	Instructions []Step     `json:"instructions"`     // how to slow or stop the crawler
	Notes        []string   `json:"notes"`            // remarks that the numbers do not show
}

// Who is the identity that the crawler sent with every request.
type Who struct {
	UserAgent string `json:"user_agent,omitempty"`
	Contact   string `json:"contact,omitempty"`
	Token     string `json:"token"` // the name in robots.txt
}

// StatusCount is the number of requests with one HTTP status; 0 stands for no
// response.
type StatusCount struct {
	Status int   `json:"status"`
	N      int64 `json:"n"` // requests
}

// RobotsVersion is a version of robots.txt that was applied.
type RobotsVersion struct {
	SHA256     string    `json:"sha256"`
	Bytes      int       `json:"bytes"` // size; -1 if the text is no longer kept
	First      time.Time `json:"first_fetched_at"`
	Last       time.Time `json:"last_confirmed_at"`
	Decisions  int64     `json:"decisions"`  // number of URLs it decided on
	Disallowed int64     `json:"disallowed"` // of these, the URLs it disallowed
}

// Refusal is one response that refused a request for now.
type Refusal struct {
	At         time.Time   `json:"at"` // when it was read
	Status     int         `json:"status"`
	RetryAfter string      `json:"retry_after,omitempty"`         // the header as sent by the server
	Asked      ask.Seconds `json:"retry_after_seconds,omitempty"` // the same as a duration, if valid
	URL        string      `json:"url"`

	sent time.Time // its request
}

// Incident is one moment in which the host refused, and the reaction: a refusal,
// together with those of requests sent before it was read.
type Incident struct {
	At         time.Time    `json:"at"`
	Answers    int          `json:"answers"`                           // number of refusals in it
	Status     int          `json:"status"`                            // status of the first refusal
	URL        string       `json:"url"`                               // URL of the first refusal
	RetryAfter string       `json:"retry_after,omitempty"`             // the longest one, or the first that is not a number
	Asked      ask.Seconds  `json:"retry_after_seconds,omitempty"`     // the same as a duration, if valid
	PaceFrom   *ask.Seconds `json:"pace_from_seconds,omitempty"`       // the pace before, if it changed
	PaceTo     *ask.Seconds `json:"pace_to_seconds,omitempty"`         // the pace after, if it changed
	Next       *ask.Seconds `json:"next_request_seconds,omitempty"`    // time from its last refusal to the next request; absent if there was none
	SentInside int          `json:"sent_inside_retry_after,omitempty"` // requests sent before Retry-After had passed

	last  time.Time // its last refusal
	known time.Time // when what followed it was known: the answer to the next request
}

// PaceStep is one change of the pace.
type PaceStep struct {
	At    time.Time   `json:"at"`
	From  ask.Seconds `json:"from_seconds"` // the interval before
	To    ask.Seconds `json:"to_seconds"`   // the interval after
	Cause string      `json:"cause"`        // incident, probe, probe_failed, noise, url
}

func newPaceStep(p store.PaceChange) PaceStep {
	return PaceStep{At: p.At.UTC(), From: ask.Seconds(p.From), To: ask.Seconds(p.To), Cause: p.Cause}
}

// Order is an order of the operator for the host. Who gave it
// is not shown to the webmaster.
type Order struct {
	At     time.Time `json:"at"`
	Order  ask.Kind  `json:"order"`
	Before string    `json:"before"` // the state before, in words
	After  string    `json:"after"`  // the state after, in words
}

// MaxOrders is how many orders a receipt lists: the latest.
const MaxOrders = 100

// Step is something a webmaster can do, and what follows.
type Step struct {
	Goal   string `json:"goal"`
	How    string `json:"how"`
	Effect string `json:"effect"`
}

// MaxRefusals is how many refusals a receipt lists: the latest.
const MaxRefusals = 1000

// reactionTime is how long after a response a change of pace may still be a reaction to
// it: reading the body and the loop's next turn take time.
const reactionTime = 5 * time.Second

// Courtesy collects the records about one host. It keeps two numbers per request and a
// bounded list of refusals.
type Courtesy struct {
	refuses403 bool
	urls       int // URLs counted
	receipt    Receipt
	spans      []span
	refusals   []Refusal
	statuses   map[int]int64
	robots     map[string]*RobotsVersion
}

// span is a request, from sending to the end of the response, in Unix nanoseconds.
type span struct{ from, to int64 }

// NewCourtesy starts a receipt. Whether 403 is a refusal depends on the preset of the
// crawl.
func NewCourtesy(refuses403 bool) *Courtesy {
	return &Courtesy{refuses403: refuses403, statuses: map[int]int64{}, robots: map[string]*RobotsVersion{}}
}

// Add counts the visit that ended a URL.
func (c *Courtesy) Add(v *visit.Visit) {
	c.evidence(v)
	if v.Outcome.Page() {
		c.receipt.Pages++
	}
	if v.Timing.Sent.IsZero() {
		if v.Outcome == visit.Failed && unconnected(v.Reason) {
			c.receipt.Unsent++
		}
		return
	}
	c.request(v)
}

// AddAttempt counts an attempt that did not end its URL.
func (c *Courtesy) AddAttempt(v *visit.Visit) {
	if v.Timing.Sent.IsZero() {
		c.receipt.Unsent++
		return
	}
	c.receipt.Repeated++
	c.request(v)
}

// unconnected reports whether no request was sent for this reason.
func unconnected(r visit.Reason) bool {
	switch r {
	case visit.DNS, visit.Connect, visit.TLS, visit.Timeout, visit.Protocol:
		return true
	}
	return false
}

// evidence records which robots.txt decided.
func (c *Courtesy) evidence(v *visit.Visit) {
	for _, e := range v.Evidence {
		switch e.Kind {
		case visit.Override:
			c.receipt.RobotsIgnored++
			continue
		case visit.RobotsAllowed, visit.BlockedByRobots:
		default:
			continue
		}
		blocked := int64(0)
		if e.Kind == visit.BlockedByRobots {
			blocked = 1
		}
		c.receipt.Disallowed += blocked
		if e.Source == "" {
			c.receipt.RobotsNone++
			continue
		}
		r := c.robots[e.Source]
		if r == nil {
			r = &RobotsVersion{SHA256: e.Source, Bytes: -1, First: e.SourceAt, Last: e.SourceAt}
			c.robots[e.Source] = r
		}
		if e.SourceAt.Before(r.First) {
			r.First = e.SourceAt
		}
		if e.SourceAt.After(r.Last) {
			r.Last = e.SourceAt
		}
		r.Decisions++
		r.Disallowed += blocked
	}
}

// request counts a request that was sent.
func (c *Courtesy) request(v *visit.Visit) {
	c.spans = append(c.spans, span{v.Timing.Sent.UnixNano(), v.Timing.End().UnixNano()})
	c.receipt.Bytes += v.Answer.WireBytes
	c.statuses[v.Answer.Status]++
	switch s := v.Answer.Status; {
	case s == http.StatusTooManyRequests, s == http.StatusServiceUnavailable, s == http.StatusForbidden && c.refuses403:
		c.refused(v)
	}
}

// refused records a refusal; of too many the latest are kept.
func (c *Courtesy) refused(v *visit.Visit) {
	c.receipt.Refusals++
	c.refusals = append(c.refusals, Refusal{
		sent: v.Timing.Sent, At: v.Timing.End().UTC(), Status: v.Answer.Status, RetryAfter: v.Answer.RetryAfter,
		Asked: ask.Seconds(seconds(v.Answer.RetryAfter)), URL: visit.Redact(v.Item.URL),
	})
	if len(c.refusals) >= 2*MaxRefusals {
		c.refusals = latest(c.refusals)
	}
}

// latest returns the latest refusals in order.
func latest(list []Refusal) []Refusal {
	slices.SortStableFunc(list, func(a, b Refusal) int { return a.At.Compare(b.At) })
	return list[max(0, len(list)-MaxRefusals):]
}

// seconds reads a Retry-After in seconds. A date depends on the server's clock, which
// is not recorded.
func seconds(text string) time.Duration {
	n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 31)
	if err != nil {
		return 0
	}
	return time.Duration(n) * time.Second
}

// Sums are the SHA-256 sums, in hex, of the robots.txt files that decided.
func (c *Courtesy) Sums() []string { return slices.Sorted(maps.Keys(c.robots)) }

// CourtesyFacts are the facts of a receipt other than the requests.
type CourtesyFacts struct {
	Host    string
	MadeAt  time.Time
	Running bool
	Who     Who
	Now     *ask.Host          // current state of the host; nil if not known
	AllSent int64              // see [Receipt.AllSent]
	Paces   []store.PaceChange // oldest first
	Orders  []ask.Change       // of the operator, oldest first; those for other hosts are ignored
	Robots  map[string]int     // size in bytes of the files in Sums
	Earlier string             // another user agent that earlier runs used; empty for none
	Cut     bool               // not all URLs were counted
	Newest  int                // number of crawls included, if there are older ones; 0 means all
}

// Receipt builds the receipt.
func (c *Courtesy) Receipt(f CourtesyFacts) *Receipt {
	r := c.receipt
	r.Host, r.MadeAt, r.Running, r.Who, r.Now, r.AllSent = f.Host, f.MadeAt.UTC(), f.Running, f.Who, f.Now, f.AllSent
	slices.SortFunc(c.spans, func(a, b span) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	r.Requests = int64(len(c.spans))
	if len(c.spans) > 0 {
		r.From = time.Unix(0, c.spans[0].from).UTC()
		r.To = time.Unix(0, slices.MaxFunc(c.spans, func(a, b span) int { return cmp.Compare(a.to, b.to) }).to).UTC()
	}
	r.PeakConcurrency, r.BusiestMinute = peak(c.spans), busiest(c.spans, time.Minute)
	r.gaps(c.spans)
	r.Statuses = []StatusCount{}
	for _, s := range slices.Sorted(maps.Keys(c.statuses)) {
		r.Statuses = append(r.Statuses, StatusCount{s, c.statuses[s]})
	}
	r.Robots = []RobotsVersion{}
	for sum, v := range c.robots {
		version := *v
		if n, ok := f.Robots[sum]; ok {
			version.Bytes = n
		}
		r.Robots = append(r.Robots, version)
	}
	slices.SortFunc(r.Robots, func(a, b RobotsVersion) int {
		return cmp.Or(a.First.Compare(b.First), cmp.Compare(a.SHA256, b.SHA256))
	})
	for _, p := range f.Paces {
		r.PaceChanges = append(r.PaceChanges, newPaceStep(p))
	}
	for _, o := range f.Orders {
		if o.Host == f.Host {
			r.Orders = append(r.Orders, Order{At: o.At.UTC(), Order: o.Order, Before: o.Before, After: o.After})
		}
	}
	r.Orders = r.Orders[max(0, len(r.Orders)-MaxOrders):]
	r.RefusalList = slices.Clone(latest(c.refusals))
	r.groupIncidents(c.spans)
	r.Instructions, r.Notes = instructions(f.Who, f.Host), r.notes()
	if f.Earlier != "" {
		r.Notes = append(r.Notes, fmt.Sprintf("Earlier runs of this crawl used the user agent %q.", f.Earlier))
	}
	if f.Newest > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("Only the newest %d jobs are included; requests of older jobs are not counted.", f.Newest))
	}
	if f.Cut {
		r.Notes = append(r.Notes, fmt.Sprintf("The counts cover only %d URLs; more URLs of this host were requested.", c.urls))
	}
	return &r
}

// peak returns the maximum number of concurrent requests.
func peak(spans []span) int {
	ends := make([]int64, len(spans))
	for i, s := range spans {
		ends[i] = s.to
	}
	slices.Sort(ends)
	most, ended := 0, 0
	for i, s := range spans {
		// A request that ended exactly now is not concurrent.
		for ended < len(ends) && ends[ended] <= s.from && ended < i {
			ended++
		}
		most = max(most, i+1-ended)
	}
	return most
}

// busiest returns the maximum number of requests within a window of this length.
func busiest(spans []span, length time.Duration) int {
	most, first := 0, 0
	for i := range spans {
		for spans[i].from-spans[first].from >= int64(length) {
			first++
		}
		most = max(most, i+1-first)
	}
	return most
}

// gaps measures the intervals between the starts of requests. They are truncated, never
// rounded up.
func (r *Receipt) gaps(spans []span) {
	if len(spans) < 2 {
		return
	}
	gaps := make([]int64, len(spans)-1)
	smallest := 0
	for i := range gaps {
		gaps[i] = spans[i+1].from - spans[i].from
		if gaps[i] < gaps[smallest] {
			smallest = i
		}
	}
	least := ask.Seconds(time.Duration(gaps[smallest]).Truncate(time.Millisecond))
	r.SmallestGap, r.SmallestGapAt = &least, time.Unix(0, spans[smallest+1].from).UTC()
	slices.Sort(gaps)
	median := ask.Seconds(time.Duration(gaps[len(gaps)/2]).Truncate(time.Millisecond))
	r.MedianGap = &median
}

// groupIncidents groups the refusals into incidents and records the reaction to each.
func (r *Receipt) groupIncidents(spans []span) {
	for _, x := range r.RefusalList {
		n := len(r.Incidents)
		if n == 0 || x.sent.After(r.Incidents[n-1].At) {
			r.Incidents = append(r.Incidents, Incident{At: x.At, Status: x.Status, URL: x.URL, RetryAfter: x.RetryAfter})
			n++
		}
		i := &r.Incidents[n-1]
		i.Answers++
		i.last = x.At
		if x.Asked > i.Asked {
			i.Asked, i.RetryAfter = x.Asked, x.RetryAfter
		}
	}
	for n := range r.Incidents {
		i := &r.Incidents[n]
		at := i.last.UnixNano()
		i.known = i.last
		next, _ := slices.BinarySearchFunc(spans, at, func(s span, at int64) int { return cmp.Compare(s.from, at) })
		if next < len(spans) {
			wait := ask.Seconds(time.Duration(spans[next].from - at).Truncate(time.Millisecond))
			i.Next, i.known = &wait, time.Unix(0, spans[next].to)
		}
	}
	r.countInside(spans)
	for i := range r.PaceChanges {
		p := &r.PaceChanges[i]
		// The last incident that had started when the pace changed. Times are stored
		// in milliseconds, rounded up.
		n, _ := slices.BinarySearchFunc(r.Incidents, p.At, func(x Incident, at time.Time) int {
			if x.At.After(at) {
				return 1
			}
			return -1
		})
		if p.To <= p.From || n == 0 || p.At.Sub(r.Incidents[n-1].known) > reactionTime {
			continue
		}
		if r.Incidents[n-1].PaceFrom == nil {
			r.Incidents[n-1].PaceFrom = &p.From
		}
		r.Incidents[n-1].PaceTo = &p.To
	}
}

// countInside counts the requests sent before the Retry-After of an already read refusal
// had passed.
func (r *Receipt) countInside(spans []span) {
	read, incident, until := 0, -1, int64(0)
	for _, s := range spans {
		for ; read < len(r.RefusalList) && r.RefusalList[read].At.UnixNano() <= s.from; read++ {
			x := &r.RefusalList[read]
			for incident+1 < len(r.Incidents) && !r.Incidents[incident+1].At.After(x.At) {
				incident++
			}
			until = max(until, x.At.UnixNano()+int64(x.Asked))
		}
		if s.from < until {
			r.SentInside++
			r.Incidents[incident].SentInside++
		}
	}
}

// instructions say how a site owner can slow or stop us without contacting us.
func instructions(w Who, host string) []Step {
	file := host + "/robots.txt"
	steps := []Step{
		{
			"Slow us down", fmt.Sprintf("in %s: \"User-agent: %s\", then \"Crawl-delay: 10\"", file, w.Token),
			fmt.Sprintf("We wait at least that many seconds between requests and send one at a time. Above %d seconds we do not crawl the host. We re-read the file within %d hours.", int(robots.MaxDelay.Seconds()), int(robots.MaxFresh.Hours())),
		},
		{
			"Slow us down now", "answer 429 or 503, optionally with Retry-After",
			"We send nothing until Retry-After has passed, and keep a longer interval afterwards. Refusals never make us faster.",
		},
		{
			"Keep us out", fmt.Sprintf("in %s: \"User-agent: %s\", then \"Disallow: /\"", file, w.Token),
			fmt.Sprintf("We send no further requests once we have re-read the file, within %d hours.", int(robots.MaxFresh.Hours())),
		},
	}
	if w.Contact != "" {
		steps = append(steps, Step{"Opt out for good", "write to " + w.Contact, "A host on the opt-out list is never contacted, not even for robots.txt."})
	}
	return steps
}

// notes say what the numbers do not show.
func (r *Receipt) notes() []string {
	notes := []string{
		"Counts, intervals and concurrency cover page requests, including every retry, from the moment a request was sent to the end of its response. Requests for robots.txt and sitemaps keep the same interval but are not recorded individually.",
		"A request that was in flight when the crawl was killed or stopped is not recorded.",
		"For hosts that share an IP address we limit the rate, not the interval: with 8 or more active hosts there, each process sends at most one request per 100 ms. Hosts owned by the operator are exempt.",
	}
	if r.AllSent > 0 {
		notes[0] += fmt.Sprintf(" Requests to this host ever sent from this machine, including robots.txt, sitemaps and other crawls: %d.", r.AllSent)
	}
	if r.Running {
		notes = append(notes, "The crawl is still running: requests in flight are not counted yet.")
	}
	if r.Repeated > 0 {
		notes = append(notes, fmt.Sprintf("For a URL that failed repeatedly, only the latest %d attempts are stored.", store.MaxAttempts))
	}
	if int64(len(r.RefusalList)) < r.Refusals {
		notes = append(notes, fmt.Sprintf("Only the latest %d of %d refusals are listed.", len(r.RefusalList), r.Refusals))
	}
	if len(r.PaceChanges) == store.MaxPaceChanges {
		notes = append(notes, fmt.Sprintf("Only the latest %d pace changes are stored.", store.MaxPaceChanges))
	}
	if r.RobotsIgnored > 0 {
		notes = append(notes, fmt.Sprintf("For %d requests robots.txt was ignored with the host owner's permission.", r.RobotsIgnored))
	}
	return notes
}
