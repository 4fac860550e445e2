package ownership

import (
	"slices"
	"time"

	"headway/store"
)

// Times of taking turns: a domain changes hands within [store.HandOver]. What is waited
// for is asked for often, because the time between its release and the next question is
// lost to everybody; where a question takes long, less often.
const (
	claimEvery  = 20 * time.Millisecond
	claimSeldom = 250 * time.Millisecond
	claimShare  = 5 // at most a sixth of the time is spent on asking
	wantedEvery = 500 * time.Millisecond
	minTurn     = time.Second // what was waited for is not given back before
)

// MaxLoad is how many hosts are asked for at a time, maxHolders how many other processes
// are remembered that were told of.
const (
	MaxLoad    = 1000
	maxHolders = 1000
)

// Domains are those that are ours, wanted, or on their way to others. One question about
// them is asked at a time, so that no answer is older than what was done since.
type Domains struct {
	asking bool
	wanted []string  // hosts to be loaded, with the right to their domains
	denied []string  // wanted, and held by another process
	askAt  time.Time // when to ask for those again
	wantAt time.Time // when to ask whether others want ours

	yields map[string]bool      // to be given up: true when nothing of them is under way
	turns  map[string]time.Time // when our turn began on those we waited for
	doubts map[string]bool      // granted before the process was stopped: not known what their owner before did
	clean  map[string]bool      // handed over cleanly since the start
	told   map[store.Holder]bool
}

// NewDomains returns those of a process that has none yet.
func NewDomains() *Domains {
	return &Domains{yields: map[string]bool{}, turns: map[string]time.Time{}, doubts: map[string]bool{}, clean: map[string]bool{}, told: map[store.Holder]bool{}}
}

// Want asks for hosts, as soon as it is their turn.
func (d *Domains) Want(hosts []string) { d.wanted = append(d.wanted, hosts...) }

// Ask notes that a question is under way, Answered that none is.
func (d *Domains) Ask() { d.asking = true }

// Answered says that no question is under way any more.
func (d *Domains) Answered() { d.asking = false }

// Asking tells whether a question is under way.
func (d *Domains) Asking() bool { return d.asking }

// Busy tells whether hosts are asked for, or are to be.
func (d *Domains) Busy() bool { return d.asking || len(d.wanted) > 0 || len(d.denied) > 0 }

// RetryAt is when to ask again for what others hold; not ok if that is nothing, or asked
// for already.
func (d *Domains) RetryAt() (at time.Time, ok bool) { return d.askAt, len(d.denied) > 0 && !d.asking }

// Retry makes hosts wanted again that others held, once it is time to ask.
func (d *Domains) Retry(now time.Time) {
	if len(d.denied) > 0 && !now.Before(d.askAt) {
		d.wanted = append(d.wanted, d.denied...)
		d.denied = nil
	}
}

// Next takes the hosts to ask for now. Those of domains that we give up wait.
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

// Doubt makes hosts wanted again, because the process was stopped while they were asked
// for: what was granted may have been taken since.
func (d *Domains) Doubt(hosts, granted []string) {
	d.wanted = append(d.wanted, hosts...)
	for _, domain := range granted {
		d.doubts[domain] = true
	}
}

// Doubted tells whether a domain was granted once before in that way.
func (d *Domains) Doubted(domain string) bool { return d.doubts[domain] }

// Denied notes that another process holds a host.
func (d *Domains) Denied(host string) { d.denied = append(d.denied, host) }

// BeginTurn notes that a domain we waited for is ours.
func (d *Domains) BeginTurn(now time.Time, domain string) { d.turns[domain] = now }

// Loaded ends a question that took so long, and whose doubts are settled.
func (d *Domains) Loaded(now time.Time, took time.Duration, granted []string) {
	for _, domain := range granted {
		delete(d.doubts, domain)
	}
	d.askAt = now.Add(min(max(claimEvery, claimShare*took), claimSeldom))
}

// WantedDue tells whether it is time to ask what others want, and if so that it is done.
func (d *Domains) WantedDue(now time.Time) bool {
	if now.Before(d.wantAt) {
		return false
	}
	d.wantAt = now.Add(wantedEvery)
	return true
}

// Awaited are the hosts that are wanted or denied.
func (d *Domains) Awaited() []string { return slices.Concat(d.wanted, d.denied) }

// Give begins to give a domain up; false where that has begun.
func (d *Domains) Give(domain string) bool {
	if d.Yielding(domain) {
		return false
	}
	d.yields[domain] = false
	return true
}

// TurnOver tells whether a domain that others want may be given up: its turn has lasted.
func (d *Domains) TurnOver(now time.Time, domain string) bool {
	return !now.Before(d.turns[domain].Add(minTurn))
}

// Yielding tells whether a domain is being given up.
func (d *Domains) Yielding(domain string) bool {
	_, ok := d.yields[domain]
	return ok
}

// Quiet notes that nothing of a domain is under way any more.
func (d *Domains) Quiet(domain string) {
	if d.Yielding(domain) {
		d.yields[domain] = true
	}
}

// IsQuiet tells whether a domain is given up and nothing of it is under way.
func (d *Domains) IsQuiet(domain string) bool { return d.yields[domain] }

// Yields are the domains that are given up, each with whether it is quiet.
func (d *Domains) Yields() map[string]bool { return d.yields }

// Yielded says that domains are others' now, and were handed over cleanly.
func (d *Domains) Yielded(domains []string) {
	for _, domain := range domains {
		d.clean[domain] = true
		d.Forget(domain)
		delete(d.turns, domain)
	}
}

// Forget ends giving a domain up whose slot went.
func (d *Domains) Forget(domain string) { delete(d.yields, domain) }

// Clean tells whether a domain was handed over cleanly since the start.
func (d *Domains) Clean(domain string) bool { return d.clean[domain] }

// Tell is the possessions of processes that were not told of yet, each once.
func (d *Domains) Tell(list []store.Possession) (news []store.Possession) {
	for _, p := range list {
		if d.told[p.Holder] {
			continue
		}
		if len(d.told) == maxHolders {
			clear(d.told)
		}
		d.told[p.Holder] = true
		news = append(news, p)
	}
	return news
}

// Untell forgets that processes were told of, because they are to be told of again.
func (d *Domains) Untell(list []store.Possession) {
	for _, p := range list {
		delete(d.told, p.Holder)
	}
}
