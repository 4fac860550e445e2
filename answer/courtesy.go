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

// Receipt is what a webmaster may know of how we treated a host: nothing in it
// is claimed that was not recorded when it happened.
type Receipt struct {
	Host    string    `json:"host"`
	MadeAt  time.Time `json:"made_at"`
	Running bool      `json:"running"` // the crawl goes on, and so will the numbers
	Who     Who       `json:"who"`

	From     time.Time     `json:"from,omitzero"` // the first request that was recorded
	To       time.Time     `json:"to,omitzero"`   // the end of the last
	Requests int64         `json:"requests"`      // for pages, each attempt counted
	Repeated int64         `json:"repeated"`      // of them, attempts that did not end their URL
	Pages    int64         `json:"pages"`         // URLs with a final answer other than a refusal or a redirect
	Bytes    int64         `json:"bytes"`         // of bodies, as they were sent
	Statuses []StatusCount `json:"statuses"`      // of the answers
	// Unsent counts attempts that got no connection: no request left.
	Unsent int64 `json:"unsent,omitempty"`
	// AllSent counts every request, robots.txt and sitemaps and those of other
	// crawls from the same machine included; 0 where that is not known.
	AllSent int64 `json:"all_sent,omitempty"`

	PeakConcurrency int         `json:"peak_concurrency"`          // requests under way at once, at most
	SmallestGap     *ask.Millis `json:"smallest_gap_ms,omitempty"` // between the starts of two requests; none if fewer than two
	SmallestGapAt   time.Time   `json:"smallest_gap_at,omitzero"`
	MedianGap       *ask.Millis `json:"median_gap_ms,omitempty"` // half of the gaps are shorter
	BusiestMinute   int         `json:"busiest_minute"`          // requests in the fullest 60 seconds

	Now    *ask.Host       `json:"now,omitempty"` // the pace that stands
	Robots []RobotsVersion `json:"robots"`        // in the order they were obeyed
	// RobotsNone counts verdicts without a file: the host had none, or it could
	// not be read.
	RobotsNone    int64 `json:"robots_none,omitempty"`
	RobotsIgnored int64 `json:"robots_ignored,omitempty"` // on the word of the host's owner
	Disallowed    int64 `json:"disallowed"`               // URLs that were not asked for because robots.txt forbids it

	Refusals    int64     `json:"refusals"`               // answers 429 and 503, in preset warm 403
	RefusalList []Refusal `json:"refusal_list,omitempty"` // the latest MaxRefusals
	// Incidents are the moments in which the host refused, however many answers
	// said so: those of the list.
	Incidents []Incident `json:"incidents,omitempty"`
	// SentInside counts the requests that left after a refusal was read and before
	// the time was over that it asked for.
	SentInside   int        `json:"sent_inside_retry_after"`
	PaceChanges  []PaceStep `json:"pace_changes,omitempty"`
	Orders       []Order    `json:"orders,omitempty"` // of the operator about the host, the latest MaxOrders
	Instructions []Step     `json:"instructions"`     // how to slow or stop us
	Notes        []string   `json:"notes"`            // what the numbers do not say
}

// Who names those behind a crawl as they named themselves in every request.
type Who struct {
	UserAgent string `json:"user_agent,omitempty"`
	Contact   string `json:"contact,omitempty"`
	Token     string `json:"token"` // the name in robots.txt
}

// StatusCount is how many requests were answered with one status; 0 stands for no
// answer.
type StatusCount struct {
	Status int   `json:"status"`
	N      int64 `json:"n"` // requests
}

// RobotsVersion is a robots.txt that decided.
type RobotsVersion struct {
	SHA256     string    `json:"sha256"`
	Bytes      int       `json:"bytes"` // -1 where the text is no longer kept
	First      time.Time `json:"first_fetched"`
	Last       time.Time `json:"last_confirmed"`
	Decisions  int64     `json:"decisions"`  // about URLs that it made
	Disallowed int64     `json:"disallowed"` // of those, that kept us away
}

// Refusal is one answer that asked us to slow down.
type Refusal struct {
	At         time.Time  `json:"at"` // when it was read
	Status     int        `json:"status"`
	RetryAfter string     `json:"retry_after,omitempty"` // as the server wrote it
	Asked      ask.Millis `json:"asked_ms,omitempty"`    // the same, where it is a number
	URL        string     `json:"url"`

	sent time.Time // its request
}

// Incident is one moment in which the host refused, and what we did: a refusal,
// and those of requests that had left before it was read.
type Incident struct {
	At         time.Time   `json:"at"`
	Answers    int         `json:"answers"`                           // that said so
	Status     int         `json:"status"`                            // of the first
	URL        string      `json:"url"`                               // likewise
	RetryAfter string      `json:"retry_after,omitempty"`             // the longest, or the first that is no number
	Asked      ask.Millis  `json:"asked_ms,omitempty"`                // the same, where it is a number
	PaceFrom   *ask.Millis `json:"pace_from_ms,omitempty"`            // where it changed the pace
	PaceTo     *ask.Millis `json:"pace_to_ms,omitempty"`              // likewise
	Next       *ask.Millis `json:"next_request_ms,omitempty"`         // how long after the last refusal of it the next request left; none if none did
	SentInside int         `json:"sent_inside_retry_after,omitempty"` // requests that left before that time was over

	last  time.Time // its last refusal
	known time.Time // when what followed it was known: the answer to the next request
}

