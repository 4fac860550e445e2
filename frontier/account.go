package frontier

import (
	"fmt"
	"time"

	"headway/visit"
)

// State is what a host with work is doing: fetching, or waiting for one reason.
// The zero State is a host without work, which is charged no time.
type State uint8

// The states that are not waits.
const (
	NoWork    State = iota // no work: no time is charged
	Fetching               // at least one request is in flight
	OtherJobs              // the host works, or waits, for another job; see [Frontier.HostTime]
	firstWait
)

// numStates is the number of states: those above and one per wait reason.
var numStates = int(firstWait) + len(visit.Waits)

// Waiting is the state of a host that waits for w.
func Waiting(w visit.Wait) State {
	for i, known := range visit.Waits {
		if known == w {
			return firstWait + State(i)
		}
	}
	panic(fmt.Sprintf("frontier: unknown wait reason %q", w))
}

// String names a state as [Share] does: "fetching", "other_jobs" or the wait reason.
func (s State) String() string {
	switch {
	case s == NoWork:
		return "no work"
	case s == Fetching:
		return "fetching"
	case s == OtherJobs:
		return "other_jobs"
	case int(s) < numStates:
		return string(visit.Waits[s-firstWait])
	default:
		return fmt.Sprintf("State(%d)", uint8(s))
	}
}

// Account charges host-seconds to states. Each change names the state it leaves,
// so a host is in exactly one state. The account keeps only the number of hosts
// per state: a change costs the same for any number of hosts, and memory does not
// grow with them.
//
// What a host waits for is not always visible in its state: see [Causes].
type Account struct {
	at    time.Time
	hosts []int
	open  []time.Duration // host-seconds per state since its time was last charged
	spent []time.Duration // host-seconds per state that are charged

	store   *stopwatch    // runs while the store is at work; nil for none
	storeAt time.Duration // its time at the last change
	storing time.Duration // host-seconds in open of hosts that waited for storage while it ran
	causes  Causes
}

// NewAccount starts an empty account at now.
func NewAccount(now time.Time) *Account {
	return &Account{at: now, hosts: make([]int, numStates), open: make([]time.Duration, numStates), spent: make([]time.Duration, numStates)}
}

// Move changes the state of one host at now. If now is earlier than the last
// change, no time is charged.
func (a *Account) Move(now time.Time, from, to State) {
	if from == to {
		return
	}
	a.advance(now)
	if from != NoWork {
		if a.hosts[from] == 0 {
			panic(fmt.Sprintf("frontier: a host left state %s, in which there is none", from))
		}
		a.hosts[from]--
	}
	if to != NoWork {
		a.hosts[to]++
	}
}

// advance counts the time since the last change.
func (a *Account) advance(now time.Time) {
	passed := now.Sub(a.at)
	if passed <= 0 {
		return
	}
	a.at = now
	for s, n := range a.hosts {
		a.open[s] += time.Duration(n) * passed
	}
	if a.store != nil {
		ran := a.store.read(now)
		a.storing += time.Duration(a.hosts[waitingStorage]) * (ran - a.storeAt)
		a.storeAt = ran
	}
}

// Causes say what hosts waited for in a period, as far as their states do not show it: a
// host whose response waits for our CPU is fetching, and one that waits for a commit waits
// for storage, whatever the commit waits for. The zero Causes change nothing.
type Causes struct {
	// CPU is the share of the time of requests in flight in which they used our CPU or
	// waited for it, from 0 to 1.
	CPU float64
	// Queued is the share in which they waited because this process used all the CPUs it
	// may. It applies to the time in which hosts waited for a place among them: otherwise
	// more places would help.
	Queued float64
	// Store is what the store waits for while it is at work: [visit.WaitDisk] or
	// [visit.WaitDatabase]; "" if that is not known.
	Store visit.Wait
	// StoreShare is the share of the time of the store in which it did, from 0 to 1. In the
	// rest it needed our CPU.
	StoreShare float64
}

var waitingWorkers = Waiting(visit.WaitWorkers)

