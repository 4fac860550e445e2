package answer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"headway/ask"
	"headway/politeness"
	"headway/store"
	"headway/visit"
)

// Hosts is the state of the hosts of a crawl.
type Hosts struct {
	At      time.Time `json:"at"`
	Running bool      `json:"running"`
	State   string    `json:"state"`            // state of the crawl
	Reason  string    `json:"reason,omitempty"` // reason for that state
	Total   int       `json:"total"`            // number of hosts of the crawl
	Matched int       `json:"matched"`          // number of hosts that match the filter
	Waiting int64     `json:"waiting"`          // pending URLs of the matching hosts
	// Longest is the longest estimate of when a host is done.
	Longest ask.Seconds `json:"longest_eta_guess_seconds,omitempty"`
	Last    string      `json:"longest_eta_host,omitempty"` // the host of that estimate
	Hosts   []Host      `json:"hosts"`
}

// Host is the state of a host in a crawl.
type Host struct {
	ask.Host
	Waiting int64 `json:"waiting"` // pending URLs, including those in flight
	// ETA is the estimated time until the host is done: the rest of its hold, and one
	// pace for each pending URL. There is no estimate if the pace is 0, because the
	// response times then set the rate, nor for a paused host.
	ETA ask.Seconds `json:"eta_guess_seconds,omitempty"`
	// Known is whether anything was learned about the host.
	Known bool `json:"known"`
}

// NewHost describes a host by its stored state under a policy, and by its live state if
// the crawl runs.
func NewHost(e *store.HostEntry, p politeness.Policy, live *ask.Host, now time.Time) (Host, error) {
	h := Host{Waiting: e.Waiting, Known: e.Host.Politeness != nil || live != nil}
	if live != nil {
		h.Host = *live
		h.Waiting = max(h.Waiting, int64(live.Queued))
	} else {
		state := politeness.New(e.Host.Host)
		if e.Host.Politeness != nil {
			if err := state.UnmarshalBinary(e.Host.Politeness); err != nil {
				return Host{}, fmt.Errorf("state of %s: %w", e.Host.Host, err)
			}
		}
		h.Host = ask.HostOf(e.Host.Host, p, state)
		h.InFlight = 0 // nothing runs
	}
	h.Incidents = max(h.Incidents, int(e.Incidents))
	if h.Waiting > 0 && h.Pace > 0 && !h.Paused {
		h.ETA = ask.Seconds(h.Pace.Duration()*time.Duration(h.Waiting) + h.left(now))
	}
	return h, nil
}

// left is how long the host still waits.
func (h *Host) left(now time.Time) time.Duration {
	until := h.HeldUntil
	if h.Until.After(until) {
		until = h.Until
	}
	if until.IsZero() {
		return 0
	}
	return max(until.Sub(now), 0)
}

// Held returns until when the host is on hold, and whether it is.
func (h *Host) Held(now time.Time) (time.Time, bool) { return h.HeldUntil, h.HeldUntil.After(now) }

// HostSorts are the sort orders of a list of hosts: largest first, names from a to z.
// Ties are sorted by name.
var HostSorts = []string{"pace", "wait", "queue", "eta", "incidents", "failures", "in_flight", "name"}

// HostFilters are the filter words of a list of hosts, in addition to parts of their
// names and source=, state= and domain= with a value.
var HostFilters = []string{"waiting", "refusing", "failing", "held", "paused", "learned", "incidents"}

// HostSources are the possible sources of a host's pace.
var HostSources = []string{"base", "crawl_delay", "learned", "operator"}

// HostQuery says which hosts are listed, and in which order.
type HostQuery struct {
	Sort    string   // one of HostSorts; empty is the first
	Filters []string // all must match
	Max     int      // 0 is all
}

// Check reports an invalid sort order or filter.
func (q *HostQuery) Check() error {
	if q.Sort != "" && !slices.Contains(HostSorts, q.Sort) {
		return fmt.Errorf("invalid sort order %q; choose one of %s", q.Sort, strings.Join(HostSorts, ", "))
	}
	for _, f := range q.Filters {
		if err := checkFilter(f); err != nil {
			return fmt.Errorf("invalid filter %q: %w", f, err)
		}
	}
	if q.Max < 0 {
		return fmt.Errorf("invalid value %d for --max: must not be negative", q.Max)
	}
	return nil
}

