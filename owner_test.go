package headway_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"headway"
	"headway/fetch"
	"headway/job"
	"headway/store"
	"headway/store/memory"
	"headway/weburl"
)

// mute is a store that stops responding to renewals and commits.
type mute struct {
	*memory.Store
	mu    sync.Mutex
	since time.Time
	gone  time.Time
}

func (m *mute) silent() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return !m.since.IsZero()
}

func (m *mute) Renew(ctx context.Context, w store.WorkerID) error {
	if m.silent() {
		<-ctx.Done()
		return ctx.Err()
	}
	return m.Store.Renew(ctx, w)
}

func (m *mute) Commit(ctx context.Context, c store.Commit) (store.Receipt, error) {
	if m.silent() {
		select {
		case <-ctx.Done():
			return store.Receipt{}, ctx.Err()
		case <-time.After(10 * time.Second): // like a PostgreSQL connection
			return store.Receipt{}, errCut
		}
	}
	return m.Store.Commit(ctx, c)
}

func (m *mute) Abandon(ctx context.Context, w store.WorkerID) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.gone = time.Now()
	return m.Store.Abandon(ctx, w)
}

// calledOff is a fetcher that records when requests were cancelled.
type calledOff struct {
	fetch.Fetcher
	mu sync.Mutex
	at []time.Time
}

func (c *calledOff) Do(ctx context.Context, r fetch.Request) (*fetch.Result, error) {
	res, err := c.Fetcher.Do(ctx, r)
	if ctx.Err() != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.at = append(c.at, time.Now())
	}
	return res, err
}

// TestSilentStore lets a renewal and a commit hang while requests are in flight: they are
// cancelled before another worker may take their hosts over, and the worker ends without
// waiting for writes that would be rejected.
func TestSilentStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fleet{simulated: newSimulated(t, 4, latency(10, 8*time.Second))}
		off := &calledOff{Fetcher: f.cfg.Fetcher}
		m := &mute{Store: f.st.(*memory.Store)}
		f.worker = func(c *headway.Worker) { c.Fetcher, c.Store = off, m }
		f.submit(0)
		w := f.start()
		time.Sleep(10 * time.Second) // robots.txt took eight of them
		m.mu.Lock()
		m.since = time.Now()
		m.mu.Unlock()
		time.Sleep(fleetTerms.TakeOver)
		off.mu.Lock()
		if len(off.at) == 0 {
			t.Error("nothing was called off")
		}
		for _, at := range off.at {
			if late := at.Sub(m.since); late > fleetTerms.Cancel {
				t.Errorf("called off %v after the last renewal could have been sent, want at most %v", late, fleetTerms.Cancel)
			}
		}
		off.mu.Unlock()
		m.mu.Lock()
		if m.gone.IsZero() {
			t.Error("the worker has not ended its life")
		}
		m.mu.Unlock()
		w.crash()
		f.wg.Wait()
	})
}

// TestJoinSharesHosts lets a second worker join one that owns all hosts: it gets its share
// of the hosts, not only of the slots.
func TestJoinSharesHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fleet{simulated: newSimulated(t, 200, small(60))}
		f.submit(0)
		first := f.start()
		time.Sleep(20 * time.Second)
		off := &calledOff{Fetcher: f.cfg.Fetcher}
		asked := map[string]bool{}
		f.worker = func(c *headway.Worker) { c.Fetcher = hostsAsked{off, asked} }
		second := f.start()
		time.Sleep(30 * time.Second)
		off.mu.Lock()
		n := len(asked)
		off.mu.Unlock()
		if n < 70 || n > 130 {
			t.Errorf("the second of two workers contacted %d of 200 hosts", n)
		}
		first.crash()
		second.crash()
		f.wg.Wait()
	})
}

// hostsAsked records which hosts receive requests.
type hostsAsked struct {
	*calledOff
	hosts map[string]bool
}

func (h hostsAsked) Do(ctx context.Context, r fetch.Request) (*fetch.Result, error) {
	h.mu.Lock()
	h.hosts[r.URL.Host()] = true
	h.mu.Unlock()
	return h.Fetcher.Do(ctx, r)
}

// TestEndAtOnce stops a worker whose store takes ten seconds for everything: it ends in
// little more than one.
func TestEndAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fleet{simulated: newSimulated(t, 4, small(60))}
		slow := &sluggish{Store: f.st.(*memory.Store)}
		f.worker = func(c *headway.Worker) { c.Store = slow }
		f.submit(0)
		w := f.start()
		time.Sleep(10 * time.Second)
		slow.by.Store(int64(10 * time.Second))
		began := time.Now()
		w.kill()
		<-w.done
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// sluggish is a store that is slow to leave.
type sluggish struct {
	*memory.Store
	by atomic.Int64
}

func (s *sluggish) wait(ctx context.Context) error {
	select {
	case <-time.After(time.Duration(s.by.Load())):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *sluggish) Leave(ctx context.Context, w store.WorkerID) error {
	if err := s.wait(ctx); err != nil {
		return err
	}
	return s.Store.Leave(ctx, w)
}

func (s *sluggish) Record(ctx context.Context, points []store.Point) error {
	if err := s.wait(ctx); err != nil {
		return err
	}
	return s.Store.Record(ctx, points)
}

// frozen is a fetcher that loses its store and is suspended for longer than its lease,
// between the permission to send its tenth request and the first byte.
type frozen struct {
	fetch.Fetcher
	mute *mute
	n    atomic.Int64
	url  weburl.URL
	said atomic.Bool // error of the second check
}

func (f *frozen) Do(ctx context.Context, r fetch.Request) (*fetch.Result, error) {
	may, asked := r.BeforeSend, 0
	tenth := f.n.Add(1) == 10
	r.BeforeSend = func() error {
		if asked++; asked == 2 && tenth {
			f.mute.mu.Lock()
			f.mute.since, f.url = time.Now(), r.URL
			f.mute.mu.Unlock()
			time.Sleep(fleetTerms.Start)
			err := may()
			f.said.Store(err != nil)
			return err
		}
		return may()
	}
	return f.Fetcher.Do(ctx, r)
}

// TestFrozenBeforeFirstByte suspends a process between the last check before a request and
// its first byte, for longer than its lease: the request is not sent, and its URL waits for
// the next owner.
func TestFrozenBeforeFirstByte(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fleet{simulated: newSimulated(t, 1, small(20))}
		m := &mute{Store: f.st.(*memory.Store)}
		stopped := &frozen{Fetcher: f.cfg.Fetcher, mute: m}
		f.worker = func(c *headway.Worker) { c.Store, c.Fetcher = m, stopped }
		id := f.submit(0)
		first := f.start()
		for !m.silent() {
			time.Sleep(10 * time.Millisecond)
		}
		f.worker = nil
		second := f.start()
		j, _ := f.await(id, 5*time.Minute)
		first.crash()
		f.drain([]*worker{second})
		if n := f.web.Stats().Total.UniquePages; j.State != job.Complete || n != 20 || !stopped.said.Load() {
			t.Errorf("%s (%s) with %d pages, want complete with 20; the request was refused: %v", j.State, j.Reason, n, stopped.said.Load())
		}
		for _, r := range f.web.Log() {
			if r.Target == stopped.url.PathQuery() && r.Start.Before(m.since.Add(fleetTerms.Cancel)) {
				t.Errorf("%s was requested %v after the last response of the store", r.Target, r.Start.Sub(m.since))
			}
		}
		f.polite(time.Second)
	})
}
