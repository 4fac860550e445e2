package fleettest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestServiceChain asks for crawls of the lab and follows what becomes of them, as a
// stream and by webhook, while the server is killed and stopped in turn, PostgreSQL
// restarts and the receiver is down for a time: the stream tells each event once and in
// order, and each is delivered, signed, under an id of its own.
func TestServiceChain(t *testing.T) {
	t.Parallel()
	restarts := 3
	if full {
		restarts = 20
	}
	f := newFleet(t, setup{hosts: restarts + 1, pages: 4, pace: pace / 4})
	in := newInbox(t)
	s := f.service("--allow-private", in.door())
	c := s.client("acme")
	in.endpoint(c)
	f.start()
	f.awaitWorkers(1)
	ctx, stop := context.WithCancel(t.Context())
	w := &watcher{client: c}
	var wg sync.WaitGroup
	wg.Go(func() { w.watch(ctx) })
	defer wg.Wait()
	defer stop()

	seeds, ids := f.lab.Seeds(), []int64{}
	for i := range restarts {
		switch i {
		case restarts / 3:
			in.setDown(true) // for an hour, which is made to pass
		case 2 * restarts / 3:
			in.awaitRefused(s)
			in.setDown(false)
		}
		ids = append(ids, c.create(f.crawl(0, seeds[i])))
		w.await(t, "job.created", ids[i])
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
		w.await(t, "job.complete", id)
	}
	events := c.events()
	got := w.seen()
	if len(events) != 3*len(ids) || !slices.Equal(got, events) {
		t.Errorf("followed\n%v\nwant\n%v", got, events)
	}
	in.await(s, events)
	t.Logf("%d restarts, %d streams, %d events; %d deliveries refused, %d came again", restarts, w.streams, len(events), in.refused, in.again())
	for _, p := range append(f.workers, s.now) {
		if err := p.cmd.Process.Signal(syscall.Signal(0)); err != nil {
			t.Errorf("a process has ended: %v\n%s", err, p.errs)
		}
	}
	f.leave(s.now)
	f.leaveAll()
}

// watcher follows the events of a tenant, and comes again where a stream ended.
type watcher struct {
	*client
	streams int // that were answered

	mu  sync.Mutex
	got []event
}

// watch follows until ctx ends.
func (w *watcher) watch(ctx context.Context) {
	for ; ctx.Err() == nil; time.Sleep(20 * time.Millisecond) { // not to spin while there is no server
		w.once(ctx)
	}
}

// once reads one stream to its end.
func (w *watcher) once(ctx context.Context) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, w.base+"/v1/events/stream?after=0", nil)
	if err != nil {
		w.Error(err)
		return
	}
	r.Header.Set("Authorization", "Bearer "+w.key)
	if seen := w.seen(); len(seen) > 0 {
		r.Header.Set("Last-Event-ID", fmt.Sprint(seen[len(seen)-1].ID))
	}
	a, err := w.web.Transport.RoundTrip(r)
	if err != nil {
		return // between two servers
	}
	defer a.Body.Close()
	if a.StatusCode != http.StatusOK {
		if a.StatusCode != http.StatusServiceUnavailable {
			w.Errorf("the stream is answered with %s", a.Status)
		}
		return
	}
	w.streams++
	for lines := bufio.NewScanner(a.Body); lines.Scan(); {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var e event
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			if lines.Scan() { // else it was cut off in the middle
				w.Errorf("event %q: %v", data, err)
			}
			return
		}
		w.mu.Lock()
		w.got = append(w.got, e)
		w.mu.Unlock()
	}
}

// seen is what was told so far.
func (w *watcher) seen() []event {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.got)
}

// await waits until something is told of a job.
func (w *watcher) await(t *testing.T, kind string, id int64) {
	t.Helper()
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		for _, e := range w.seen() {
			if e.Kind == kind && e.Job == id {
				return
			}
		}
		if time.Since(began) > time.Minute {
			t.Fatalf("not told of %s of job %d: %v", kind, id, w.seen())
		}
	}
}