// checkFilter reports a filter that no host can match.
func checkFilter(f string) error {
	key, value, ok := strings.Cut(f, "=")
	switch {
	case f != "" && !ok, key == "domain", key == "host":
		return nil
	case key == "source":
		return oneOf(value, HostSources)
	case key == "state":
		return oneOf(value, hostStates())
	}
	return fmt.Errorf("use part of a host name, one of %s, or host=, domain=, source= or state= with a value", strings.Join(HostFilters, ", "))
}

// oneOf reports a word that is not on a list.
func oneOf(word string, words []string) error {
	if slices.Contains(words, word) {
		return nil
	}
	return fmt.Errorf("%q is not one of %s", word, strings.Join(words, ", "))
}

// hostStates are the states of a host with work: fetching, or a wait reason.
func hostStates() []string {
	states := []string{"fetching"}
	for _, w := range visit.Waits {
		states = append(states, string(w))
	}
	return states
}

// match reports whether a host matches all filters.
func (q *HostQuery) match(h *Host, now time.Time) bool {
	return !slices.ContainsFunc(q.Filters, func(f string) bool { return !h.matchesFilter(f, now) })
}

// matchesFilter reports whether a host matches one filter.
func (h *Host) matchesFilter(filter string, now time.Time) bool {
	if key, value, ok := strings.Cut(filter, "="); ok {
		switch key {
		case "source":
			return h.Source == value
		case "state":
			return h.State == value
		case "domain":
			return h.Domain == value
		default:
			return strings.Contains(h.Host.Host, strings.ToLower(value))
		}
	}
	switch filter {
	case "waiting":
		return h.Waiting > 0
	case "refusing":
		return h.Refusing
	case "failing":
		return h.Failures > 0
	case "held":
		_, held := h.Held(now)
		return held
	case "paused":
		return h.Paused
	case "learned":
		return h.Learned > 0
	case "incidents":
		return h.Incidents > 0
	}
	return strings.Contains(h.Host.Host, strings.ToLower(filter))
}

// compare compares two hosts by the sort order.
func (q *HostQuery) compare(a, b *Host, now time.Time) int {
	var by int
	switch q.Sort {
	case "wait":
		by = cmp.Compare(b.left(now), a.left(now))
	case "queue":
		by = cmp.Compare(b.Waiting, a.Waiting)
	case "eta":
		by = cmp.Compare(b.ETA, a.ETA)
	case "incidents":
		by = cmp.Compare(b.Incidents, a.Incidents)
	case "failures":
		by = cmp.Compare(b.Failures, a.Failures)
	case "in_flight":
		by = cmp.Compare(b.InFlight, a.InFlight)
	case "name":
	default:
		by = cmp.Compare(b.Pace, a.Pace)
	}
	return cmp.Or(by, cmp.Compare(a.Host.Host, b.Host.Host))
}

// HostLister collects hosts. It keeps at most twice as many as are listed.
type HostLister struct {
	q    HostQuery
	list Hosts
}

// NewHostLister starts a list. The query must have passed Check.
func NewHostLister(q HostQuery, now time.Time, running bool, j store.Job) *HostLister {
	return &HostLister{q, Hosts{At: now.UTC(), Running: running, State: string(j.State), Reason: j.Reason, Hosts: []Host{}}}
}

// Add counts a host, and adds it to the list if it matches.
func (l *HostLister) Add(h Host) {
	l.list.Total++
	if !l.q.match(&h, l.list.At) {
		return
	}
	l.list.Matched++
	l.list.Waiting += h.Waiting
	if h.ETA > l.list.Longest {
		l.list.Longest, l.list.Last = h.ETA, h.Host.Host
	}
	l.list.Hosts = append(l.list.Hosts, h)
	if l.q.Max > 0 && len(l.list.Hosts) >= 2*l.q.Max {
		l.cut()
	}
}

// cut drops the hosts beyond the maximum.
func (l *HostLister) cut() {
	slices.SortFunc(l.list.Hosts, func(a, b Host) int { return l.q.compare(&a, &b, l.list.At) })
	if l.q.Max > 0 {
		l.list.Hosts = l.list.Hosts[:min(len(l.list.Hosts), l.q.Max)]
	}
}

// Hosts returns the list in order.
func (l *HostLister) Hosts() *Hosts {
	l.cut()
	return &l.list
}