// split moves what has other causes than its state shows. storing is how much of the
// time waiting for storage was spent while the store was at work.
func (c *Causes) split(open []time.Duration, storing time.Duration) {
	move := func(from State, to visit.Wait, d time.Duration) {
		open[from] -= d
		open[Waiting(to)] += d
	}
	move(Fetching, visit.WaitCPU, share(open[Fetching], c.CPU))
	move(waitingInFlight, visit.WaitCPU, share(open[waitingInFlight], c.CPU))
	move(waitingWorkers, visit.WaitCPU, share(open[waitingWorkers], c.Queued))
	if c.Store != "" {
		waited := share(storing, c.StoreShare)
		move(waitingStorage, c.Store, waited)
		move(waitingStorage, visit.WaitCPU, storing-waited)
	}
}

// share is a part of d, from 0 to 1.
func share(d time.Duration, part float64) time.Duration {
	return time.Duration(float64(d) * min(max(part, 0), 1))
}

// Charge charges the time up to now, of which the causes were measured. Until the next call
// they are assumed to stay the same.
func (a *Account) Charge(now time.Time, c Causes) {
	a.advance(now)
	a.causes = c
	a.charge()
}

func (a *Account) charge() {
	a.causes.split(a.open, min(a.storing, a.open[waitingStorage]))
	for s, d := range a.open {
		a.spent[s] += d
		a.open[s] = 0
	}
	a.storing = 0
}

// Share is the part of all host-seconds spent in one state.
type Share struct {
	State State
	Hosts int           // hosts in it now, divided by the last known [Causes]
	Spent time.Duration // host-seconds
	Part  float64       // fraction of the total; all parts add up to 1 once time has passed
}

// Shares returns the time spent up to now, one entry for each state that has a
// host now or has been charged time, in the order of the states.
func (a *Account) Shares(now time.Time) []Share {
	a.advance(now)
	a.charge()
	var total time.Duration
	for _, d := range a.spent {
		total += d
	}
	hosts := a.hostsByCause()
	var shares []Share
	for s := range a.spent {
		if a.spent[s] == 0 && hosts[s] == 0 {
			continue
		}
		share := Share{State: State(s), Hosts: hosts[s], Spent: a.spent[s]}
		if total > 0 {
			share.Part = float64(a.spent[s]) / float64(total)
		}
		shares = append(shares, share)
	}
	return shares
}

// hostsByCause divides the hosts in each state as their time is.
func (a *Account) hostsByCause() []int {
	scaled := make([]time.Duration, numStates)
	for s, n := range a.hosts {
		scaled[s] = time.Duration(n)
	}
	var storing time.Duration
	if a.store != nil && a.store.running {
		storing = scaled[waitingStorage]
	}
	a.causes.split(scaled, storing)
	hosts := make([]int, numStates)
	for s, n := range scaled {
		hosts[s] = int(n)
	}
	return hosts
}

// stopwatch measures for how long something was running.
type stopwatch struct {
	running bool
	since   time.Time
	sum     time.Duration // up to since
}

// set starts or stops it.
func (w *stopwatch) set(now time.Time, running bool) {
	w.sum, w.since, w.running = w.read(now), now, running
}

// read returns how long it ran up to now.
func (w *stopwatch) read(now time.Time) time.Duration {
	if !w.running {
		return w.sum
	}
	return w.sum + max(now.Sub(w.since), 0)
}

// StoreAtWork reports whether the store is at work on something that hosts may wait for.
func (f *Frontier) StoreAtWork(now time.Time, working bool) {
	if working != f.store.running {
		f.store.set(now, working)
	}
}

// StoreTime returns how long the store was at work up to now.
func (f *Frontier) StoreTime(now time.Time) time.Duration { return f.store.read(now) }

// Charge divides the time of all hosts up to now by its measured causes; see
// [Account.Charge].
func (f *Frontier) Charge(now time.Time, c Causes) {
	f.account.Charge(now, c)
	for _, j := range f.jobList {
		j.account.Charge(now, c)
	}
}
