package store

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"headway/job"
	"headway/visit"
	"headway/weburl"
)

// MaxVisits is the maximum of visits and retries in one commit.
const MaxVisits = 1000

// MaxTexts is the maximum size in bytes of the texts of pages in one commit, and of the links
// that are kept; see [visit.Visit.BulkSize].
const MaxTexts = 8 << 20

// MaxPark is the maximum of waiting URLs that one Park ends.
const MaxPark = 10_000

// MaxHosts is the maximum of hosts, pace changes and parks in one commit.
const MaxHosts = 10_000

// Commit is what an owner did since its last commit. It is atomic: on any error nothing
// is applied. An owner sends one commit at a time; several owners may commit
// concurrently.
type Commit struct {
	Worker WorkerID
	// Number counts the commits of the worker, from 1. A number that was already
	// applied is acknowledged with Receipt.Repeated and not applied again, so a commit
	// whose response was lost can be sent again.
	Number int64
	// Leases are those of all slots that the visits, retries, parks, hosts and finished
	// errands belong to. If one is no longer valid, the commit is rejected with
	// ErrFenced.
	Leases []Lease
	At     time.Time

	// Visits end their URLs, which must be waiting, else ErrNotWaiting. The texts of a page,
	// and its links if Page.Links is set, are stored with its visit, and only those of the
	// last one are kept.
	Visits []visit.Visit
	// Retries are attempts that did not end their URLs, which must be waiting.
	Retries []Retry
	// Found are the links of the pages, and any other URLs. They may belong to slots the
	// worker does not own.
	Found []Found
	// Parks end what waits for a job on a host.
	Parks []Park
	// Errands are new errands. They may belong to slots the worker does not own; see
	// [Receipt.Errands].
	Errands []Errand
	// Ran are finished errands, whatever their result. One that does not wait is
	// ignored.
	Ran []Errand

	Hosts   []Host
	Paces   []PaceChange
	Robots  []RobotsVersion
	Returns []Return
	// HostTime is added to the sums of its jobs; see [HostTimes]. Those of missing jobs are
	// ignored.
	HostTime []HostTime
	// Segments are the objects of the archive with the responses to the visits; see
	// [visit.Answer.Archived].
	Segments []Segment
}

// Retry is an attempt that did not end its URL.
type Retry struct {
	Visit     visit.Visit // with outcome pending and the wait reason
	Attempt   int         // attempts that count against the limit, including this one
	NotBefore time.Time   // the earliest time of the next attempt
}

// Park ends the URLs of a job that wait on a host, up to MaxPark of them, with one
// outcome, and its errands there: the job has given up on the host. URLs added later
// wait as usual, and the owner parks them again.
type Park struct {
	Job     job.ID
	Host    string
	Outcome visit.Outcome
	Reason  visit.Reason
}

// Return returns page tokens that were reserved and not used, and requests that were reserved
// and not sent.
type Return struct {
	Job      job.ID
	Tokens   int
	Requests int // see [Queue.ReserveRequests]
}

// Check reports why a commit is invalid, whatever the store holds. An engine calls it
// first.
func (c *Commit) Check() error {
	if c.Number <= 0 {
		return errors.New("commit without a number")
	}
	if n := len(c.Visits) + len(c.Retries); n > MaxVisits {
		return fmt.Errorf("commit %d: %d visits, at most %d", c.Number, n, MaxVisits)
	}
	if len(c.Found) > MaxFound {
		return fmt.Errorf("commit %d: %d found URLs, at most %d", c.Number, len(c.Found), MaxFound)
	}
	ended := make(map[jobURL]bool, len(c.Visits)+len(c.Retries))
	once := func(it *visit.Item) error {
		k := jobURL{it.Job, it.URL}
		if ended[k] {
			return fmt.Errorf("commit %d: two visits of %s", c.Number, it.URL)
		}
		ended[k] = true
		return nil
	}
	texts := 0
	for i := range c.Visits {
		v := &c.Visits[i]
		if err := v.Check(); err != nil {
			return err
		}
		if err := v.CheckLinks(); err != nil {
			return err
		}
		if texts += v.BulkSize(); texts > MaxTexts {
			return fmt.Errorf("commit %d: more than %d bytes of text and links", c.Number, MaxTexts)
		}
		if v.Outcome == visit.Pending {
			return fmt.Errorf("visit %s: pending does not end it; make it a retry", v.Item.URL)
		}
		if err := once(&v.Item); err != nil {
			return err
		}
	}
	for i := range c.Retries {
		r := &c.Retries[i]
		if err := r.Visit.Check(); err != nil {
			return err
		}
		if r.Visit.Outcome != visit.Pending || r.Attempt < 0 {
			return fmt.Errorf("retry %s: outcome %s, attempt %d", r.Visit.Item.URL, r.Visit.Outcome, r.Attempt)
		}
		if err := once(&r.Visit.Item); err != nil {
			return err
		}
	}
	for i := range c.Found {
		if err := c.Found[i].Check(); err != nil {
			return err
		}
	}
	return c.checkRest()
}

