package committer_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"headway/frontier"
	"headway/gauge"
	"headway/internal/committer"
	"headway/internal/discovery"
	"headway/internal/loop"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// harness is a committer, its loop, and a store that records commits.
type harness struct {
	*testing.T
	*committer.Committer
	loop      *loop.Loop
	seen      *frontier.Seen
	commits   []store.Commit
	answers   []error // of the next commits
	took      time.Duration
	done      []*committer.Done
	last      int // how many low-priority visits go into a commit
	synced    int
	retryable bool // failed queries and segments are retried
	mu        sync.Mutex
	failed    int // queries, not segments
	segments  gauge.Segments
	work      context.Context
	stop      context.CancelFunc
}

const gap = time.Second

func newDesk(t *testing.T) *harness { return newDeskWith(t, gap) }

func newDeskWith(t *testing.T, gap time.Duration) *harness { return newDeskFor(t, gap, nil) }

func newDeskFor(t *testing.T, gap time.Duration, to committer.Archive) *harness {
	d := &harness{T: t, seen: frontier.NewSeen(0), last: 100, took: 100 * time.Millisecond}
	log := slog.New(slog.DiscardHandler)
	d.loop = loop.New(loop.Config{
		Room: 10, Log: log, OnAttempt: d.onAttempt, Scarce: func(error) bool { return false },
		Retryable: func(error) bool { return d.retryable },
	})
	d.loop.Begin()
	d.work, d.stop = context.WithCancel(t.Context())
	d.loop.During(d.work)
	d.Committer = committer.New(d.loop, committer.Config{
		Store: d, Archive: to, Seen: d.seen, Gap: gap, Log: log, OnAttempt: func(context.Context, error) {}, OnSegment: d.onSegment,
		Lease: func(s store.Slot) (store.Lease, bool) { return store.Lease{Slot: s, Fence: 7}, s < 100 },
		Host: func(name string) (committer.Host, bool) {
			return committer.Host{Host: store.Host{Host: name}, Slot: 3, Domain: "touched.example"}, name != "gone"
		},
		MaxLowPriority: func(int) int { return d.last },
		Sync:           func(context.Context) error { d.synced++; return nil },
		CommitContext:  func() (context.Context, context.CancelFunc) { return context.WithCancel(context.WithoutCancel(d.work)) },
		OnStored:       func(_ time.Time, done *committer.Done) { d.done = append(d.done, done) },
	})
	d.Begin(5)
	return d
}

func (d *harness) onAttempt(_ context.Context, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil {
		d.failed++
	}
}

func (d *harness) onSegment(_ context.Context, bytes int, took time.Duration, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.segments.Took += took
	if err != nil {
		d.segments.Failed++
		return
	}
	d.segments.Written++
	d.segments.Bytes += int64(bytes)
}

// Commit implements the store.
func (d *harness) Commit(_ context.Context, c store.Commit) (store.Receipt, error) {
	time.Sleep(d.took) // virtual time
	if len(d.answers) > 0 {
		err := d.answers[0]
		if d.answers = d.answers[1:]; err != nil {
			return store.Receipt{}, err
		}
	}
	d.commits = append(d.commits, c)
	return store.Receipt{}, nil
}

// run runs the loop for a time.
func (d *harness) run(for_ time.Duration) {
	end := time.Now().Add(for_)
	for time.Now().Before(end) && d.loop.Err() == nil {
		now := d.loop.Now()
		d.loop.SleepUntil(now.Add(time.Hour))
		d.Start(d.work, now, false)
		select {
		case f := <-d.loop.Answers():
			d.loop.Take(f)
		case <-time.After(min(d.loop.Sleep(now), time.Until(end))):
		}
	}
}

func (d *harness) url(i int) weburl.URL {
	u, err := weburl.Parse(fmt.Sprintf("http://a.example/%d", i))
	if err != nil {
		d.Fatal(err)
	}
	return u
}

