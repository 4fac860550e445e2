package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"headway/job"
	"headway/store"
)

func endpointOf(id, tenant string) store.Endpoint {
	return store.Endpoint{ID: id, Tenant: tenant, URL: "https://example.com/hook", Secret: bytes.Repeat([]byte("s"), store.MinSecret)}
}

// TestEndpoints creates, changes, disables, enables, rotates and drops endpoints.
func TestEndpoints(t *testing.T) {
	s := openTest(t, t.TempDir(), nil)
	defer s.Close()
	ctx, now := t.Context(), store.Stored(time.Now())
	_, err := s.CreateJob(ctx, store.Job{Tenant: "acme", State: job.Queued, CreatedAt: now})
	fatal(t, err)
	fatal(t, s.CreateEndpoint(ctx, now, endpointOf("a", "acme")))
	fatal(t, s.CreateEndpoint(ctx, now, endpointOf("b", "other")))
	e, err := s.Endpoint(ctx, "a")
	fatal(t, err)
	if !e.Enabled() || e.After == 0 || !e.CreatedAt.Equal(now) || len(e.Kinds) != 0 || len(e.Secrets(now)) != 1 {
		t.Errorf("new: %+v", e)
	}
	if list, err := s.Endpoints(ctx, store.EndpointQuery{Tenant: "acme"}); err != nil || len(list) != 1 || list[0].ID != "a" {
		t.Errorf("of a tenant: %+v, %v", list, err)
	}
	if list, err := s.Endpoints(ctx, store.EndpointQuery{All: true}); err != nil || len(list) != 2 {
		t.Errorf("of all: %+v, %v", list, err)
	}

	_, err = s.CreateJob(ctx, store.Job{Tenant: "acme", State: job.Queued, CreatedAt: now})
	fatal(t, err)
	fatal(t, s.EnableEndpoint(ctx, now, "a"))
	if on, err := s.Endpoint(ctx, "a"); err != nil || on.After != e.After {
		t.Errorf("one that is on was moved from %d to %d, %v", e.After, on.After, err)
	}
	fatal(t, s.DisableEndpoint(ctx, now, "a", strings.Repeat("x", 1000)))
	fatal(t, s.DisableEndpoint(ctx, now.Add(time.Hour), "a", "again"))
	off, err := s.Endpoint(ctx, "a")
	fatal(t, err)
	if off.Enabled() || !off.DisabledAt.Equal(now) || off.Disabled != strings.Repeat("x", store.MaxDisabled) {
		t.Errorf("off: %+v", off)
	}
	fatal(t, s.EnableEndpoint(ctx, now, "a"))
	on, err := s.Endpoint(ctx, "a")
	fatal(t, err)
	if !on.Enabled() || on.Disabled != "" || on.After <= e.After {
		t.Errorf("on again: %+v", on)
	}

	fatal(t, s.SetEndpoint(ctx, "a", "https://example.com/other", []store.EventKind{store.LimitNear}))
	fresh := bytes.Repeat([]byte("t"), store.MaxSecret)
	fatal(t, s.RotateEndpoint(ctx, "a", fresh, now.Add(time.Hour)))
	set, err := s.Endpoint(ctx, "a")
	fatal(t, err)
	if diff := cmp.Diff([][]byte{fresh, e.Secret}, set.Secrets(now)); diff != "" || set.URL != "https://example.com/other" || !slices.Equal(set.Kinds, []store.EventKind{store.LimitNear}) {
		t.Errorf("changed: %+v %s", set, diff)
	}
	if diff := cmp.Diff([][]byte{fresh}, set.Secrets(now.Add(time.Hour))); diff != "" {
		t.Errorf("after the rotation: %s", diff)
	}

	fatal(t, s.DropEndpoint(ctx, "a"))
	for name, err := range map[string]error{
		"read":    func() error { _, err := s.Endpoint(ctx, "a"); return err }(),
		"set":     s.SetEndpoint(ctx, "a", "https://x.example/", nil),
		"enable":  s.EnableEndpoint(ctx, now, "a"),
		"disable": s.DisableEndpoint(ctx, now, "a", ""),
		"rotate":  s.RotateEndpoint(ctx, "a", fresh, now),
		"drop":    s.DropEndpoint(ctx, "a"),
	} {
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s an endpoint that is gone: %v", name, err)
		}
	}
}

