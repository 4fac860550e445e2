package fleettest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"testing"

	"headway/client"
)

// TestServiceChain creates crawls of the lab and follows their events, as a stream and
// by webhook, while the server is killed and stopped in turn, PostgreSQL restarts and
// the receiver is down for a time: the stream has each event once and in order, and
// each is delivered, signed, with a unique id.
func TestServiceChain(t *testing.T) {
	t.Parallel()
	restarts := 3
	if full {
		restarts = 20
	}
	f := newFleet(t, setup{hosts: restarts + 1, pages: 4, pace: pace / 4})
	in := newInbox(t)
	s := f.service("--allow-private", in.door())
	c := s.tenant("acme")
	in.endpoint(f, c.Client)
	f.start()
	f.awaitWorkers(1)
	ctx, stop := context.WithCancel(t.Context())
	w := &watcher{tenant: c}
	var wg sync.WaitGroup
	wg.Go(func() { w.watch(ctx) })
	defer wg.Wait()
	defer stop()

	seeds, ids := f.lab.Seeds(), []int64{}
	for i := range restarts {
		switch i {
		case restarts / 3:
			in.setDown(true) // for an hour of River's time, see pass
		case 2 * restarts / 3:
			in.awaitRefused(f)
			in.setDown(false)
		}
		ids = append(ids, c.create(f.crawl(0, seeds[i])))
		w.await("job.created", ids[i])
		if i%2 == 0 {
			f.kill(s.now)
		} else {
			f.leave(s.now)
		}
		s.again()
	}
	if err := f.db.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := f.db.StartServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.ready()
	ids = append(ids, c.create(f.crawl(0, seeds[restarts])))
	for _, id := range ids {
		if j := f.await(id, f.long(), nil); j.State != "complete" || j.Pages != int64(f.pages) {
			t.Errorf("job %d: %s (%s) with %d pages, want complete with %d", id, j.State, j.Reason, j.Pages, f.pages)
		}
		w.await("job.complete", id)
	}
	events := c.events()
	got := w.seen()
	if len(events) != 3*len(ids) || !slices.Equal(got, events) {
		t.Errorf("followed\n%v\nwant\n%v", got, events)
	}
	in.await(f, events)
	t.Logf("%d restarts, %d events; %d deliveries refused, %d came again", restarts, len(events), in.refused, in.again())
	for _, p := range append(f.workers, s.now) {
		if err := p.cmd.Process.Signal(syscall.Signal(0)); err != nil {
			t.Errorf("a process has ended: %v\n%s", err, p.errs)
		}
	}
	f.leave(s.now)
	f.leaveAll()
}

// watcher follows the events of a tenant.
type watcher struct {
	*tenant

	mu  sync.Mutex
	got []client.Event
}

// watch follows until ctx ends. The client reconnects.
func (w *watcher) watch(ctx context.Context) {
	for e, err := range w.FollowEvents(ctx, client.FollowEventsParams{After: "0"}) {
		if err != nil {
			if ctx.Err() == nil {
				w.Errorf("following: %v", err)
			}
			return
		}
		w.mu.Lock()
		w.got = append(w.got, e)
		w.mu.Unlock()
	}
}

// seen returns the events so far.
func (w *watcher) seen() []client.Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.got)
}

// await waits for an event of a job.
func (w *watcher) await(kind string, id int64) {
	w.Helper()
	w.until(fmt.Sprintf("%s of job %d is told", kind, id), func() bool {
		return slices.ContainsFunc(w.seen(), func(e client.Event) bool { return e.Kind == kind && e.Job == id })
	})
}
