package simweb_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"headway"
	"headway/frontier"
	"headway/gauge"
	jobs "headway/job"
	"headway/store"
	"headway/store/memory"
	"headway/weburl"
)

// fleet is several jobs on the same hosts, crawled by one worker of a fleet
// ([headway.Work]) on one store. Each job is submitted at its start time.
type fleet struct {
	world *world
	board *board
	jobs  []*job    // sorted by start time
	ids   []jobs.ID // in the same order
}

func newFleet(w *world) *fleet {
	list := byStart(w.jobs)
	return &fleet{world: w, board: newBoard(w, len(list)), jobs: list}
}

// play runs the worker until all jobs have ended, and drains it.
func (f *fleet) play(st step) error {
	client, err := f.world.client(st.timeout)
	if err != nil {
		return err
	}
	defer client.Close()
	l, show, drain, done := &life{}, &gauge.Gauge{}, make(chan struct{}), make(chan error, 1)
	w := f.world.worker(gated{client, f.world}, st.workers, f.jobs...)
	w.Store, w.Drain, w.Gauge, w.Trace = f.board, drain, show, f.world.watch(l)
	if _, err := f.board.SetFleetSettings(context.Background(), f.world.begin, "test", 1, store.FleetSettings{Lease: store.DefaultTerms.TakeOver}); err != nil {
		return err
	}
	go func() { done <- headway.Work(context.Background(), w, headway.Fleet{Open: f.open}) }()
	if err := f.submit(); err != nil {
		return err
	}
	timer := time.NewTimer(time.Until(f.world.begin.Add(longest)))
	defer timer.Stop()
	select {
	case <-f.board.over:
	case <-timer.C:
		f.world.problem("work is left")
	case err := <-done:
		return errors.Join(errors.New("the worker has left"), err)
	}
	f.world.gate.pass(halting, "", 0)
	close(drain)
	if err := <-done; err != nil {
		return err
	}
	l.end, l.worked = time.Now(), f.board.worked(f.world)
	f.read(l, show.Read())
	f.world.ended(l)
	f.world.trace.down(l.end)
	for i, id := range f.ids {
		if err := f.board.settle(f.world, id, f.jobs[i]); err != nil {
			return err
		}
	}
	return nil
}

// submit queues each job at its start time.
func (f *fleet) submit() error {
	for i, j := range f.jobs {
		<-time.After(time.Until(f.world.begin.Add(j.start))) // virtual time
		f.world.gate.pass(joining, "", i)
		id, err := f.board.CreateJob(context.Background(), store.Job{Name: strconv.Itoa(i), State: jobs.Queued, CreatedAt: time.Now().UTC()})
		if err != nil {
			return err
		}
		f.ids = append(f.ids, id)
	}
	return nil
}

// open turns a stored job into what is to be crawled, with its own policy.
func (f *fleet) open(stored store.Job) (headway.Job, error) {
	i, err := strconv.Atoi(stored.Name)
	if err != nil {
		return headway.Job{}, fmt.Errorf("unknown job: %w", err)
	}
	return f.world.engineJob(f.jobs[i]), nil
}

// read takes the account of waits from the worker's last reading, and checks the counters
// that must stay 0.
func (f *fleet) read(l *life, r gauge.Reading) {
	if !r.Over || r.Life != 1 {
		f.world.problem("the worker lost its place: life %d, over %v", r.Life, r.Over)
	}
	if r.ShortGaps > 0 || r.OverCap > 0 || r.StoreErrors > 0 {
		f.world.problem("the worker counted %d short gaps, %d requests over the cap, %d store errors", r.ShortGaps, r.OverCap, r.StoreErrors)
	}
	total := time.Duration(0)
	for _, h := range r.Hosts {
		total += h.Spent
	}
	for _, h := range r.Hosts {
		if h.Spent > 0 || h.Hosts > 0 {
			l.shares = append(l.shares, frontier.Share{State: h.State, Hosts: h.Hosts, Spent: h.Spent, Part: float64(h.Spent) / float64(max(total, 1))})
		}
	}
}

// board is the store of a fleet. It notifies its worker at once, like PostgreSQL, and
// orders simultaneous calls.
type board struct {
	*meteredStore
	store.Control // nil: the script sends no orders
	gate          *gate
	bell          chan struct{} // notified on changes
	over          chan struct{} // closed when all jobs have ended

	telling sync.Mutex // guards what follows
	news    store.News
	left    int // jobs that have not ended
}

// boardKey is the key of the store, which assigns domains to slots.
var boardKey = weburl.Key{'s', 'i', 'm', 'w', 'e', 'b'}

func newBoard(w *world, jobs int) *board {
	return &board{meteredStore: newShelf(memory.Config{Key: boardKey}), gate: w.gate, bell: make(chan struct{}, 1), over: make(chan struct{}), left: jobs}
}

// Await implements [store.Fleet].
func (b *board) Await(ctx context.Context, _ store.WorkerID, look func(store.News)) error {
	for news := store.AllNews; ; {
		look(news)
		select {
		case <-b.bell:
		case <-ctx.Done():
			return ctx.Err()
		}
		b.telling.Lock()
		news, b.news = b.news, 0
		b.telling.Unlock()
	}
}

// notify notifies the worker.
func (b *board) notify(n store.News) {
	b.telling.Lock()
	b.news |= n
	b.telling.Unlock()
	select {
	case b.bell <- struct{}{}:
	default:
	}
}

// Holdings implements [store.Fleet].
func (b *board) Holdings(context.Context) ([]store.Holding, error) { return nil, nil }

// CreateJob implements [store.Jobs].
func (b *board) CreateJob(ctx context.Context, j store.Job) (jobs.ID, error) {
	id, err := b.meteredStore.CreateJob(ctx, j)
	b.notify(store.NewJobs)
	return id, err
}

// SetState implements [store.Jobs].
func (b *board) SetState(ctx context.Context, now time.Time, id jobs.ID, from, to jobs.State, reason string) error {
	if err := b.meteredStore.SetState(ctx, now, id, from, to, reason); err != nil {
		return err
	}
	b.notify(store.NewJobs)
	if !to.Ended() {
		return nil
	}
	b.telling.Lock()
	defer b.telling.Unlock()
	if b.left--; b.left == 0 {
		close(b.over)
	}
	return nil
}

// Add implements [store.URLs]. Several jobs may add their seeds at one instant.
func (b *board) Add(ctx context.Context, now time.Time, found []store.Found) (store.Receipt, error) {
	b.gate.pass(adding, "", int(found[0].Item.Job))
	receipt, err := b.meteredStore.Add(ctx, now, found)
	b.notify(store.NewArrivals)
	return receipt, err
}

// Counts implements [store.Jobs]. The supervising worker calls it while the last URLs of
// the job may be committed.
func (b *board) Counts(ctx context.Context, id jobs.ID) (store.Counts, error) {
	b.gate.pass(looking, "", int(id))
	return b.meteredStore.Counts(ctx, id)
}

var _ store.Fleet = (*board)(nil)