// page returns a visit with links.
func (d *harness) page(i, links int) committer.Entry {
	u := d.url(i)
	e := committer.Entry{
		Slot: 1, Domain: "a.example", Request: &frontier.Request{Host: u.Host(), Item: visit.Item{URL: u}}, Visit: &visit.Visit{Item: visit.Item{URL: u}, Outcome: visit.Fetched},
	}
	for range links {
		e.Found = append(e.Found, discovery.Link{Mark: weburl.Fingerprint128{1}})
	}
	return e
}

// TestBatches commits as much as fits, in the order added, one commit at a time.
func TestBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		const pages = 2*store.MaxVisits + 10
		var stored []int
		for i := range pages {
			e := d.page(i, 0)
			e.Stored = func() { stored = append(stored, i) }
			d.Add(e)
		}
		if n, _, _ := d.Behind(); n != pages {
			t.Errorf("%d wait", n)
		}
		d.run(time.Minute)
		var sizes []int
		for i, c := range d.commits {
			sizes = append(sizes, len(c.Visits))
			if c.Number != int64(i+1) || c.Worker != 5 || len(c.Leases) != 1 || c.Leases[0].Fence != 7 {
				t.Errorf("commit %d: number %d of worker %d, leases %v", i, c.Number, c.Worker, c.Leases)
			}
		}
		if !slices.Equal(sizes, []int{store.MaxVisits, store.MaxVisits, 10}) || d.synced != 3 {
			t.Errorf("commits of %v, synced %d times", sizes, d.synced)
		}
		i := 0
		for _, done := range d.done {
			for _, e := range done.Entries {
				if e.Visit.Item.URL != d.url(i) {
					t.Fatalf("%s at place %d", e.Visit.Item.URL, i)
				}
				i++
				e.Stored() // as the engine does
			}
		}
		if len(stored) != pages || !slices.IsSorted(stored) || !d.Idle() {
			t.Errorf("%d were acknowledged in order", len(stored))
		}
	})
}

// TestBounds keeps each part of a commit within the store's limits.
func TestBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		errand, park, file := store.Errand{URL: d.url(0)}, frontier.Park{Host: "http://a.example"}, store.RobotsVersion{}
		for range store.MaxHosts + 1 {
			d.Add(committer.Entry{Errand: &errand})
			d.Add(committer.Entry{Ran: &errand, Slot: 1, Domain: "a.example"})
			d.Add(committer.Entry{Park: &park, Slot: 1, Domain: "a.example"})
		}
		for range store.MaxVisits + 1 {
			d.Add(committer.Entry{Robots: &file})
		}
		for range 3 {
			d.Add(d.page(0, store.MaxFound/2+1))
		}
		for i := range store.MaxHosts + 1 {
			d.Touch(fmt.Sprint(i))
			d.Pace(store.PaceChange{}, 2)
		}
		d.run(time.Minute)
		var all store.Commit
		for i, c := range d.commits {
			if len(c.Visits) > store.MaxVisits || len(c.Found) > store.MaxFound || len(c.Parks) > store.MaxHosts || len(c.Robots) > store.MaxVisits ||
				len(c.Errands) > store.MaxHosts || len(c.Ran) > store.MaxHosts || len(c.Hosts) > store.MaxHosts || len(c.Paces) > store.MaxHosts {
				t.Errorf("commit %d is too large", i)
			}
			all.Visits, all.Found = append(all.Visits, c.Visits...), append(all.Found, c.Found...)
			all.Parks, all.Robots = append(all.Parks, c.Parks...), append(all.Robots, c.Robots...)
			all.Errands, all.Ran = append(all.Errands, c.Errands...), append(all.Ran, c.Ran...)
			all.Hosts, all.Paces = append(all.Hosts, c.Hosts...), append(all.Paces, c.Paces...)
		}
		const hosts = store.MaxHosts + 1
		if len(all.Visits) != 3 || len(all.Found) != 3*(store.MaxFound/2+1) || len(all.Parks) != hosts || len(all.Robots) != store.MaxVisits+1 ||
			len(all.Errands) != hosts || len(all.Ran) != hosts || len(all.Hosts) != hosts || len(all.Paces) != hosts {
			t.Error("something was lost, or stored twice")
		}
	})
}

