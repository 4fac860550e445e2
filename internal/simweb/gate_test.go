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

// gate gives what happens at one instant an order. Goroutines of one instant
// run in any order, so each request waits here before it leaves and again
// before its answer is told, until everything else rests; then the first of
// those that wait goes on alone.
type gate struct {
	mu      sync.Mutex
	waiting []*passer
	bell    chan struct{} // rung when somebody comes
}

// passer is somebody who waits at the gate.
type passer struct {
	turn   turn
	host   string
	number int // of the request
	open   chan struct{}
}

// turn is who goes first at one instant.
type turn uint8

const (
	leaving turn = iota // was decided before
	landing
	slowing // an answer of the same instant was not slow
	adding  // the seeds of a job are stored
	looking // the URLs of a job are counted, after all that may have ended
	joining // a job is submitted
	halting // ends the instant
)

func newGate() *gate { return &gate{bell: make(chan struct{}, 1)} }

// pass waits for the turn of its caller.
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

// keep lets those that come pass one by one, until done.
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

// first takes whoever's turn it is.
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

// exchange makes a request in its turn.
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

// exchange makes a request, and tells that it is slow, in turn.
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
