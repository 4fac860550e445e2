package committer

import "headway/visit"

// Outbox is stored visits on their way to the outputs, in order.
type Outbox struct {
	out     chan []visit.Visit
	waiting [][]visit.Visit
}

// NewOutbox returns one that hands a few batches over at a time.
func NewOutbox() *Outbox { return &Outbox{out: make(chan []visit.Visit, 4)} }

// Out is where the outputs receive from.
func (o *Outbox) Out() <-chan []visit.Visit { return o.out }

// Put adds visits.
func (o *Outbox) Put(visits []visit.Visit) { o.waiting = append(o.waiting, visits) }

// Len is how many batches wait.
func (o *Outbox) Len() int { return len(o.waiting) }

// Hand gives visits to the outputs, as fast as they take them.
func (o *Outbox) Hand() {
	for len(o.waiting) > 0 {
		select {
		case o.out <- o.waiting[0]:
			o.waiting[0] = nil
			o.waiting = o.waiting[1:]
		default:
			return
		}
	}
}

// Close says that there will be no more.
func (o *Outbox) Close() { close(o.out) }
