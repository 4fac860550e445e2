package storetest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"headway/job"
	"headway/store"
)

// testTaken reserves hosts: in order, permanently, and never more than the limit.
func testTaken(t *testing.T, open Open) {
	place := t.TempDir()
	w := &world{t: t, ctx: t.Context(), store: open(t, place, nil), now: start}
	t.Cleanup(func() { w.store.Close() })
	w.job = w.newJob(0)
	host := func(i int) string { return fmt.Sprintf("http://h%02d.example", i) }
	take := func(most int64, n int64, want []string, hosts ...string) {
		t.Helper()
		got, err := w.store.TakeHosts(w.ctx, w.job, most, hosts)
		w.check(err)
		if got.N != n || !slices.Equal(got.Hosts, want) {
			t.Errorf("%v of %d: %+v, want %d, %v", hosts, most, got, n, want)
		}
	}
	first := []string{host(3), host(7), host(9)}
	take(5, 0, nil)
	take(5, 2, []string{host(3), host(9)}, host(9), host(3), host(9))
	take(5, 2, nil)
	take(5, 3, []string{host(7), host(9)}, host(9), host(7))
	// Hosts are reserved in the order given; when the limit is reached, all are returned.
	all := append([]string{host(1)}, first...)
	take(4, 4, all, host(9), host(1), host(2))
	take(4, 4, all, host(2))
	take(4, 4, all)
	// A lower limit removes nothing, a higher one makes room.
	take(2, 4, all, host(2))
	take(5, 5, append([]string{host(0)}, all...), host(0), host(2))
	// Another job has its own reservations.
	first = []string{host(2)}
	one := w.job
	w.job = w.newJob(0)
	take(1, 1, first, host(2), host(3))
	w.job = one

	w.check(w.store.Close())
	w.store = open(t, place, nil)
	take(5, 5, append([]string{host(0)}, all...), host(2))
	w.race(t, host)

	if _, err := w.store.TakeHosts(w.ctx, w.job+1000, 5, []string{host(1)}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("no such job: %v", err)
	}
	for name, err := range map[string]error{
		"no limit": second(w.store.TakeHosts(w.ctx, w.job, 0, nil)),
		"no host":  second(w.store.TakeHosts(w.ctx, w.job, 5, []string{"example.com/"})),
		"too many": second(w.store.TakeHosts(w.ctx, w.job, 5, make([]string, store.MaxHosts+1))),
	} {
		if err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	w.check(w.store.SetState(w.ctx, w.now, w.job, job.Running, job.Cancelled, ""))
	w.check(w.store.Drop(w.ctx, w.job))
	if _, err := w.store.TakeHosts(w.ctx, w.job, 5, nil); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a job that was dropped: %v", err)
	}
}

// race lets many callers reserve different hosts of a job concurrently: all see the same
// result.
func (w *world) race(t *testing.T, host func(int) string) {
	const takers, each, most = 8, 4, 10
	id := w.newJob(0)
	var group sync.WaitGroup
	answers := make([]store.Taken, takers)
	errs := make([]error, takers)
	for i := range takers {
		group.Go(func() {
			for k := range each {
				// Adjacent callers want some of the same hosts.
				if answers[i], errs[i] = w.store.TakeHosts(w.ctx, id, most, []string{host(3*i + k), host(3*i + k + 1)}); errs[i] != nil {
					return
				}
			}
		})
	}
	group.Wait()
	whole, err := w.store.TakeHosts(w.ctx, id, most, nil)
	w.check(err)
	if whole.N != most || len(whole.Hosts) != most {
		t.Fatalf("%d hosts of %d: %v", whole.N, most, whole.Hosts)
	}
	for i := range takers {
		w.check(errs[i])
		for _, h := range answers[i].Hosts {
			if !whole.Has(h) {
				t.Errorf("%s was given and is not taken: %v", h, whole.Hosts)
			}
		}
	}
}