// PaceStep is one change of the pace.
type PaceStep struct {
	At    time.Time  `json:"at"`
	From  ask.Millis `json:"from_ms"` // the interval before
	To    ask.Millis `json:"to_ms"`   // the interval after
	Cause string     `json:"cause"`   // incident, probe, probe_failed, noise, url
}

func newPaceStep(p store.PaceChange) PaceStep {
	return PaceStep{At: p.At.UTC(), From: ask.Millis(p.From), To: ask.Millis(p.To), Cause: p.Cause}
}

// Order is what the operator of the crawl told it to do with the host. Who that
// was is not the webmaster's business.
type Order struct {
	At     time.Time `json:"at"`
	Order  ask.Kind  `json:"order"`
	Before string    `json:"before"` // in words
	After  string    `json:"after"`  // likewise
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

// sameAnswer is how long after an answer a change of pace may still be a
// reaction to it: reading the body and taking a turn in the loop lie between.
const sameAnswer = 5 * time.Second

// Courtesy collects what was recorded of one host. It keeps two numbers for each
// request and a bounded list of refusals.
type Courtesy struct {
	refuses403 bool
	urls       int // that were looked at
	receipt    Receipt
	spans      []span
	refusals   []Refusal
	statuses   map[int]int64
	robots     map[string]*RobotsVersion
}

// span is a request: from the moment it was sent to the end of the answer, in
// Unix nanoseconds.
type span struct{ from, to int64 }

// NewCourtesy begins a receipt. Whether 403 is a refusal depends on the preset of
// the crawl.
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

// unconnected tells reasons for which no request may have left.
func unconnected(r visit.Reason) bool {
	switch r {
	case visit.DNS, visit.Connect, visit.TLS, visit.Timeout, visit.Protocol:
		return true
	}
	return false
}

// evidence notes which robots.txt decided.
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

// request counts a request that left.
func (c *Courtesy) request(v *visit.Visit) {
	c.spans = append(c.spans, span{v.Timing.Sent.UnixNano(), v.Timing.End().UnixNano()})
	c.receipt.Bytes += v.Answer.WireBytes
	c.statuses[v.Answer.Status]++
	switch s := v.Answer.Status; {
	case s == http.StatusTooManyRequests, s == http.StatusServiceUnavailable, s == http.StatusForbidden && c.refuses403:
		c.refused(v)
	}
}

// refused keeps a refusal, and the latest of too many.
func (c *Courtesy) refused(v *visit.Visit) {
	c.receipt.Refusals++
	c.refusals = append(c.refusals, Refusal{
		sent: v.Timing.Sent, At: v.Timing.End().UTC(), Status: v.Answer.Status, RetryAfter: v.Answer.RetryAfter,
		Asked: ask.Millis(seconds(v.Answer.RetryAfter)), URL: visit.Redact(v.Item.URL),
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

// seconds reads a Retry-After that is a number. A date depends on the clock of
// the server, which is not recorded.
func seconds(text string) time.Duration {
	n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 31)
	if err != nil {
		return 0
	}
	return time.Duration(n) * time.Second
}

// Sums are the robots.txt that decided, by SHA-256 in hexadecimal.
func (c *Courtesy) Sums() []string { return slices.Sorted(maps.Keys(c.robots)) }

// CourtesyFacts is what a receipt says besides the requests.
type CourtesyFacts struct {
	Host    string
	MadeAt  time.Time
	Running bool
	Who     Who
	Now     *ask.Host          // how the host stands; nil where nothing is known
	AllSent int64              // see [Receipt.AllSent]
	Paces   []store.PaceChange // oldest first
	Orders  []ask.Change       // of the operator, oldest first; those about other hosts are left out
	Robots  map[string]int     // bytes of the files that Sums names
	Earlier string             // another user agent that earlier runs used; empty for none
	Cut     bool               // not all URLs were counted
	Newest  int                // crawls that were looked at, where there are older ones; 0 for all
}

// Receipt writes the receipt.
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
	r.react(c.spans)
	r.Instructions, r.Notes = instructions(f.Who, f.Host), r.notes()
	if f.Earlier != "" {
		r.Notes = append(r.Notes, fmt.Sprintf("Earlier runs of this crawl named themselves %q.", f.Earlier))
	}
	if f.Newest > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("Only the newest %d jobs were looked at: what older ones asked of the host is not counted.", f.Newest))
	}
	if f.Cut {
		r.Notes = append(r.Notes, fmt.Sprintf("More of the host was asked for than is counted here: the numbers are of %d URLs.", c.urls))
	}
	return &r
}

