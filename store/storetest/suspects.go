package storetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"headway/job"
	"headway/store"
)

// suspectWorld is a world whose first worker owns all slots, and a second one none.
type suspectWorld struct {
	*world
	suspects store.Suspects
}

func newSuspectWorld(t *testing.T, open Open) *suspectWorld {
	w := newWorld(t, open, 0)
	s, ok := w.store.(store.Suspects)
	if !ok {
		t.Skip("not shared by workers: a journal finds suspects")
	}
	return &suspectWorld{w, s}
}

// die lets the worker of the world die, and another one take over.
func (w *suspectWorld) die() {
	w.t.Helper()
	next := w.newOwner(0)
	w.now = w.now.Add(overdue)
	w.check(w.store.Renew(w.ctx, next.id))
	if n := len(next.acquire(store.SlotCount)); n != store.SlotCount {
		w.t.Fatalf("took over %d slots", n)
	}
	w.w = next
}

// watch begins the first URLs and completes the others.
func (w *suspectWorld) watch(begun, done []store.Suspect) {
	w.t.Helper()
	w.check(w.suspects.Watch(w.ctx, w.w.id, begun, done))
}

func (w *suspectWorld) list(urls ...string) []store.Suspect { return w.listFor(w.job, urls...) }

func (w *suspectWorld) listFor(id job.ID, urls ...string) []store.Suspect {
	var list []store.Suspect
	for _, u := range urls {
		list = append(list, store.Suspect{Job: id, URL: mustURL(w.t, u)})
	}
	return list
}

// expect compares the suspects in all slots with lines such as "2 http://a.example/".
func (w *suspectWorld) expect(want ...string) store.Suspicions {
	w.t.Helper()
	got, err := w.suspects.Suspicions(w.ctx, slices.Collect(maps.Keys(w.w.leases)))
	w.check(err)
	var lines []string
	for i := range got.URLs {
		s := &got.URLs[i]
		if s.Quarantined() != (s.Deaths >= store.MaxDeaths) || s.Job == 0 {
			w.t.Errorf("%+v", *s)
		}
		lines = append(lines, fmt.Sprintf("%d %s", s.Deaths, s.URL))
	}
	if !slices.Equal(lines, want) {
		w.t.Errorf("suspects are %q, want %q", lines, want)
	}
	return got
}

