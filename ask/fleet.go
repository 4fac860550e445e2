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

// Asker is whom questions are put to: the crawl of a folder, or a fleet.
type Asker interface {
	// Ask puts a question and waits for the answer until ctx ends. ErrNobody
	// says that nobody has answered by then; what was ordered is taken back.
	Ask(ctx context.Context, q Question) (Answer, error)
}

var (
	_ Asker = (*Mailbox)(nil)
	_ Asker = (*Fleet)(nil)
)

// Office is the store of a fleet, as far as those who ask need it.
type Office interface {
	store.Mail
	Workers(ctx context.Context) ([]store.Worker, error)
	Key() weburl.Key
}

// Fleet puts questions to the workers of a fleet, through letters in its store.
// What is about a host or a URL goes to the owner of its slot, whoever that is by
// then, everything else to all workers, whose answers are put together.
type Fleet struct{ office Office }

// NewFleet returns who asks the fleet of a store.
func NewFleet(o Office) *Fleet { return &Fleet{o} }

// Times of those who ask a fleet.
const (
	fleetEvery   = 50 * time.Millisecond // how often they look for answers
	withdrawTime = time.Second           // how long taking a letter back may take
)

// Ask implements [Asker]. An answer of all workers is complete when each of those
// that were there has answered, or as good as it is when ctx ends: see
// [Answer.Answered].
func (f *Fleet) Ask(ctx context.Context, q Question) (Answer, error) {
	q.At = cmp.Or(q.At, time.Now().UTC())
	letter, err := f.address(&q)
	if err != nil {
		return Answer{}, err
	}
	if letter.Body, err = json.Marshal(q); err != nil {
		return Answer{}, fmt.Errorf("write request: %w", err)
	}
	workers, err := f.office.Workers(ctx)
	if err != nil {
		return Answer{}, fmt.Errorf("list workers: %w", err)
	}
	awaited, err := expected(workers, &q, letter.All)
	if err != nil {
		return Answer{}, err
	}
	id, err := f.office.Post(ctx, time.Now(), letter)
	if err != nil {
		return Answer{}, err
	}
	replies, err := f.collect(ctx, id, awaited)
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), withdrawTime)
	defer cancel()
	if kept := f.office.Withdraw(after, id); kept != nil && len(replies) == 0 {
		err = errors.Join(err, kept) // somebody may still do as it says
	}
	if err != nil {
		return Answer{}, err
	}
	return open(replies, awaited)
}

// address says whom a question is for.
func (f *Fleet) address(q *Question) (store.Letter, error) {
	var u weburl.URL
	var err error
	switch {
	case q.URL != "":
		u, err = weburl.Parse(q.URL)
	case q.Host != "":
		u, err = store.ParseHost(q.Host)
	default:
		return store.Letter{All: true}, nil
	}
	if err != nil {
		return store.Letter{}, err
	}
	return store.Letter{Slot: store.SlotOf(f.office.Key(), u.Domain())}, nil
}

// expected are the workers whose answers are waited for; nil is whichever one
// answers.
func expected(workers []store.Worker, q *Question, all bool) (map[store.WorkerID]bool, error) {
	if len(workers) == 0 {
		return nil, ErrNobody
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

// collect waits for answers. Those of others than are awaited do not count.
func (f *Fleet) collect(ctx context.Context, id store.LetterID, awaited map[store.WorkerID]bool) (replies []store.Reply, err error) {
	tick := time.NewTicker(fleetEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return replies, nil
		}
		list, err := f.office.Replies(ctx, id)
		if err != nil {
			if ctx.Err() != nil {
				return replies, nil // the time is up: what came until then counts
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

// open reads answers and puts them together.
func open(replies []store.Reply, awaited map[store.WorkerID]bool) (Answer, error) {
	if len(replies) == 0 {
		return Answer{}, ErrNobody
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
