package committer

import "headway/visit"

// Outbox queues stored visits for the outputs, in order.
type Outbox struct {
	out     chan []visit.Visit
	waiting [][]visit.Visit
	texts   int // bytes of the texts that wait
}

// NewOutbox returns an outbox that passes on a few batches at a time.
func NewOutbox() *Outbox { return &Outbox{out: make(chan []visit.Visit, 4)} }

// Out is the channel that the outputs read.
func (o *Outbox) Out() <-chan []visit.Visit { return o.out }

// Put adds a batch.
func (o *Outbox) Put(visits []visit.Visit) {
	o.waiting = append(o.waiting, visits)
	o.texts += textsOf(visits)
}

// textsOf is the size of the texts of visits, and of the links that are kept.
func textsOf(visits []visit.Visit) (size int) {
	for i := range visits {
		size += visits[i].BulkSize()
	}
	return size
}

// Len is how many batches wait.
func (o *Outbox) Len() int { return len(o.waiting) }

// Texts is how many bytes of text wait.
func (o *Outbox) Texts() int { return o.texts }

// Flush passes on batches as long as the outputs accept them.
func (o *Outbox) Flush() {
	for len(o.waiting) > 0 {
		select {
		case o.out <- o.waiting[0]:
			o.texts -= textsOf(o.waiting[0])
			o.waiting[0] = nil
			o.waiting = o.waiting[1:]
		default:
			return
		}
	}
}

// Close ends the output channel.
func (o *Outbox) Close() { close(o.out) }
