package simweb_test

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"testing/synctest"

	"headway/fetch"
	"headway/weburl"
)

// gate orders simultaneous events. Goroutines of one instant run in any order, so each
// request waits here before it is sent and again before its response is delivered, until
// everything else is idle; then the first in order continues alone.
type gate struct {
	mu      sync.Mutex
	waiting []*passer
	bell    chan struct{} // notified when a passer arrives
}

// passer is a goroutine that waits at the gate.
type passer struct {
	turn   turn
	host   string
	number int // of the request
	open   chan struct{}
}

// turn is the order at one instant.
type turn uint8

const (
	leaving turn = iota // was decided before
	landing
	slowing // a response of the same instant was not slow
	adding  // the seeds of a job are stored
	looking // the URLs of a job are counted, after all that may have ended
	joining // a job is submitted
	halting // ends the instant
)

func newGate() *gate { return &gate{bell: make(chan struct{}, 1)} }

// pass waits for the caller's turn.
func (g *gate) pass(t turn, host string, number int) {
	p := &passer{t, host, number, make(chan struct{})}
	g.mu.Lock()
	g.waiting = append(g.waiting, p)
	g.mu.Unlock()
	select {
	case g.bell <- struct{}{}:
	default:
	}
	<-p.open
}

// keep lets passers through one by one, until done.
func (g *gate) keep(done <-chan struct{}) {
	for {
		select {
		case <-g.bell:
		case <-done:
			return
		}
		for synctest.Wait(); ; synctest.Wait() {
			p := g.first()
			if p == nil {
				break
			}
			close(p.open)
		}
	}
}

// first takes the next passer.
func (g *gate) first() *passer {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) == 0 {
		return nil
	}
	slices.SortStableFunc(g.waiting, func(a, b *passer) int {
		return cmp.Or(cmp.Compare(a.turn, b.turn), cmp.Compare(a.host, b.host), cmp.Compare(a.number, b.number))
	})
	p := g.waiting[0]
	g.waiting = g.waiting[1:]
	return p
}

// exchange sends a request in its turn.
func (g *gate) exchange(host string, number int, do func()) {
	g.pass(leaving, host, number)
	do()
	g.pass(landing, host, number)
}

// gated is a client whose exchanges begin and end in order.
type gated struct {
	client *fetch.Client
	world  *world
}

// Do makes one exchange.
func (g gated) Do(ctx context.Context, req fetch.Request) (res *fetch.Result, err error) {
	g.exchange(&req, func() { res, err = g.client.Do(ctx, req) })
	return res, err
}

// Robots fetches a robots.txt.
func (g gated) Robots(ctx context.Context, req fetch.Request) (res *fetch.Result, hops []weburl.URL, err error) {
	g.exchange(&req, func() { res, hops, err = g.client.Robots(ctx, req) })
	return res, hops, err
}

// exchange sends a request, and reports in turn that it is slow.
func (g gated) exchange(req *fetch.Request, do func()) {
	host, number := req.URL.Host(), g.world.number(req.URL)
	if slow := req.Slow; slow != nil {
		req.Slow = func() error {
			g.world.gate.pass(slowing, host, number)
			return slow()
		}
	}
	g.world.gate.exchange(host, number, do)
}