// TestStoredWhileWaiting leaves out links that the commit before has stored.
func TestStoredWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		links := func(numbers ...uint8) (list []discovery.Link) {
			for _, n := range numbers {
				list = append(list, discovery.Link{Found: store.Found{Item: visit.Item{URL: d.url(int(n))}}, Mark: weburl.Fingerprint128{n}})
			}
			return list
		}
		page := func(i int, list []discovery.Link) committer.Entry {
			e := d.page(i, 0)
			e.Found = list
			return e
		}
		d.Add(page(100, links(2, 3)))
		d.run(d.took / 2)
		d.Add(page(101, links(2, 3, 4)))
		d.run(d.took)
		for _, n := range []uint8{2, 3} { // as after every commit
			d.seen.Put(weburl.Fingerprint128{n})
		}
		d.run(2 * gap)
		if len(d.commits) != 2 || len(d.commits[1].Found) != 1 || d.commits[1].Found[0].Item.URL != d.url(4) {
			t.Fatalf("%d commits, the last with %v; want only the third link", len(d.commits), d.commits[len(d.commits)-1].Found)
		}
		if _, waiting, _ := d.Behind(); waiting != 0 {
			t.Errorf("%d links still wait", waiting)
		}
	})
}

// TestGap waits between commits, unless there is a reason to flush.
func TestGap(t *testing.T) {
	for name, reason := range map[string]func(*harness){
		"none":       func(*harness) {},
		"flush":      func(d *harness) { d.FlushNow() },
		"many pages": func(d *harness) { addPages(d, 70) },
		"many that the commit has no room for": func(d *harness) {
			d.last = 0
			for i := range 70 {
				d.AddLowPriority(d.page(100+i, 0))
			}
		},
		"many of low priority": func(d *harness) {
			for i := range 70 {
				d.AddLowPriority(d.page(100+i, 0))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t)
				d.Add(d.page(0, 0))
				d.run(200 * time.Millisecond)
				d.Add(d.page(1, 0))
				reason(d)
				d.run(gap)
				if len(d.commits) != 2 {
					t.Fatalf("%d commits", len(d.commits))
				}
				between := d.commits[1].At.Sub(d.commits[0].At)
				if waits := name == "none" || d.last == 0; waits && between != gap || !waits && between > 300*time.Millisecond {
					t.Errorf("%v between commits", between)
				}
			})
		})
	}
}

// TestBusyStore makes larger commits if the store is slow with many pages, and not if it is
// slow with few.
func TestBusyStore(t *testing.T) {
	for _, tt := range []struct {
		name  string
		took  time.Duration
		pages int // in the first commit
		many  int // pages that do not wait for the gap after it
	}{
		{"fast with many", gap / 4, 64, 64},
		{"slow with many", gap / 2, 64, 256},
		{"slow with few", gap / 2, 31, 64},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for pages, want := range map[int]time.Duration{tt.many - 1: gap, tt.many: 6 * gap / 10} {
				synctest.Test(t, func(t *testing.T) {
					d := newDesk(t)
					d.took = tt.took
					addPages(d, tt.pages)
					d.run(6 * gap / 10)
					addPages(d, pages)
					d.run(2 * gap)
					if between := d.commits[1].At.Sub(d.commits[0].At); between != want {
						t.Errorf("%d pages: %v between commits, want %v", pages, between, want)
					}
				})
			}
		})
	}
}

// TestNoGap commits again at once, however slow the store is.
func TestNoGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDeskWith(t, 0)
		addPages(d, 64)
		d.run(10 * time.Millisecond)
		d.Add(d.page(100, 0))
		d.run(gap)
		if between := d.commits[1].At.Sub(d.commits[0].At); between != d.took {
			t.Errorf("%v between commits that take %v", between, d.took)
		}
	})
}

func addPages(d *harness, n int) {
	for i := range n {
		d.Add(d.page(i, 0))
	}
}

