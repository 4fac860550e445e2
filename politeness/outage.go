package politeness

import "time"

const (
	outageWindow  = 10 // seconds that attempts are looked back on
	outageDomains = 20 // distinct domains that make a majority speak for the network
	outageTries   = 2  // attempts that must meet local trouble, and none get through, when domains are fewer

	// domainsKept is how many recent domains are remembered; it only has to
	// exceed outageDomains for their number to be exact where it matters.
	domainsKept = 32

	canaryFirst = int64(time.Second / time.Millisecond)
	canaryLast  = int64(30 * time.Second / time.Millisecond)
)

// Outage tells our own network's trouble from that of hosts. There is one for
// a process, fed with every attempt; while it is down, dispatch pauses but for
// a canary now and then, and failures are told to [Policy.Observe] as [Ours].
// The zero Outage is up.
type Outage struct {
	seconds [outageWindow]attempts
	newest  int64 // the second of the newest bucket
	domains [domainsKept]domainSeen
	since   int64 // when it went down; 0 is up
	ask     int64 // when the next canary may go
	canary  int64 // how long until the one after it
}

// attempts counts what happened in one second.
type attempts struct{ all, failed, local uint32 }

type domainSeen struct {
	key uint64
	at  int64
}

// Attempt is one try to reach a host.
type Attempt struct {
	Domain string
	Fault  Fault

	// Answered is set when something beyond our own network spoke, though the
	// attempt failed: a resolver that says there is no such name, a host that
	// refuses the connection.
	Answered bool

	// Local is set when the trouble is on our side for certain: the resolver
	// does not answer, or there is no route.
	Local bool
}

// failed reports whether the attempt could be our own network's fault.
func (a Attempt) failed() bool {
	return !a.Answered && (a.Local || a.Fault == DNS || a.Fault == Connect || a.Fault == Timeout)
}

// Observe returns the outage after an attempt that ended at now.
func (o Outage) Observe(now time.Time, a Attempt) Outage {
	at := ceilMilli(now)
	if o.since != 0 {
		if !a.failed() {
			return Outage{} // something got through: all is forgotten
		}
		o.canary = min(2*o.canary, canaryLast)
		return o
	}
	o.count(at, a)
	if o.down(at) {
		o.since, o.ask, o.canary = at, at+canaryFirst, canaryFirst
	}
	return o
}

// Down reports whether the network is down, and since when.
func (o Outage) Down() (since time.Time, down bool) { return instant(o.since), o.since != 0 }

// Admit says whether a request may be sent as far as the network is concerned.
func (o Outage) Admit(now time.Time) Wait {
	if o.since == 0 || now.UnixMilli() >= o.ask {
		return Wait{}
	}
	return Wait{time.UnixMilli(o.ask), Network}
}

// Sent records that a request left. While the network is down it is the
// canary, and the next one has to wait.
func (o Outage) Sent(now time.Time) Outage {
	if o.since != 0 {
		o.ask = ceilMilli(now) + o.canary
	}
	return o
}

// count adds an attempt to its second and its domain to those seen.
func (o *Outage) count(at int64, a Attempt) {
	second := at / 1000
	for o.newest < second {
		if second-o.newest > outageWindow {
			o.newest = second - outageWindow
		}
		o.newest++
		o.seconds[o.newest%outageWindow] = attempts{}
	}
	b := &o.seconds[o.newest%outageWindow]
	b.all++
	if a.failed() {
		b.failed++
		if a.Local {
			b.local++
		}
	}
	key, oldest := hostKey(a.Domain), 0
	for i, d := range o.domains {
		if d.key == key {
			oldest = i
			break
		}
		if d.at < o.domains[oldest].at {
			oldest = i
		}
	}
	o.domains[oldest] = domainSeen{key, at}
}

// down decides from the attempts of the last ten seconds.
func (o *Outage) down(at int64) bool {
	var sum attempts
	for _, b := range o.seconds {
		sum.all += b.all
		sum.failed += b.failed
		sum.local += b.local
	}
	domains := 0
	for _, d := range o.domains {
		if d.at != 0 && at-d.at < outageWindow*1000 {
			domains++
		}
	}
	if domains >= outageDomains {
		return 2*sum.failed > sum.all
	}
	// One that was under way when the way was lost ends without a word.
	return sum.local >= outageTries && sum.failed == sum.all
}