// TestEndpointsRefused lists invalid endpoints.
func TestEndpointsRefused(t *testing.T) {
	s := openTest(t, t.TempDir(), nil)
	defer s.Close()
	ctx, now := t.Context(), time.Now()
	for name, change := range map[string]func(*store.Endpoint){
		"no id":            func(e *store.Endpoint) { e.ID = "" },
		"no tenant":        func(e *store.Endpoint) { e.Tenant = "" },
		"no address":       func(e *store.Endpoint) { e.URL = "" },
		"a long address":   func(e *store.Endpoint) { e.URL = strings.Repeat("a", store.MaxEndpointURL+1) },
		"a weak secret":    func(e *store.Endpoint) { e.Secret = e.Secret[1:] },
		"an endless one":   func(e *store.Endpoint) { e.Secret = make([]byte, store.MaxSecret+1) },
		"an unknown event": func(e *store.Endpoint) { e.Kinds = []store.EventKind{"job.melted"} },
	} {
		e := endpointOf("a", "acme")
		change(&e)
		if err := s.CreateEndpoint(ctx, now, e); err == nil {
			t.Errorf("%s was stored", name)
		}
	}
	for i := range store.MaxEndpoints {
		fatal(t, s.CreateEndpoint(ctx, now, endpointOf(fmt.Sprint("e", i), "acme")))
	}
	if err := s.CreateEndpoint(ctx, now, endpointOf("more", "acme")); !errors.Is(err, store.ErrConflict) {
		t.Errorf("one too many: %v", err)
	}
	fatal(t, s.CreateEndpoint(ctx, now, endpointOf("more", "other")))
}

// TestFollow lets several followers of one name read events concurrently, every other of
// them failing. Each event is delivered once, in order, and a follower of another name gets
// them all again.
func TestFollow(t *testing.T) {
	place := t.TempDir()
	s := openTest(t, place, nil)
	defer s.Close()
	ctx, now := t.Context(), time.Now()
	fatal(t, execOn(ctx, cluster.DSN(nameOf(place)), "create table "+DefaultSchema+".had (number bigint primary key, place bigserial)"))
	const jobs = 300
	for range jobs {
		_, err := s.CreateJob(ctx, store.Job{Tenant: "acme", State: job.Queued, MaxPages: 1, CreatedAt: now})
		fatal(t, err)
	}
	fatal(t, s.CreateEndpoint(ctx, now, endpointOf("a", "acme")))
	errRefused := errors.New("refused")
	take := func(calls *int) func(context.Context, pgx.Tx, []store.Event, []store.Endpoint) error {
		return func(ctx context.Context, tx pgx.Tx, list []store.Event, to []store.Endpoint) error {
			if len(to) != 1 || to[0].ID != "a" {
				t.Errorf("endpoints %+v", to)
			}
			for _, e := range list {
				if _, err := tx.Exec(ctx, "insert into had (number) values ($1)", e.Number); err != nil {
					return err
				}
			}
			if *calls++; *calls%2 == 1 {
				return errRefused
			}
			return nil
		}
	}
	follow := func(times int) {
		calls := 0
		for range times {
			if _, err := s.Follow(ctx, now, "hooks", take(&calls)); err != nil && !errors.Is(err, errRefused) {
				t.Error(err)
			}
		}
	}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() { follow(50) })
	}
	group.Wait()
	follow(2) // all of them may have found another at work, and the last one was refused
	var had int
	var ordered bool
	fatal(t, s.pool.QueryRow(ctx, "select count(*), bool_and(number > before) from (select number, lag(number, 1, 0::bigint) over (order by place) as before from had) as h").Scan(&had, &ordered))
	if had != jobs || !ordered {
		t.Errorf("%d events of %d were had, in order: %v", had, jobs, ordered)
	}
	again := 0
	n, err := s.Follow(ctx, now, "another", func(_ context.Context, _ pgx.Tx, list []store.Event, _ []store.Endpoint) error {
		again += len(list)
		return nil
	})
	if err != nil || n != jobs || again != jobs {
		t.Errorf("another follower had %d and %d, %v", n, again, err)
	}
}
