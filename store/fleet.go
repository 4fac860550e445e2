package store

import (
	"context"
	"fmt"
	"time"
)

// Fleet is an optional interface of stores that many processes share: coordination of
// workers, and messages to them.
type Fleet interface {
	Queue
	Mail
	Control
	OptOuts
	OwnedHosts

	// Holdings lists all slots and their owners, by number.
	Holdings(ctx context.Context) ([]Holding, error)

	// Await calls look with AllNews once it listens, and then with whatever is new for
	// the worker, until ctx ends or its connection is lost. A notification is only a
	// reason to look sooner: call Await again when it returns, and poll every PollEvery
	// in any case, because notifications are lost with the connection. One call per
	// worker is enough.
	Await(ctx context.Context, w WorkerID, look func(News)) error
}

// Holding is the owner of a slot, for people.
type Holding struct {
	Slot  Slot
	Owner WorkerID  // 0 for none
	Since time.Time // by the owner's clock; zero if unknown or without an owner
	Fence int64
}

// PollEvery is how often a worker polls for changes in case a notification was lost.
// While it cannot listen it polls every second.
const PollEvery = 10 * time.Second

// News is a set of notifications: what there may be to look at.
type News uint8

// The notifications.
const (
	NewArrivals News = 1 << iota // URLs or errands of others for the worker's slots: [URLs.Arrivals]
	NewJobs                      // a job was created, extended or changed its state, or settings changed: [Queue.Admit], [Queue.ActiveJobs], [Settings.FleetSettings]
	NewMessages                  // a message for the worker: [Mail.Messages]
	NewOptOuts                   // the list of opt-outs changed: [OptOuts.OptOutNames]

	AllNews = NewArrivals | NewJobs | NewMessages | NewOptOuts
)

// Mail is queries and orders to workers, and their replies. Their content is opaque to
// the store.
//
// A message lives for MessageTTL by the clocks of sender and reader, which must agree to
// within a small part of it. It may be read by a worker that then dies, and again by the
// next owner of its slot: its order must be safe to carry out twice.
type Mail interface {
	// Post sends a message and returns its number. The oldest messages are deleted when
	// there are more than MaxMessages.
	Post(ctx context.Context, now time.Time, l Message) (MessageID, error)
	// Messages returns the messages to all workers that this worker has not answered, and
	// unanswered messages to slots it owns, oldest first, at most MaxMessageBatch.
	Messages(ctx context.Context, now time.Time, w WorkerID) ([]Message, error)
	// Reply answers a message, once. ErrNotFound says that it no longer exists, ErrFenced
	// that the worker was declared dead or no longer owns the slot.
	Reply(ctx context.Context, now time.Time, w WorkerID, id MessageID, body []byte) error
	// Replies returns the replies to a message so far, by worker.
	Replies(ctx context.Context, id MessageID) ([]Reply, error)
	// Withdraw deletes a message and its replies. A worker that has read it may still
	// carry it out. A missing message is not an error.
	Withdraw(ctx context.Context, id MessageID) error
}

// Bounds of messages.
const (
	MessageTTL      = time.Minute
	MaxMessages     = 1000
	MaxMessageBatch = 100     // messages a worker reads at a time
	MaxMessageBytes = 1 << 20 // bytes of a message or reply
)

// MessageID is the number of a message. Later messages have larger numbers.
type MessageID int64

// Message is a query or an order.
type Message struct {
	ID   MessageID
	All  bool // to all workers
	Slot Slot // otherwise to the owner of this slot
	At   time.Time
	Body []byte
}

// Check reports why a message is invalid.
func (m *Message) Check() error {
	if m.Slot >= SlotCount {
		return fmt.Errorf("message to slot %d", m.Slot)
	}
	return CheckBody(m.Body)
}

// CheckBody reports a message or reply that is too long.
func CheckBody(body []byte) error {
	if len(body) > MaxMessageBytes {
		return fmt.Errorf("message of %d bytes, at most %d", len(body), MaxMessageBytes)
	}
	return nil
}

// Reply is the reply of a worker.
type Reply struct {
	Worker WorkerID
	At     time.Time
	Body   []byte
}
