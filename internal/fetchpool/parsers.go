package fetchpool

import "sync/atomic"

// parsers limits how many bodies are parsed at once.
type parsers struct {
	places  chan struct{}
	waiting atomic.Int64
}

// parse waits for a free parser and parses a body.
func (p *parsers) parse(body func()) {
	p.waiting.Add(1)
	p.places <- struct{}{}
	p.waiting.Add(-1)
	body()
	<-p.places
}