// checkRest checks what does not concern single URLs.
func (c *Commit) checkRest() error {
	if n := max(len(c.Hosts), len(c.Paces), len(c.Parks)); n > MaxHosts {
		return fmt.Errorf("commit %d: %d hosts, at most %d", c.Number, n, MaxHosts)
	}
	if len(c.Robots) > MaxVisits {
		return fmt.Errorf("commit %d: %d robots.txt, at most %d", c.Number, len(c.Robots), MaxVisits)
	}
	hosts := make(map[string]bool, len(c.Hosts))
	for i := range c.Hosts {
		h := &c.Hosts[i]
		if err := h.Check(); err != nil {
			return err
		}
		if hosts[h.Host] {
			return fmt.Errorf("commit %d: two states of %s", c.Number, h.Host)
		}
		hosts[h.Host] = true
	}
	if err := c.checkParks(); err != nil {
		return err
	}
	if err := c.checkErrands(); err != nil {
		return err
	}
	for i := range c.Paces {
		if _, err := ParseHost(c.Paces[i].Host); err != nil {
			return err
		}
	}
	for i := range c.Robots {
		if err := c.Robots[i].Check(); err != nil {
			return err
		}
	}
	for _, r := range c.Returns {
		if r.Tokens < 0 || r.Requests < 0 || r.Tokens+r.Requests == 0 {
			return fmt.Errorf("return %d tokens and %d requests of job %d", r.Tokens, r.Requests, r.Job)
		}
	}
	if err := c.checkSegments(); err != nil {
		return err
	}
	if len(c.HostTime) > MaxHostTimes {
		return fmt.Errorf("commit %d: %d host times, at most %d", c.Number, len(c.HostTime), MaxHostTimes)
	}
	for _, h := range c.HostTime {
		if h.State == "" || h.Spent < 0 {
			return fmt.Errorf("host time %s in state %q of job %d", h.Spent, h.State, h.Job)
		}
	}
	return nil
}

// checkParks checks the parks.
func (c *Commit) checkParks() error {
	for _, p := range c.Parks {
		if _, err := ParseHost(p.Host); err != nil {
			return err
		}
		if err := visit.Check(p.Outcome, p.Reason, ""); err != nil {
			return fmt.Errorf("park %s: %w", p.Host, err)
		}
		if p.Outcome == visit.Pending || p.Reason.Provisional() {
			return fmt.Errorf("park %s: a parked URL ends for good, not %s %s", p.Host, p.Outcome, p.Reason)
		}
	}
	return nil
}

// jobURL is the unique key: one URL of one job.
type jobURL struct {
	job job.ID
	url weburl.URL
}

// RequiredJobs lists the jobs that must exist, each once, else the commit is rejected
// with ErrNotFound: those of found URLs, parks, new errands and returns. A visit or retry
// of a missing job is one of a URL that does not wait, and a finished errand of a missing
// job is ignored.
func (c *Commit) RequiredJobs() []job.ID {
	ids := map[job.ID]bool{}
	for i := range c.Found {
		ids[c.Found[i].Item.Job] = true
	}
	for _, p := range c.Parks {
		ids[p.Job] = true
	}
	for i := range c.Errands {
		ids[c.Errands[i].Job] = true
	}
	for _, r := range c.Returns {
		ids[r.Job] = true
	}
	return slices.Sorted(maps.Keys(ids))
}

// HostNames is the set of hosts named in a commit. Out-of-scope URLs are not included.
func (c *Commit) HostNames() map[string]bool {
	hosts := map[string]bool{}
	for i := range c.Visits {
		hosts[c.Visits[i].Item.URL.Host()] = true
	}
	for i := range c.Retries {
		hosts[c.Retries[i].Visit.Item.URL.Host()] = true
	}
	for i := range c.Found {
		if !c.Found[i].Aside() {
			hosts[c.Found[i].Item.URL.Host()] = true
		}
	}
	for i := range c.Hosts {
		hosts[c.Hosts[i].Host] = true
	}
	for _, p := range c.Parks {
		hosts[p.Host] = true
	}
	for _, p := range c.Paces {
		hosts[p.Host] = true
	}
	for _, list := range [][]Errand{c.Errands, c.Ran} {
		for i := range list {
			hosts[list[i].URL.Host()] = true
		}
	}
	return hosts
}

// Slots returns the slots whose leases a commit must name, in order, each once.
func (c *Commit) Slots(k weburl.Key) []Slot {
	domains := make(map[string]bool, len(c.Visits))
	for i := range c.Visits {
		domains[c.Visits[i].Item.URL.Domain()] = true
	}
	for i := range c.Retries {
		domains[c.Retries[i].Visit.Item.URL.Domain()] = true
	}
	for i := range c.Ran {
		domains[c.Ran[i].URL.Domain()] = true
	}
	add := func(host string) {
		if u, err := ParseHost(host); err == nil {
			domains[u.Domain()] = true
		}
	}
	for i := range c.Hosts {
		add(c.Hosts[i].Host)
	}
	for _, p := range c.Parks {
		add(p.Host)
	}
	slots := make([]Slot, 0, len(domains))
	for d := range domains {
		slots = append(slots, SlotOf(k, d))
	}
	slices.Sort(slots)
	return slices.Compact(slots)
}

// CheckLeases reports the first slot of the commit without a lease. An engine calls it
// before it compares the fences with its own.
func (c *Commit) CheckLeases(k weburl.Key) error {
	named := make(map[Slot]bool, len(c.Leases))
	for _, l := range c.Leases {
		named[l.Slot] = true
	}
	for _, s := range c.Slots(k) {
		if !named[s] {
			return fmt.Errorf("commit %d names no lease of slot %d: %w", c.Number, s, ErrFenced)
		}
	}
	return nil
}
