package service_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"headway/job"
	"headway/service"
	"headway/store"
)

// follower reads an event stream and reconnects after the last event, as browsers do.
type follower struct {
	url, key string
	last     string
	got      []string // kind and job of each event
}

// follow reads until it has seen a number of events or ctx ends.
func (f *follower) follow(ctx context.Context, t testing.TB, most int) {
	for len(f.got) < most && ctx.Err() == nil {
		f.once(ctx, t, most)
	}
}

// once reads one stream to its end.
func (f *follower) once(ctx context.Context, t testing.TB, most int) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, f.url, nil)
	if err != nil {
		t.Error(err)
		return
	}
	r.Header.Set("Authorization", "Bearer "+f.key)
	if f.last != "" {
		r.Header.Set("Last-Event-ID", f.last)
	}
	a, err := web.RoundTrip(r)
	if err != nil {
		return // the server is restarting
	}
	defer a.Body.Close()
	if a.StatusCode != http.StatusOK || a.Header.Get("Content-Type") != "text/event-stream" {
		return
	}
	var id, kind string
	for lines := bufio.NewScanner(a.Body); len(f.got) < most && lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "id":
			id = value
		case "event":
			kind = value
		case "data":
			var e struct {
				ID   int64
				Kind string
				Job  int64
			}
			if err := json.Unmarshal([]byte(value), &e); err != nil || e.Kind != kind || fmt.Sprint(e.ID) != id {
				t.Errorf("event %s %s: %v: %s", id, kind, err, value)
			}
			f.got = append(f.got, fmt.Sprintf("%s %d", e.Kind, e.Job))
			f.last = id
		}
	}
}

// TestStreamThroughRestarts follows jobs while servers restart at the same address:
// every event arrives, once and in order.
func TestStreamThroughRestarts(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a follower waits seconds after each of four restarts")
	}
	st := openStore(t)
	now := time.Now()
	s := start(t, service.Config{Store: st})
	at := strings.TrimPrefix(s.base, "http://")
	f := &follower{url: s.base + "/v1/events/stream?after=0", key: key(t, st, "acme", store.ScopeRead)}
	const jobs, restarts = 40, 4
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.follow(ctx, t, 3*jobs)
	}()
	var want []string
	for i := range jobs {
		id, err := st.CreateJob(ctx, store.Job{Tenant: "acme", State: job.Running, CreatedAt: now})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := st.CreateJob(ctx, store.Job{Tenant: "other", State: job.Running, CreatedAt: now}); err != nil {
			t.Fatal(err)
		}
		for _, step := range []struct{ from, to job.State }{{job.Running, job.Paused}, {job.Paused, job.Cancelled}} {
			if err := st.SetState(ctx, now, id, step.from, step.to, ""); err != nil {
				t.Fatal(err)
			}
		}
		want = append(want, fmt.Sprintf("job.created %d", id), fmt.Sprintf("job.paused %d", id), fmt.Sprintf("job.cancelled %d", id))
		if i%(jobs/restarts) == jobs/restarts-1 {
			s.stop()
			s = start(t, service.Config{Store: st, Listen: at})
		}
	}
	<-done
	if got, want := strings.Join(f.got, "\n"), strings.Join(want, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestStreamOfJob follows one job, with a client that has seen no event yet: events
// between two of its streams are in the second.
func TestStreamOfJob(t *testing.T) {
	t.Parallel()
	s := start(t, service.Config{Store: openStore(t)})
	now := time.Now()
	var ids []job.ID
	create := func() {
		id, err := s.st.CreateJob(t.Context(), store.Job{Tenant: "acme", State: job.Running, CreatedAt: now})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	create()
	create()
	k := key(t, s.st, "acme", store.ScopeRead)
	a := s.send("GET", fmt.Sprintf("/v1/events/stream?job=%d", ids[1]), k, nil)
	line, err := bufio.NewReader(a.Body).ReadString('\n')
	if closed := a.Body.Close(); err != nil || closed != nil || !strings.HasPrefix(line, "id: ") {
		t.Fatalf("a stream begins with %q, %v, %v", line, err, closed)
	}
	create()
	for _, id := range ids {
		if err := s.st.SetState(t.Context(), now, id, job.Running, job.Cancelled, ""); err != nil {
			t.Fatal(err)
		}
	}
	f := &follower{url: fmt.Sprintf("%s/v1/events/stream?job=%d", s.base, ids[1]), key: k, last: strings.TrimSpace(strings.TrimPrefix(line, "id: "))}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	f.follow(ctx, t, 1)
	if want := fmt.Sprintf("[job.cancelled %d]", ids[1]); fmt.Sprint(f.got) != want {
		t.Errorf("got %v, want %s", f.got, want)
	}
	var list struct{ Events []struct{ Job int64 } }
	s.ask("GET", fmt.Sprintf("/v1/events?job=%d", ids[0]), k, nil).read(t, http.StatusOK, &list)
	if len(list.Events) != 2 || list.Events[0].Job != int64(ids[0]) || list.Events[1].Job != int64(ids[0]) {
		t.Errorf("events of one job: %+v", list)
	}
}

// TestHeadOfStream answers a HEAD request for a stream at once, and keeps its
// connection usable.
func TestHeadOfStream(t *testing.T) {
	t.Parallel()
	s := start(t, service.Config{Store: openStore(t)})
	k := key(t, s.st, "acme", store.ScopeRead)
	for range 3 {
		if a := s.ask("HEAD", "/v1/events/stream", k, nil); a.status != http.StatusOK || a.header.Get("Content-Type") != "text/event-stream" {
			t.Errorf("status %d, type %q", a.status, a.header.Get("Content-Type"))
		}
		s.ask("GET", "/v1/me", k, nil).read(t, http.StatusOK, nil)
	}
}
