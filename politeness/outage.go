package politeness

import "time"

const (
	outageSilence = 10_000 // milliseconds without any answer before our own network is suspected
	outageRecent  = 300_000
	outageVoters  = 3 // domains that must have answered within outageRecent and fail now
	outageTries   = 2 // attempts that must meet local trouble where voters are fewer

	canaryFirst = int64(time.Second / time.Millisecond)
	canaryLast  = int64(4 * time.Second / time.Millisecond)
)

// Outage tells our own network's trouble from that of hosts. There is one for
// a process, fed with every attempt; while it is down, dispatch pauses but for
// a canary now and then, and failures are reported to [Policy.Observe] as [Ours].
//
// The network is taken to be down when nothing has answered for 10 seconds and,
// since the last answer, hosts of 3 domains failed that had answered within the 5
// minutes before. Hosts that never answered have no vote, however many they are.
// Where fewer hosts could vote, the local side has to say so itself: everything
// tried in those 10 seconds found no route, or no name server that answers. One
// answer ends it.
//
// The zero Outage is up.
type Outage struct {
	answered int64                    // when something last answered
	votes    [outageVoters]domainVote // the latest of each domain
	local    [outageTries]int64       // when the local side last reported trouble, the latest first
	other    int64                    // when an attempt of the last seconds last failed otherwise
	since    int64                    // when it went down; 0 is up
	ask      int64                    // when the next canary may go
	canary   int64                    // how long until the one after it
}

// domainVote is a failure of a host that had answered before.
type domainVote struct {
	key uint64
	at  int64
}

// Attempt is one try to reach a host.
type Attempt struct {
	Domain string
	Fault  Fault
	Sent   time.Time // when it began

	// Answered is set when something beyond our own network spoke, though the
	// attempt failed: a resolver that says there is no such name, a host that
	// refuses the connection.
	Answered bool

	// FirstByte is when an answer began that was not finished; zero: none did.
	FirstByte time.Time

	// Heard is when the host last answered before; zero: never.
	Heard time.Time

	// Local is set when the trouble is on our side for certain: the resolver
	// does not answer, or there is no route.
	Local bool
}

// failed reports whether the attempt could be our own network's fault.
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
		if ceilMilli(a.Sent) >= o.since { // what was under way before is no canary
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

// Heard returns the outage after something answered at a moment, be it the
// beginning of an answer.
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

// vote counts a failure of a host that had answered. Of more domains than are
// needed the latest are kept.
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

// down decides from what happened since something last answered.
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
	// One that was under way when the way was lost ends without a word.
	return at-o.local[outageTries-1] < outageSilence && at-o.other >= outageSilence
}
