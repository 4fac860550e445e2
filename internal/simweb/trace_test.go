package simweb_test

import (
	"time"

	"headway/frontier"
	"headway/politeness"
)

// trace records what a crawl did, for timelines and for comparison with what the servers
// saw.
type trace struct {
	sends  []sent
	events []event
	moves  []move
	ends   []time.Time // of the process
	starts []time.Time // of the process after each end
	spent  map[frontier.State]time.Duration
}

// sent is a request that was handed out, and what its host was promised.
type sent struct {
	frontier.Promise
	number int
	host   *host
	path   string
	at     time.Time
}

// event is a response that changed something.
type event struct {
	host   *host
	at     time.Time
	effect politeness.Effect
}

// move is a change of a host's state.
type move struct {
	host     *host
	at       time.Time
	from, to frontier.State
}

func (t *trace) send(h *host, path string, now time.Time, p frontier.Promise) {
	t.sends = append(t.sends, sent{p, len(t.sends), h, path, now})
}

func (t *trace) effect(h *host, now time.Time, e politeness.Effect) {
	if e.String() != "" || e.Has(politeness.Incident) {
		t.events = append(t.events, event{h, now, e})
	}
}

func (t *trace) down(now time.Time) { t.ends = append(t.ends, now) }

func (t *trace) up(now time.Time) { t.starts = append(t.starts, now) }

// shares adds the host time of one life of a process.
func (t *trace) shares(spent map[frontier.State]time.Duration) {
	if t.spent == nil {
		t.spent = map[frontier.State]time.Duration{}
	}
	for s, d := range spent {
		t.spent[s] += d
	}
}