func testSuspects(t *testing.T, open Open) {
	const a, b, c = "http://a.example/", "http://b.example/2", "http://c.example/"
	inSuspectWorlds := map[string]func(*testing.T, *suspectWorld){
		"a URL in flight at each death is quarantined after the third": func(t *testing.T, w *suspectWorld) {
			w.die() // it may have been in flight
			w.expect()
			w.watch(w.list(a, b), nil)
			w.expect() // being watched is no death
			w.die()
			w.expect("2 "+a, "2 "+b)
			w.watch(w.list(b), nil)
			w.watch(w.list(a), w.list(b))
			w.die()
			got := w.expect("3 " + a)
			if !got.URLs[0].Quarantined() {
				t.Error("it is not quarantined")
			}
			w.watch(nil, w.list(a)) // it has ended
			w.expect()
		},
		"a URL that completes is cleared, whatever happens next": func(_ *testing.T, w *suspectWorld) {
			w.watch(w.list(a, b), nil)
			w.watch(w.list(c), w.list(a))
			w.watch(nil, w.list(a, b))
			w.die()
			w.expect("2 " + c)
			w.watch(w.list(c), nil)
			w.watch(nil, w.list(c))
			w.die()
			w.expect()
			w.watch(w.list(c), nil) // suspected again
			w.die()
			w.expect("2 " + c)
		},
		"a death without it does not count": func(_ *testing.T, w *suspectWorld) {
			w.watch(w.list(a), nil)
			w.die()
			w.die()
			w.die()
			w.expect("2 " + a)
		},
		"what is begun and done in one call has begun": func(_ *testing.T, w *suspectWorld) {
			w.watch(w.list(a, a), nil)
			w.watch(w.list(a), w.list(a, a))
			w.die()
			w.expect("2 " + a)
		},
		"leaving suspects nothing": func(_ *testing.T, w *suspectWorld) {
			w.leavesNothing(w.store.Leave)
		},
		"nor does abandoning": func(_ *testing.T, w *suspectWorld) {
			w.leavesNothing(w.store.Abandon)
		},
		"a slot knows when its owner died, after a release too": func(t *testing.T, w *suspectWorld) {
			if died := w.expect().Died; len(died) != 0 {
				t.Errorf("without a death: %v", died)
			}
			w.die()
			at := w.now
			slot := store.SlotOf(w.store.Key(), "a.example")
			w.check(w.store.Release(w.ctx, w.w.id, w.w.leases[slot]))
			w.now = w.now.Add(time.Minute)
			next := w.newOwner(1)
			if len(next.leases) != 1 {
				t.Fatalf("acquired %d slots", len(next.leases))
			}
			got, err := w.suspects.Suspicions(w.ctx, []store.Slot{slot})
			w.check(err)
			if len(got.Died) != 1 || !got.Died[slot].Equal(at) {
				t.Errorf("died %v, want %v", got.Died, at)
			}
		},
		"a reader gets the suspects of its slots": func(t *testing.T, w *suspectWorld) {
			w.watch(w.list(a, b), nil)
			w.die()
			got, err := w.suspects.Suspicions(w.ctx, []store.Slot{store.SlotOf(w.store.Key(), "b.example")})
			w.check(err)
			if len(got.URLs) != 1 || got.URLs[0].URL.String() != b || got.URLs[0].Job != w.job {
				t.Errorf("got %+v", got.URLs)
			}
		},
		"jobs are apart, and those that end take theirs along": func(_ *testing.T, w *suspectWorld) {
			other := w.newJob(0)
			w.watch(append(w.list(a), w.listFor(other, a)...), nil)
			w.watch(nil, w.list(a))
			w.die()
			w.expect("2 " + a)
			w.check(w.store.SetState(w.ctx, w.now, other, job.Running, job.Cancelled, ""))
			w.expect()
			w.check(w.store.Drop(w.ctx, other))
			w.watch(w.listFor(other, a), nil) // a job that is gone
			w.die()
			w.expect()
		},
		"a dead worker watches nothing": func(t *testing.T, w *suspectWorld) {
			dead := w.w.id
			w.watch(w.list(a), nil)
			w.die()
			for _, lists := range [][2][]store.Suspect{{w.list(b), nil}, {nil, w.list(a)}} {
				if err := w.suspects.Watch(w.ctx, dead, lists[0], lists[1]); !errors.Is(err, store.ErrFenced) {
					t.Errorf("a dead worker: %v", err)
				}
			}
			w.expect("2 " + a)
		},
		"another worker clears nothing that is in flight": func(_ *testing.T, w *suspectWorld) {
			w.watch(w.list(a), nil)
			other := w.newOwner(0)
			w.check(w.suspects.Watch(w.ctx, other.id, nil, w.list(a)))
			w.die()
			w.expect("2 " + a)
		},
		"invalid calls are rejected": func(t *testing.T, w *suspectWorld) {
			for name, list := range map[string][]store.Suspect{"no URL": {{Job: w.job}}, "too many": make([]store.Suspect, store.MaxWatched+1)} {
				if w.suspects.Watch(w.ctx, w.w.id, list, nil) == nil || w.suspects.Watch(w.ctx, w.w.id, nil, list) == nil {
					t.Errorf("%s is taken", name)
				}
			}
		},
	}
	for name, play := range inSuspectWorlds {
		t.Run(name, func(t *testing.T) { play(t, newSuspectWorld(t, open)) })
	}
}

// leavesNothing ends a worker that is alive. Its watched URLs are no suspects, and the
// count of earlier suspects stays.
func (w *suspectWorld) leavesNothing(end func(ctx context.Context, id store.WorkerID) error) {
	const a, b = "http://a.example/", "http://b.example/2"
	w.t.Helper()
	w.watch(w.list(a), nil)
	w.die()
	died := w.now
	w.watch(w.list(a, b), nil)
	w.check(end(w.ctx, w.w.id))
	w.now = w.now.Add(time.Second)
	w.w = w.newOwner(store.SlotCount)
	got := w.expect("2 " + a)
	for slot, at := range got.Died {
		if !at.Equal(died) {
			w.t.Fatalf("slot %d: died %v, want %v", slot, at, died)
		}
	}
	w.die()
	w.expect("2 " + a)
}
