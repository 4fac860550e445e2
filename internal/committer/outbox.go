package committer

import "headway/visit"

// Outbox queues stored visits for the outputs, in order.
type Outbox struct {
	out     chan []visit.Visit
	waiting [][]visit.Visit
}

// NewOutbox returns an outbox that passes on a few batches at a time.
func NewOutbox() *Outbox { return &Outbox{out: make(chan []visit.Visit, 4)} }

// Out is the channel that the outputs read.
func (o *Outbox) Out() <-chan []visit.Visit { return o.out }

// Put adds a batch.
func (o *Outbox) Put(visits []visit.Visit) { o.waiting = append(o.waiting, visits) }

// Len is how many batches wait.
func (o *Outbox) Len() int { return len(o.waiting) }

// Flush passes on batches as long as the outputs accept them.
func (o *Outbox) Flush() {
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

// Close ends the output channel.
func (o *Outbox) Close() { close(o.out) }