// peak is how many requests were under way at once.
func peak(spans []span) int {
	ends := make([]int64, len(spans))
	for i, s := range spans {
		ends[i] = s.to
	}
	slices.Sort(ends)
	most, ended := 0, 0
	for i, s := range spans {
		// One that ended at this very moment is over.
		for ended < len(ends) && ends[ended] <= s.from && ended < i {
			ended++
		}
		most = max(most, i+1-ended)
	}
	return most
}

// busiest is how many requests left in the fullest stretch of this length.
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

// gaps measures the times between the starts of requests. They are cut, never
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
	least := ask.Millis(time.Duration(gaps[smallest]).Truncate(time.Millisecond))
	r.SmallestGap, r.SmallestGapAt = &least, time.Unix(0, spans[smallest+1].from).UTC()
	slices.Sort(gaps)
	median := ask.Millis(time.Duration(gaps[len(gaps)/2]).Truncate(time.Millisecond))
	r.MedianGap = &median
}

// react makes incidents of the refusals and says what followed each.
func (r *Receipt) react(spans []span) {
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
			wait := ask.Millis(time.Duration(spans[next].from - at).Truncate(time.Millisecond))
			i.Next, i.known = &wait, time.Unix(0, spans[next].to)
		}
	}
	r.countInside(spans)
	for i := range r.PaceChanges {
		p := &r.PaceChanges[i]
		// The last incident that had begun when the pace changed. Instants are
		// stored in milliseconds, rounded up.
		n, _ := slices.BinarySearchFunc(r.Incidents, p.At, func(x Incident, at time.Time) int {
			if x.At.After(at) {
				return 1
			}
			return -1
		})
		if p.To <= p.From || n == 0 || p.At.Sub(r.Incidents[n-1].known) > sameAnswer {
			continue
		}
		if r.Incidents[n-1].PaceFrom == nil {
			r.Incidents[n-1].PaceFrom = &p.From
		}
		r.Incidents[n-1].PaceTo = &p.To
	}
}

// countInside counts the requests that left though a refusal had been read that
// asked for a time which was not over.
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

// instructions say how a webmaster slows or stops us, without writing to us.
func instructions(w Who, host string) []Step {
	file := host + "/robots.txt"
	steps := []Step{
		{
			"Slow us down", fmt.Sprintf("in %s: \"User-agent: %s\", then \"Crawl-delay: 10\"", file, w.Token),
			fmt.Sprintf("At least that many seconds between requests, one at a time; above %d we stay away. We read the file again within %d hours.", int(robots.MaxDelay.Seconds()), int(robots.MaxFresh.Hours())),
		},
		{
			"Slow us down now", "answer 429 or 503, with Retry-After if you like",
			"Nothing is sent before Retry-After is over, and requests stay further apart afterwards. We never speed up on refusals.",
		},
		{
			"Keep us out", fmt.Sprintf("in %s: \"User-agent: %s\", then \"Disallow: /\"", file, w.Token),
			fmt.Sprintf("Nothing more is asked for once we have read it again, within %d hours.", int(robots.MaxFresh.Hours())),
		},
	}
	if w.Contact != "" {
		steps = append(steps, Step{"Never be crawled again", "write to " + w.Contact, "A host on the list of opt-outs is not contacted at all, not even for robots.txt."})
	}
	return steps
}

// notes say what the numbers leave out.
func (r *Receipt) notes() []string {
	notes := []string{
		"Counts, gaps and concurrency are of requests for pages, each attempt included, from the moment a request left us to the end of its answer. Requests for robots.txt and sitemaps keep the same interval but are not recorded one by one.",
		"A request that was under way when the crawl was killed, or cut off at its end, left no record.",
		"Between hosts at one address we keep a rate, not a gap: of 8 or more active hosts there, each process sends at most one request in 100 ms; hosts of the operator's own are not among them.",
	}
	if r.AllSent > 0 {
		notes[0] += fmt.Sprintf(" All requests to this host that were ever counted here, those and other crawls from this machine included: %d.", r.AllSent)
	}
	if r.Running {
		notes = append(notes, "The crawl still runs: what is under way is not counted yet.")
	}
	if r.Repeated > 0 {
		notes = append(notes, fmt.Sprintf("Of a URL that was tried in vain, the latest %d attempts are kept.", store.MaxAttempts))
	}
	if int64(len(r.RefusalList)) < r.Refusals {
		notes = append(notes, fmt.Sprintf("The latest %d of %d refusals are listed.", len(r.RefusalList), r.Refusals))
	}
	if len(r.PaceChanges) == store.MaxPaceChanges {
		notes = append(notes, fmt.Sprintf("The latest %d changes of pace are kept.", store.MaxPaceChanges))
	}
	if r.RobotsIgnored > 0 {
		notes = append(notes, fmt.Sprintf("For %d requests robots.txt was set aside, on the word of the host's owner.", r.RobotsIgnored))
	}
	return notes
}
