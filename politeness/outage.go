package politeness

import "time"

const (
	outageSilence = 10_000 // milliseconds without any response before our own network is suspected
	outageRecent  = 300_000
	outageVoters  = 3 // domains that must have responded within outageRecent and fail now
	outageTries   = 2 // attempts with local errors that are needed if there are fewer voters

	canaryFirst = int64(time.Second / time.Millisecond)
	canaryLast  = int64(4 * time.Second / time.Millisecond)
)

// Outage distinguishes an outage of our own network from failures of hosts. There is one per
// process, which sees every attempt; while the network is down, requests pause except for an
// occasional canary, and failures are reported to [Policy.Observe] as [Ours].
//
// The network is considered down when nothing has responded for 10 seconds and, since the
// last response, hosts of 3 domains failed that had responded within the 5 minutes before.
// Hosts that never responded have no vote, however many they are. If too few hosts could
// vote, local errors are required: everything tried in those 10 seconds found no route, or no
// name server that responds. One response ends the outage.
//
// The zero Outage is up.
type Outage struct {
	answered int64                    // when something last responded
	votes    [outageVoters]domainVote // the latest of each domain
	local    [outageTries]int64       // when local errors last occurred, the latest first
	other    int64                    // when an attempt last failed without a local error
	since    int64                    // when it went down; 0 is up
	ask      int64                    // when the next canary may be sent
	canary   int64                    // interval until the one after it
}

// domainVote is a failure of a host that had responded before.
type domainVote struct {
	key uint64
	at  int64
}

// Attempt is one attempt to reach a host.
type Attempt struct {
	Domain string
	Fault  Fault
	Sent   time.Time // when it began

	// Answered is set when something outside our own network responded, though the attempt
	// failed: a resolver that says there is no such name, a host that refuses the
	// connection.
	Answered bool

	// FirstByte is when an incomplete response began; zero: none did.
	FirstByte time.Time

	// Heard is when the host last responded before; zero: never.
	Heard time.Time

	// Local is set when the cause is certainly local: the resolver does not respond, or
	// there is no route.
	Local bool
}

// failed reports whether our own network could be the cause.
func (a *Attempt) failed() bool {
	return !a.Answered && (a.Local || a.Fault == DNS || a.Fault == Connect || a.Fault == Timeout)
}

// Observe returns the outage after an attempt that ended at now.
func (o Outage) Observe(now time.Time, a Attempt) Outage {
	at := ceilMilli(now)
	switch {
	case !a.failed():
		return o.Heard(now)
	case !a.FirstByte.IsZero():
		return o.Heard(a.FirstByte)
	case o.since != 0:
		if ceilMilli(a.Sent) >= o.since { // requests sent before are not canaries
			o.canary = min(2*o.canary, canaryLast)
		}
		return o
	}
	if !a.Heard.IsZero() && at-ceilMilli(a.Heard) <= outageRecent {
		o.vote(hostKey(a.Domain), at)
	}
	switch {
	case a.Local:
		copy(o.local[1:], o.local[:])
		o.local[0] = at
	case at-ceilMilli(a.Sent) < outageSilence:
		o.other = at
	}
	if o.down(at) {
		o.since, o.ask, o.canary = at, at+canaryFirst, canaryFirst
	}
	return o
}

// Heard returns the outage after a response, or the beginning of one, arrived at a time.
func (o Outage) Heard(at time.Time) Outage {
	ms := ceilMilli(at)
	if o.since != 0 && ms < o.since {
		return o
	}
	if o.since != 0 {
		o = Outage{}
	}
	o.answered = max(o.answered, ms)
	return o
}

// Down reports whether the network is down, and since when.
func (o Outage) Down() (since time.Time, down bool) { return instant(o.since), o.since != 0 }

// Admit reports whether a request may be sent as far as our network is concerned.
func (o Outage) Admit(now time.Time) Wait {
	if o.since == 0 || now.UnixMilli() >= o.ask {
		return Wait{}
	}
	return Wait{time.UnixMilli(o.ask), Network}
}

// Sent records that a request was sent. While the network is down it is the canary, and the
// next one has to wait.
func (o Outage) Sent(now time.Time) Outage {
	if o.since != 0 {
		o.ask = ceilMilli(now) + o.canary
	}
	return o
}

// vote counts a failure of a host that had responded. Only the latest votes are kept.
func (o *Outage) vote(key uint64, at int64) {
	oldest := 0
	for i, v := range o.votes {
		if v.key == key {
			oldest = i
			break
		}
		if v.at < o.votes[oldest].at {
			oldest = i
		}
	}
	o.votes[oldest] = domainVote{key, at}
}

// down decides from what happened since the last response.
func (o *Outage) down(at int64) bool {
	if at-o.answered < outageSilence {
		return false
	}
	voters := 0
	for _, v := range o.votes {
		if v.at > o.answered && at-v.at <= outageRecent {
			voters++
		}
	}
	if voters == outageVoters {
		return true
	}
	// A request in flight when the route was lost may end without an error.
	return at-o.local[outageTries-1] < outageSilence && at-o.other >= outageSilence
}
