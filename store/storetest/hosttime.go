package storetest

import (
	"errors"
	"maps"
	"testing"
	"time"

	"headway/job"
	"headway/store"
	"headway/visit"
)

func testHostTime(t *testing.T, open Open) {
	inWorlds(t, open, []scene{
		{"sums of all commits and workers", func(t *testing.T, w *world) {
			times, ok := w.store.(store.HostTimes)
			if !ok {
				if _, err := w.w.commit(store.Commit{HostTime: []store.HostTime{{Job: w.job, State: "pace", Spent: 1}}}); !errors.Is(err, errors.ErrUnsupported) {
					t.Errorf("a store without host times took one: %v", err)
				}
				return
			}
			expect := func(id job.ID, want map[string]time.Duration) {
				t.Helper()
				if got, err := times.HostTime(w.ctx, id); err != nil || !maps.Equal(got, want) {
					t.Errorf("job %d: %v, %v; want %v", id, got, err, want)
				}
			}
			commit := func(o *owner, list ...store.HostTime) {
				t.Helper()
				_, err := o.commit(store.Commit{HostTime: list})
				w.check(err)
			}
			other := w.newJob(0)
			expect(w.job, map[string]time.Duration{})
			commit(w.w, store.HostTime{Job: w.job, State: "pace", Spent: time.Second}, store.HostTime{Job: other, State: "fetching", Spent: time.Hour},
				store.HostTime{Job: w.job, State: "pace", Spent: time.Microsecond}, store.HostTime{Job: 999, State: "pace", Spent: time.Second})
			commit(w.newOwner(0), store.HostTime{Job: w.job, State: "pace", Spent: time.Minute}, store.HostTime{Job: w.job, State: string(visit.WaitHold), Spent: time.Millisecond})
			expect(w.job, map[string]time.Duration{"pace": time.Minute + time.Second + time.Microsecond, "hold": time.Millisecond})
			expect(other, map[string]time.Duration{"fetching": time.Hour})
			expect(999, map[string]time.Duration{})

			// A repeated commit adds nothing.
			c := w.w.prepare(store.Commit{HostTime: []store.HostTime{{Job: other, State: "fetching", Spent: time.Hour}}})
			if r, err := w.store.Commit(w.ctx, c); err != nil || !r.Repeated {
				t.Errorf("%+v, %v", r, err)
			}
			expect(other, map[string]time.Duration{"fetching": time.Hour})
		}},
		{"invalid", func(t *testing.T, w *world) {
			for _, h := range []store.HostTime{{Job: w.job, Spent: 1}, {Job: w.job, State: "pace", Spent: -1}} {
				if _, err := w.w.commit(store.Commit{HostTime: []store.HostTime{h}}); err == nil {
					t.Errorf("%+v was accepted", h)
				}
			}
		}},
	})
}
