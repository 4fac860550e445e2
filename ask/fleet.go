package ask

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"headway/store"
	"headway/weburl"
)

// Asker answers questions: the crawl of a folder, or a fleet.
type Asker interface {
	// Ask sends a question and waits for the answer until ctx ends. ErrNoAnswer means
	// that there was no answer in time; an order is then withdrawn.
	Ask(ctx context.Context, q Question) (Answer, error)
}

var (
	_ Asker = (*Mailbox)(nil)
	_ Asker = (*Fleet)(nil)
)

// MessageStore is the part of a fleet's store that [Fleet] needs.
type MessageStore interface {
	store.Mail
	Workers(ctx context.Context) ([]store.Worker, error)
	Key() weburl.Key
}

// Fleet sends questions to the workers of a fleet, as messages in its store. A question
// about a host or a URL goes to the current owner of its slot, any other to all workers,
// whose answers are merged.
type Fleet struct{ messages MessageStore }

// NewFleet returns a Fleet for a store.
func NewFleet(o MessageStore) *Fleet { return &Fleet{o} }

// Intervals and timeouts of a Fleet.
const (
	fleetEvery   = 50 * time.Millisecond // how often it polls for answers
	withdrawTime = time.Second           // timeout for withdrawing a message
)

// Ask implements [Asker]. An answer of all workers is complete when each current worker
// has answered, or partial when ctx ends: see [Answer.Answered].
func (f *Fleet) Ask(ctx context.Context, q Question) (Answer, error) {
	q.At = cmp.Or(q.At, time.Now().UTC())
	letter, err := f.address(&q)
	if err != nil {
		return Answer{}, err
	}
	if letter.Body, err = json.Marshal(q); err != nil {
		return Answer{}, fmt.Errorf("write request: %w", err)
	}
	workers, err := f.messages.Workers(ctx)
	if err != nil {
		return Answer{}, fmt.Errorf("list workers: %w", err)
	}
	awaited, err := expected(workers, &q, letter.All)
	if err != nil {
		return Answer{}, err
	}
	id, err := f.messages.Post(ctx, time.Now(), letter)
	if err != nil {
		return Answer{}, err
	}
	replies, err := f.collect(ctx, id, awaited)
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), withdrawTime)
	defer cancel()
	if kept := f.messages.Withdraw(after, id); kept != nil && len(replies) == 0 {
		err = errors.Join(err, kept) // a worker may still carry out the order
	}
	if err != nil {
		return Answer{}, err
	}
	return open(replies, awaited)
}

// address says who a question is for.
func (f *Fleet) address(q *Question) (store.Message, error) {
	var u weburl.URL
	var err error
	switch {
	case q.URL != "":
		u, err = weburl.Parse(q.URL)
	case q.Host != "":
		u, err = store.ParseHost(q.Host)
	default:
		return store.Message{All: true}, nil
	}
	if err != nil {
		return store.Message{}, err
	}
	return store.Message{Slot: store.SlotOf(f.messages.Key(), u.Domain())}, nil
}

// expected returns the workers whose answers are needed; nil means any one worker.
func expected(workers []store.Worker, q *Question, all bool) (map[store.WorkerID]bool, error) {
	if len(workers) == 0 {
		return nil, ErrNoAnswer
	}
	if !all {
		return nil, nil
	}
	list := map[store.WorkerID]bool{}
	for i := range workers {
		if q.Worker == 0 || workers[i].ID == q.Worker {
			list[workers[i].ID] = true
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("worker not found: %d", q.Worker)
	}
	return list, nil
}

// collect waits for answers. Only those of awaited workers count.
func (f *Fleet) collect(ctx context.Context, id store.MessageID, awaited map[store.WorkerID]bool) (replies []store.Reply, err error) {
	tick := time.NewTicker(fleetEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return replies, nil
		}
		list, err := f.messages.Replies(ctx, id)
		if err != nil {
			if ctx.Err() != nil {
				return replies, nil // timed out: the answers so far count
			}
			return nil, err
		}
		replies = replies[:0]
		for _, r := range list {
			if awaited == nil || awaited[r.Worker] {
				replies = append(replies, r)
			}
		}
		if len(replies) >= max(len(awaited), 1) {
			return replies, nil
		}
	}
}

// open decodes answers and merges them.
func open(replies []store.Reply, awaited map[store.WorkerID]bool) (Answer, error) {
	if len(replies) == 0 {
		return Answer{}, ErrNoAnswer
	}
	var whole Answer
	var refused error
	good := 0
	for _, r := range replies {
		var a Answer
		if err := json.Unmarshal(r.Body, &a); err != nil {
			return Answer{}, fmt.Errorf("read response of worker %d: %w", r.Worker, err)
		}
		if a.Error != "" {
			refused = errors.New(a.Error)
			continue
		}
		good++
		whole.add(a)
	}
	if good == 0 {
		return Answer{}, refused
	}
	whole.settle()
	if awaited != nil {
		whole.Asked, whole.Answered = len(awaited), good
	}
	return whole, nil
}
