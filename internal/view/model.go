package view

import (
	"time"

	"headway"
)

// Model is one moment of a crawl, all that is needed to show it.
type Model struct {
	Title    string            // what is crawled
	Now      time.Time         // its location is that of all times shown
	Began    time.Time         // when the view did
	Progress *headway.Progress // nil while the crawl is being opened
	Idle     time.Duration     // for so long nothing was sent
	Growing  bool              // more URLs are found than are done
	Told     bool              // somebody pressed Ctrl-C
	Colour   bool
}

// Watch sees a crawl go on: what one moment does not tell. The zero Watch is
// ready to use.
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

// growOver is how far back to look whether more is found than done.
const growOver = 10 * time.Second

// Look notes how the crawl stands at now, and completes the model with it.
func (w *Watch) Look(m *Model) {
	if w.since.IsZero() {
		w.since = m.Now
	}
	p := m.Progress
	if p == nil {
		m.Idle = m.Now.Sub(w.since)
		return
	}
	// What was sent is what was answered and what is under way. A request that
	// comes to nothing moves the number too, which is a sign of life as well.
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
