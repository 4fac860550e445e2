package ownership

import (
	"slices"
	"time"

	"headway/store"
)

// Times of sharing domains with other processes: a domain is handed over within
// [store.HandOver]. Waiting for one is polled often, because the time between its release
// and the next poll is lost to all; less often if a query takes long.
const (
	claimEvery  = 20 * time.Millisecond
	claimSeldom = 250 * time.Millisecond
	claimShare  = 5 // at most a sixth of the time is spent on polling
	wantedEvery = 500 * time.Millisecond
	minTurn     = time.Second // a domain we waited for is kept at least this long
)

// MaxLoad is how many hosts are loaded at a time, maxHolders how many reported processes
// are remembered.
const (
	MaxLoad    = 1000
	maxHolders = 1000
)

// Domains tracks the domains that are ours, wanted, or being handed over. One query about
// them runs at a time, so that no result is older than what was done since.
type Domains struct {
	querying bool
	wanted   []string  // hosts to be loaded, claiming their domains
	denied   []string  // wanted, and held by another process
	askAt    time.Time // when to retry those
	wantAt   time.Time // when to check next whether others want ours

	yields   map[string]bool      // being handed over: true when no request is under way
	turns    map[string]time.Time // when we got domains we had waited for
	doubts   map[string]bool      // granted before the process was suspended: the previous owner's actions are unknown
	clean    map[string]bool      // handed over cleanly since the start
	reported map[store.Holder]bool
}

// NewDomains returns an empty set.
func NewDomains() *Domains {
	return &Domains{yields: map[string]bool{}, turns: map[string]time.Time{}, doubts: map[string]bool{}, clean: map[string]bool{}, reported: map[store.Holder]bool{}}
}

// Want adds hosts to be loaded.
func (d *Domains) Want(hosts []string) { d.wanted = append(d.wanted, hosts...) }

// StartQuery notes that a query is under way.
func (d *Domains) StartQuery() { d.querying = true }

// EndQuery notes that no query is under way.
func (d *Domains) EndQuery() { d.querying = false }

// Querying reports whether a query is under way.
func (d *Domains) Querying() bool { return d.querying }

// Busy reports whether hosts are being loaded or wait for it.
func (d *Domains) Busy() bool { return d.querying || len(d.wanted) > 0 || len(d.denied) > 0 }

// RetryAt is when to retry hosts that others hold; not ok if there are none, or a query is
// under way.
func (d *Domains) RetryAt() (at time.Time, ok bool) { return d.askAt, len(d.denied) > 0 && !d.querying }

// Retry adds the hosts that others held to the wanted ones when it is time.
func (d *Domains) Retry(now time.Time) {
	if len(d.denied) > 0 && !now.Before(d.askAt) {
		d.wanted = append(d.wanted, d.denied...)
		d.denied = nil
	}
}

// Next takes the hosts to load now. Those of domains being handed over wait.
func (d *Domains) Next(domainOf func(host string) string) (hosts []string) {
	var later []string
	for i, h := range d.wanted {
		if len(hosts) == MaxLoad {
			later = append(later, d.wanted[i:]...)
			break
		}
		if domain := domainOf(h); domain != "" && d.Yielding(domain) {
			later = append(later, h)
			continue
		}
		hosts = append(hosts, h)
	}
	d.wanted = later
	return hosts
}

// Doubt adds hosts to the wanted ones again because the process was suspended during the
// query: granted domains may have been taken since.
func (d *Domains) Doubt(hosts, granted []string) {
	d.wanted = append(d.wanted, hosts...)
	for _, domain := range granted {
		d.doubts[domain] = true
	}
}

// Doubted reports whether a domain was granted during such a query.
func (d *Domains) Doubted(domain string) bool { return d.doubts[domain] }

// Denied notes that another process holds a host.
func (d *Domains) Denied(host string) { d.denied = append(d.denied, host) }

// BeginTurn notes that we got a domain we had waited for.
func (d *Domains) BeginTurn(now time.Time, domain string) { d.turns[domain] = now }

// Loaded notes a completed query and its duration, and clears doubts.
func (d *Domains) Loaded(now time.Time, took time.Duration, granted []string) {
	for _, domain := range granted {
		delete(d.doubts, domain)
	}
	d.askAt = now.Add(min(max(claimEvery, claimShare*took), claimSeldom))
}

// WantedDue reports whether to check now what others want, and schedules the next check.
func (d *Domains) WantedDue(now time.Time) bool {
	if now.Before(d.wantAt) {
		return false
	}
	d.wantAt = now.Add(wantedEvery)
	return true
}

// Awaited returns the hosts that are wanted or denied.
func (d *Domains) Awaited() []string { return slices.Concat(d.wanted, d.denied) }

// StartYield starts the handover of a domain; false if it has started already.
func (d *Domains) StartYield(domain string) bool {
	if d.Yielding(domain) {
		return false
	}
	d.yields[domain] = false
	return true
}

// TurnOver reports whether we have kept a domain for the minimum time.
func (d *Domains) TurnOver(now time.Time, domain string) bool {
	return !now.Before(d.turns[domain].Add(minTurn))
}

// Yielding reports whether a domain is being handed over.
func (d *Domains) Yielding(domain string) bool {
	_, ok := d.yields[domain]
	return ok
}

// Quiet notes that a domain has no requests under way.
func (d *Domains) Quiet(domain string) {
	if d.Yielding(domain) {
		d.yields[domain] = true
	}
}

// IsQuiet reports whether a domain is being handed over and has no requests under way.
func (d *Domains) IsQuiet(domain string) bool { return d.yields[domain] }

// Yields returns the domains being handed over, and whether each is quiet.
func (d *Domains) Yields() map[string]bool { return d.yields }

// Yielded notes that domains were handed over cleanly.
func (d *Domains) Yielded(domains []string) {
	for _, domain := range domains {
		d.clean[domain] = true
		d.Forget(domain)
		delete(d.turns, domain)
	}
}

// Forget cancels the handover of a domain whose slot was released.
func (d *Domains) Forget(domain string) { delete(d.yields, domain) }

// Clean reports whether a domain was handed over cleanly since the start.
func (d *Domains) Clean(domain string) bool { return d.clean[domain] }

// Unreported returns the possessions of processes that were not reported yet, and marks
// them as reported.
func (d *Domains) Unreported(list []store.Possession) (news []store.Possession) {
	for _, p := range list {
		if d.reported[p.Holder] {
			continue
		}
		if len(d.reported) == maxHolders {
			clear(d.reported)
		}
		d.reported[p.Holder] = true
		news = append(news, p)
	}
	return news
}

// ForgetReported lets processes be reported again.
func (d *Domains) ForgetReported(list []store.Possession) {
	for _, p := range list {
		delete(d.reported, p.Holder)
	}
}
