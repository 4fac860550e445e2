package store

import (
	"context"
	"fmt"
	"time"
)

// Fleet is a further ability of stores that many processes share: what workers
// must know of each other's doings, and of what people ask of them.
type Fleet interface {
	Queue
	Mail
	Control
	OptOuts
	OwnedHosts

	// Holdings lists all slots and who owns them, by number.
	Holdings(ctx context.Context) ([]Holding, error)

	// Await calls look with all news once it listens, and then with whatever has
	// come up for the worker, until ctx ends or the connection it holds is lost.
	// A notice is only a reason to look sooner: call it again when it returns,
	// and look every PollEvery in any case, because a notice goes with its
	// connection. One call for each worker is enough.
	Await(ctx context.Context, w WorkerID, look func(News)) error
}

// Holding is who owns a slot, for people.
type Holding struct {
	Slot  Slot
	Owner WorkerID  // 0 is nobody
	Since time.Time // by the owner's clock; zero where it is not known, or nobody's
	Fence int64
}

// PollEvery is how often a worker looks for news that it was not told of. While
// it cannot listen it looks every second.
const PollEvery = 10 * time.Second

// News is a set of what there may be to look at.
type News uint8

// The news.
const (
	NewArrivals News = 1 << iota // URLs or errands of others for the worker's slots: [URLs.Arrivals]
	NewJobs                      // a job was made, extended or changed its state: [Queue.Admit], [Queue.ActiveJobs]
	NewLetters                   // a letter for the worker: [Mail.Letters]
	NewOptOuts                   // the list of opt-outs changed: [OptOuts.OptOutNames]

	AllNews = NewArrivals | NewJobs | NewLetters | NewOptOuts
)

// Mail is questions and orders to workers, and their answers. What they say means
// nothing to the store.
//
// A letter lives for LetterLife by the clocks of those who post and read, which
// must agree to within a small part of it. It may be taken by one worker, who is
// then lost, and again by the next owner of its slot: what it orders must bear to
// be done twice.
type Mail interface {
	// Post sends a letter and returns its number. The oldest letters go when
	// there are more than MaxLetters.
	Post(ctx context.Context, now time.Time, l Letter) (LetterID, error)
	// Letters returns the letters to all that the worker has not answered, and
	// those to slots it owns that nobody has, oldest first, at most MaxMail.
	Letters(ctx context.Context, now time.Time, w WorkerID) ([]Letter, error)
	// Reply answers a letter, once. ErrNotFound says that it is gone, ErrFenced
	// that the worker is, or no longer owns the slot.
	Reply(ctx context.Context, now time.Time, w WorkerID, id LetterID, body []byte) error
	// Replies returns the answers to a letter so far, by worker.
	Replies(ctx context.Context, id LetterID) ([]Reply, error)
	// Withdraw takes a letter back, with its answers. Who has read it already may
	// still do as it says. One that is gone is no error.
	Withdraw(ctx context.Context, id LetterID) error
}

// Bounds of letters.
const (
	LetterLife = time.Minute
	MaxLetters = 1000
	MaxMail    = 100     // letters a worker takes at a time
	MaxLetter  = 1 << 20 // bytes of a letter or an answer
)

// LetterID is the number of a letter. Later letters have larger ones.
type LetterID int64

// Letter is a question or an order.
type Letter struct {
	ID   LetterID
	All  bool // to all workers
	Slot Slot // else to the owner of this slot
	At   time.Time
	Body []byte
}

// Check reports what makes a letter impossible to send.
func (l *Letter) Check() error {
	if l.Slot >= SlotCount {
		return fmt.Errorf("a letter to slot %d", l.Slot)
	}
	return CheckBody(l.Body)
}

// CheckBody reports a letter or an answer that is too long.
func CheckBody(body []byte) error {
	if len(body) > MaxLetter {
		return fmt.Errorf("a letter of %d bytes, at most %d", len(body), MaxLetter)
	}
	return nil
}

// Reply is what a worker answered.
type Reply struct {
	Worker WorkerID
	At     time.Time
	Body   []byte
}
