package simweb_test

import (
	"time"

	"headway/frontier"
	"headway/politeness"
)

// trace is what a driver did, to be drawn and to be held against what the
// servers saw.
type trace struct {
	sends  []sent
	events []event
	moves  []move
	ends   []time.Time // of the process
	starts []time.Time // of the process after each end
	spent  map[frontier.State]time.Duration
}

// sent is what politeness said of a host when a request left for it.
type sent struct {
	number int
	host   *host
	path   string
	at     time.Time
	base   time.Duration // the least pace that its jobs and its robots.txt allow
	pace   time.Duration
	held   time.Time // the end of the last hold
	cap    int

	domain  time.Duration // the least gap to any request to its domain
	address time.Duration // to its address
}

// event is an answer that changed something.
type event struct {
	host   *host
	at     time.Time
	effect politeness.Effect
}

// move is a change of what a host does.
type move struct {
	host *host
	at   time.Time
	to   frontier.State
}

func (t *trace) send(h *host, r request, now time.Time, address time.Duration) {
	t.sends = append(t.sends, sent{
		number: r.number, host: h, path: r.path, at: now, base: max(h.policy.Base, h.state.CrawlDelay()),
		pace: h.policy.Pace(h.state), held: h.state.HeldUntil(), cap: h.policy.Cap(h.state),
		domain: h.policy.DomainGap(h.state), address: address,
	})
}

func (t *trace) effect(h *host, now time.Time, e politeness.Effect) {
	if e.String() != "" || e.Has(politeness.Incident) {
		t.events = append(t.events, event{h, now, e})
	}
}

func (t *trace) move(h *host, now time.Time, to frontier.State) {
	t.moves = append(t.moves, move{h, now, to})
}

func (t *trace) down(now time.Time) { t.ends = append(t.ends, now) }

func (t *trace) up(now time.Time) { t.starts = append(t.starts, now) }

// shares adds the host-seconds of one life of the process.
func (t *trace) shares(list []frontier.Share) {
	if t.spent == nil {
		t.spent = map[frontier.State]time.Duration{}
	}
	for _, s := range list {
		t.spent[s.State] += s.Spent
	}
}