// TestFails ends the loop when a commit is rejected, and reports nothing of it as stored. A
// full disk or a locked file is retried for a while.
func TestFails(t *testing.T) {
	for _, tt := range []struct {
		name    string
		answers []error
		stored  bool
		fails   error
	}{
		{"fenced", []error{store.ErrFenced}, false, store.ErrFenced},
		{"busy", []error{store.ErrInUse, store.ErrInUse, nil}, true, nil},
		{"full for a moment", []error{store.ErrFull, nil}, true, nil},
		{"full", slices.Repeat([]error{store.ErrFull}, 100), false, store.ErrFull},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t)
				d.answers = tt.answers
				d.Add(d.page(0, 0))
				d.run(time.Minute)
				if (len(d.done) == 1) != tt.stored || !errors.Is(d.loop.Err(), tt.fails) {
					t.Errorf("%d done, failed with %v", len(d.done), d.loop.Err())
				}
				if _, underway := d.Underway(); underway {
					t.Error("still under way")
				}
				d.stop()
				d.loop.End(func() {})
			})
		})
	}
}

// TestEnd stops retrying a locked file when the work ends.
func TestEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.answers = slices.Repeat([]error{store.ErrInUse}, 1000)
		d.Add(d.page(0, 0))
		d.run(time.Second)
		d.stop()
		d.run(5 * time.Second)
		if !errors.Is(d.loop.Err(), store.ErrInUse) {
			t.Error(d.loop.Err())
		}
		d.loop.End(func() {})
	})
}

// TestLowPriority stores low-priority visits after others, and withdraws those that are in
// no commit yet.
func TestLowPriority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.last = 2
		for i := range 5 {
			d.AddLowPriority(d.page(100+i, 0))
		}
		d.Add(d.page(0, 0))
		if !d.LowPriorityPending() {
			t.Error("nothing is ending")
		}
		d.run(10 * time.Millisecond)
		spared := d.Withdraw(func(r *frontier.Request) bool { return r.Item.URL == d.url(102) })
		d.run(time.Minute)
		if len(spared) != 1 || d.LowPriorityPending() || !d.Idle() {
			t.Errorf("%d were taken back", len(spared))
		}
		var got []string
		for _, c := range d.commits {
			for _, v := range c.Visits {
				got = append(got, v.Item.URL.Path())
			}
		}
		if !slices.Equal(got, []string{"/0", "/100", "/101", "/103", "/104"}) {
			t.Errorf("stored %v", got)
		}
	})
}

// TestUnstored lists the domains that must not be handed over yet.
func TestUnstored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		domainOf := func(string) string { return "touched.example" }
		d.Add(d.page(0, 0)) // whose request keeps its domain
		d.Add(committer.Entry{Park: &frontier.Park{}, Slot: 2, Domain: "parked.example"})
		d.Touch("http://touched.example")
		d.StoreHost(committer.Host{Domain: "resting.example", Slot: 4})
		want := []string{"parked.example", "resting.example", "touched.example"}
		names := func() (list []string) {
			for n := range d.Unstored(domainOf) {
				list = append(list, n)
			}
			slices.Sort(list)
			return list
		}
		if got := names(); !slices.Equal(got, want) {
			t.Errorf("before a commit: %v", got)
		}
		d.run(10 * time.Millisecond)
		if got := names(); !slices.Equal(got, want) {
			t.Errorf("while it is under way: %v", got)
		}
		d.run(time.Second)
		if got := names(); len(got) != 0 {
			t.Errorf("after it: %v", got)
		}
		slots := map[store.Slot]bool{}
		for _, l := range d.commits[0].Leases {
			slots[l.Slot] = true
		}
		if len(slots) != 4 {
			t.Errorf("behind the leases of %v", slots)
		}
	})
}

// TestPaceOfForeignHost stores a pace change of a host that is no longer ours, without its
// lease.
func TestPaceOfForeignHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.Pace(store.PaceChange{Host: "theirs"}, 200)
		d.Touch("gone")
		d.run(time.Second)
		if len(d.commits) != 1 || len(d.commits[0].Paces) != 1 || len(d.commits[0].Leases) != 0 || len(d.commits[0].Hosts) != 0 {
			t.Errorf("%+v", d.commits)
		}
	})
}
