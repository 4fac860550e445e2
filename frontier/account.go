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
type Account struct {
	at    time.Time
	hosts []int
	spent []time.Duration // host-seconds per state
}

// NewAccount starts an empty account at now.
func NewAccount(now time.Time) *Account {
	return &Account{at: now, hosts: make([]int, numStates), spent: make([]time.Duration, numStates)}
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

// advance charges the time since the last change.
func (a *Account) advance(now time.Time) {
	passed := now.Sub(a.at)
	if passed <= 0 {
		return
	}
	a.at = now
	for s, n := range a.hosts {
		a.spent[s] += time.Duration(n) * passed
	}
}

// Share is the part of all host-seconds spent in one state.
type Share struct {
	State State
	Hosts int           // hosts in it now
	Spent time.Duration // host-seconds
	Part  float64       // fraction of the total; all parts add up to 1 once time has passed
}

// Shares returns the time spent up to now, one entry for each state that has a
// host now or has been charged time, in the order of the states.
func (a *Account) Shares(now time.Time) []Share {
	a.advance(now)
	var total time.Duration
	for _, d := range a.spent {
		total += d
	}
	var shares []Share
	for s := range a.spent {
		if a.spent[s] == 0 && a.hosts[s] == 0 {
			continue
		}
		share := Share{State: State(s), Hosts: a.hosts[s], Spent: a.spent[s]}
		if total > 0 {
			share.Part = float64(a.spent[s]) / float64(total)
		}
		shares = append(shares, share)
	}
	return shares
}
