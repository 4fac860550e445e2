package frontier

import (
	"cmp"
	"slices"
	"time"

	"headway/job"
	"headway/politeness"
	"headway/visit"
)

// View is the state of a host, for people.
type View struct {
	Host     string
	Domain   string
	State    politeness.State
	Policy   *politeness.Policy // nil before the host is loaded
	Pace     time.Duration
	Doing    State
	Reason   visit.Wait
	Until    time.Time // when it is re-evaluated; zero: after an event
	InFlight int
	Queued   int  // URLs in memory
	More     bool // there are more in the store
}

// Jobs lists the jobs with work on a host, the next to be served first.
func (f *Frontier) Jobs(name string) []job.ID {
	var list []job.ID
	if h := f.hosts.find(name); h != nil {
		for q := h.queues; q != nil; q = q.next {
			list = append(list, q.job.ID)
		}
	}
	return list
}

// View returns the state of a host, and whether it is in memory.
func (f *Frontier) View(name string) (View, bool) {
	h := f.hosts.find(name)
	if h == nil {
		return View{}, false
	}
	return h.view(), true
}

func (h *host) view() View {
	v := View{Host: h.name, Domain: h.domain.name, State: h.state, Doing: h.doing(), Until: h.until.time(), InFlight: int(h.flights)}
	if h.wait != NoWork {
		v.Reason = visit.Wait(h.wait.String())
	}
	v.Policy = h.policy
	if h.policy != nil {
		v.Pace = h.policy.Pace(h.state)
	}
	for q := h.queues; q != nil; q = q.next {
		v.Queued += len(q.head) + len(q.later)
		v.More = v.More || !q.complete
	}
	return v
}

// Slowest returns up to n hosts with work, those with the longest pace first.
func (f *Frontier) Slowest(n int) []View {
	type slow struct {
		host *host
		pace time.Duration
	}
	slower := func(a, b slow) int {
		return cmp.Or(cmp.Compare(b.pace, a.pace), cmp.Compare(a.host.name, b.host.name))
	}
	if n <= 0 {
		return nil
	}
	most := make([]slow, 0, n+1)
	for _, h := range f.list {
		if h.booked == NoWork || h.policy == nil {
			continue
		}
		s := slow{h, h.policy.Pace(h.state)}
		if len(most) == n && slower(s, most[n-1]) > 0 {
			continue
		}
		i, _ := slices.BinarySearchFunc(most, s, slower)
		most = slices.Insert(most, i, s)
		most = most[:min(len(most), n)]
	}
	list := make([]View, len(most))
	for i, s := range most {
		list[i] = s.host.view()
	}
	return list
}

// Stats are the sizes of the frontier.
type Stats struct {
	Hosts     int // in memory
	Working   int // of those, with work
	Ready     int // hosts ready to be contacted
	Items     int // URLs in memory
	InFlight  int
	Robots    int           // of those, for robots.txt and not slow
	Slow      int           // slow places in use
	Lingering int           // hosts that wait for a slow place
	Lingered  time.Duration // total time they waited so far
	Down      bool          // our own network is considered down
}

// Stats returns the current sizes.
func (f *Frontier) Stats() Stats {
	_, down := f.outage.Down()
	return Stats{Hosts: f.hosts.len(), Working: f.working, Ready: f.readyHosts(), Items: f.items, InFlight: f.flights, Robots: f.readers, Slow: f.slow.use, Lingering: f.slow.line.len(), Lingered: f.slow.waited, Down: down}
}

// Idle reports whether nothing waits or is in flight, in memory or, as far as is known,
// in the store.
func (f *Frontier) Idle() bool { return f.working == 0 && !f.cold.some && len(f.doubts) == 0 }

// Ready reports whether a request could be sent now.
func (f *Frontier) Ready() bool { return len(f.tenants) > 0 }

// Account returns the account of host-seconds.
func (f *Frontier) Account() *Account { return f.account }

// Pages is how many pages of a host a job has fetched.
func (f *Frontier) Pages(name string, id job.ID) int {
	if h := f.hosts.find(name); h != nil {
		if q := h.queue(id); q != nil {
			return int(q.pages)
		}
	}
	return 0
}
