package service_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"headway/internal/pgtest"
	"headway/job"
	"headway/service"
	"headway/store"
	"headway/store/postgres"
)

// TestOutage stops PostgreSQL under two servers, one of which requires no keys, so its
// requests get further. Every operation of the document responds that it should be
// retried, and works once PostgreSQL is back; a stream continues where it was.
func TestOutage(t *testing.T) {
	t.Parallel()
	db := pgtest.StartFor(t, pgtest.Config{})
	st, err := postgres.Open(t.Context(), postgres.Config{DSN: db.DSN("postgres")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() }) // it never fails
	s := start(t, service.Config{Store: st, Exports: service.Exports{To: t.TempDir()}})
	free := start(t, service.Config{Store: st, NoKeys: true, Exports: service.Exports{To: t.TempDir()}})
	d, ids := readDocument(t), things(t, s, "acme")
	k := key(t, st, "acme", store.ScopeOperator)

	const before, after = 1, 2 // events of the stream
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	f := &follower{url: s.base + "/v1/events/stream?after=0", key: k}
	f.follow(ctx, t, before)
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.follow(ctx, t, before+after)
	}()

	if err := db.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, o := range d.operations() {
		path, body, _ := o.fill(t, d, ids)
		for server, k := range map[*server]string{s: k, free: ""} {
			a := server.askHead(o, path, k, body)
			if a.status != http.StatusServiceUnavailable && (k != "" || a.status >= http.StatusInternalServerError) {
				t.Errorf("%s: %d %s", o.OperationID, a.status, a.body)
				continue
			}
			if a.status == http.StatusServiceUnavailable {
				if a.header.Get("Retry-After") == "" {
					t.Errorf("%s: no Retry-After: %s", o.OperationID, a.body)
				}
				a.problem(t)
			}
		}
	}

	if err := db.StartServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, server := range []*server{s, free} {
		// PostgreSQL is another process, so the health check is polled.
		for began := time.Now(); server.ask("GET", "/readyz", "", nil).status != http.StatusOK; time.Sleep(50 * time.Millisecond) {
			if time.Since(began) > time.Minute {
				t.Fatal("not ready")
			}
		}
	}
	for range after {
		if _, err := st.CreateJob(t.Context(), store.Job{Tenant: "acme", State: job.Running, CreatedAt: time.Now()}); err != nil {
			t.Fatal(err)
		}
	}
	<-done
	if len(f.got) != before+after {
		t.Errorf("the stream had %v", f.got)
	}
	for _, o := range d.operations() {
		path, body, _ := o.fill(t, d, ids)
		for server, k := range map[*server]string{s: k, free: ""} {
			a := server.askHead(o, path, k, body)
			if a.status >= http.StatusInternalServerError {
				t.Errorf("%s, when all is well: %d %s", o.OperationID, a.status, a.body)
			}
		}
	}
}
