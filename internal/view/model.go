package view

import (
	"time"

	"headway"
)

// Model is the state of a crawl at one moment, everything needed to show it.
type Model struct {
	Title       string            // what is crawled
	Now         time.Time         // its time zone is used for all times
	Began       time.Time         // when the view did
	Progress    *headway.Progress // nil while the crawl is being opened
	Idle        time.Duration     // how long nothing was sent
	Growing     bool              // more URLs are found than are done
	Interrupted bool              // Ctrl-C was pressed
	Colour      bool
}

// Watch follows a crawl over time, for what one moment does not show. The zero Watch
// is ready to use.
type Watch struct {
	started int64     // requests sent so far
	since   time.Time // when that number last changed
	waiting []waiting
}

// waiting is how many URLs waited at a time.
type waiting struct {
	at time.Time
	n  int64
}

// growOver is the period over which found and finished URLs are compared.
const growOver = 10 * time.Second

// Look records the state of the crawl at now, and adds to the model what changed over
// time.
func (w *Watch) Look(m *Model) {
	if w.since.IsZero() {
		w.since = m.Now
	}
	p := m.Progress
	if p == nil {
		m.Idle = m.Now.Sub(w.since)
		return
	}
	// Requests sent are those answered and those in flight. A request that fails
	// changes the number, too, which also shows that the crawl is alive.
	if started := p.Spent.Requests + int64(p.Frontier.InFlight); started != w.started {
		w.started, w.since = started, m.Now
	}
	m.Idle = m.Now.Sub(w.since)
	w.waiting = append(w.waiting, waiting{m.Now, p.Counts.Waiting})
	for len(w.waiting) > 2 && m.Now.Sub(w.waiting[1].at) >= growOver {
		w.waiting = w.waiting[1:]
	}
	m.Growing = p.Counts.Waiting > w.waiting[0].n
}
