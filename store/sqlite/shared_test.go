package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"headway/store"
)

// terminals opens crawls that share a hosts file.
func terminals(t *testing.T, n int) []*owner {
	t.Helper()
	hosts := filepath.Join(t.TempDir(), "state", "hosts.db")
	var list []*owner
	for range n {
		list = append(list, newOwner(t, openShares(t, hosts, nil), 0))
	}
	return list
}

func openShares(t *testing.T, hosts string, fault store.Fault) *Store {
	t.Helper()
	s, err := Open(t.Context(), Config{Dir: t.TempDir(), Hosts: hosts, Fault: fault, unsynced: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func (o *owner) claim(domains ...string) store.Claim {
	o.t.Helper()
	c, err := o.s.Claim(o.t.Context(), o.now, domains)
	o.check(err)
	return c
}

func (o *owner) wanted() []string {
	o.t.Helper()
	list, err := o.s.Wanted(o.t.Context(), o.now)
	o.check(err)
	return list
}

func host(name string, pace time.Duration, change store.Change) store.Host {
	return store.Host{Host: name, Politeness: []byte(pace.String()), Pace: pace, Change: change}
}

func TestDomainsGoFromCrawlToCrawl(t *testing.T) {
	ts := terminals(t, 3)
	a, b, c := ts[0], ts[1], ts[2]
	if got := a.claim("a.example", "b.example", "a.example"); !slices.Equal(got.Granted, []string{"a.example", "b.example"}) || len(got.Unclean) != 0 || len(got.Hosts) != 0 {
		t.Fatalf("first claim: %+v", got)
	}
	if got := b.claim("a.example", "c.example"); !slices.Equal(got.Granted, []string{"c.example"}) {
		t.Fatalf("second crawl: %+v", got)
	}
	if got := a.wanted(); !slices.Equal(got, []string{"a.example"}) {
		t.Fatalf("wanted: %v", got)
	}
	if got := c.claim("a.example"); len(got.Granted) != 0 {
		t.Fatalf("third crawl: %+v", got)
	}

	// Handed over with pace, hold and last request, to the first claimant.
	state := host("http://www.a.example", 3*time.Second, store.Slower)
	state.HoldUntil, state.LastSent, state.Robots = a.now.Add(time.Hour), a.now, []byte("r")
	a.check(a.s.Yield(t.Context(), a.now, []string{"a.example"}, []store.Host{state}))
	if got := c.claim("a.example"); len(got.Granted) != 0 {
		t.Errorf("the third came before the second: %+v", got)
	}
	if got := a.claim("a.example"); len(got.Granted) != 0 {
		t.Errorf("the first took it back before its turn: %+v", got)
	}
	state.Change = store.Same
	if diff := cmp.Diff(store.Claim{Granted: []string{"a.example"}, Hosts: []store.Host{state}}, b.claim("a.example")); diff != "" {
		t.Error(diff)
	}
	// Then the third, then the first again: turns alternate.
	b.check(b.s.Yield(t.Context(), b.now, []string{"a.example"}, nil))
	if got := c.claim("a.example"); len(got.Granted) != 1 {
		t.Errorf("the third has no turn: %+v", got)
	}
	c.check(c.s.Yield(t.Context(), c.now, []string{"a.example"}, nil))
	if got := a.claim("a.example"); len(got.Granted) != 1 {
		t.Errorf("the first has no second turn: %+v", got)
	}
	if got := a.wanted(); len(got) != 0 {
		t.Errorf("somebody still wants %v", got)
	}
}

func TestClaimsExpire(t *testing.T) {
	ts := terminals(t, 2)
	a, b := ts[0], ts[1]
	a.claim("a.example")
	b.claim("a.example")
	a.now = a.now.Add(store.ClaimAgain + time.Millisecond)
	if got := a.wanted(); len(got) != 0 {
		t.Errorf("wanted after b has lost interest: %v", got)
	}
	a.check(a.s.Yield(t.Context(), a.now, []string{"a.example"}, nil))
	if got := a.claim("a.example"); len(got.Granted) != 1 {
		t.Errorf("a domain is kept for somebody who went away: %+v", got)
	}
}

func TestDomainsOfADeadProcess(t *testing.T) {
	ts := terminals(t, 2)
	a, b := ts[0], ts[1]
	a.claim("a.example")
	if _, err := a.commit(store.Commit{Hosts: []store.Host{host("http://a.example", 2*time.Second, store.Slower)}}); err != nil {
		t.Fatal(err)
	}
	b.claim("a.example")
	a.check(a.s.Close())
	got := b.claim("a.example")
	if !slices.Equal(got.Granted, []string{"a.example"}) || !slices.Equal(got.Unclean, []string{"a.example"}) || len(got.Hosts) != 1 || got.Hosts[0].Pace != 2*time.Second {
		t.Errorf("after the owner died: %+v", got)
	}
}

func TestCommitNeedsTheDomain(t *testing.T) {
	ts := terminals(t, 2)
	a, b := ts[0], ts[1]
	a.claim("a.example")
	b.add("http://a.example/")
	slower := store.Commit{Visits: b.visits("http://a.example/"), Hosts: []store.Host{host("http://a.example", time.Second, store.Slower)}}
	if _, err := b.commit(slower); !errors.Is(err, store.ErrFenced) {
		t.Errorf("without owning the domain: %v", err)
	}
	if c := b.counts(); c.Waiting != 1 {
		t.Errorf("a refused commit left %+v", c)
	}
}

// TestSlowerFirst stops between the two files and checks what the next crawl would do: it is
// slower, or as fast as before, never faster.
func TestSlowerFirst(t *testing.T) {
	for name, tc := range map[string]struct {
		before, after time.Duration
		change        store.Change
		want          time.Duration // in the shared file when the crawl file could not be written
	}{
		"a slower host": {time.Second, 4 * time.Second, store.Slower, 4 * time.Second},
		"a faster host": {4 * time.Second, time.Second, store.Faster, 4 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			hosts := filepath.Join(t.TempDir(), "hosts.db")
			var armed bool
			s := openShares(t, hosts, func(q string) error {
				if armed && q == "insert into tally (job, ending, n) values (?,?,?) on conflict (job, ending) do update set n = n + excluded.n" {
					return errStop
				}
				return nil
			})
			o := newOwner(t, s, 0)
			o.claim("a.example")
			o.add("http://a.example/")
			if _, err := o.commit(store.Commit{Hosts: []store.Host{host("http://a.example", tc.before, store.Slower)}}); err != nil {
				t.Fatal(err)
			}
			c := store.Commit{Visits: o.visits("http://a.example/"), Hosts: []store.Host{host("http://a.example", tc.after, tc.change)}}
			armed = true
			if _, err := o.commit(c); !errors.Is(err, errStop) {
				t.Fatalf("not stopped: %v", err)
			}
			armed = false
			if got := o.claim("a.example").Hosts[0].Pace; got != tc.want {
				t.Errorf("pace %s, want %s", got, tc.want)
			}
			o.number++
			if _, err := o.commit(c); err != nil {
				t.Fatal(err)
			}
			if got := o.claim("a.example").Hosts[0].Pace; got != tc.after {
				t.Errorf("in the end the pace is %s, want %s", got, tc.after)
			}
		})
	}
}

var errStop = errors.New("stopped by the test")

func TestWithoutSharedHosts(t *testing.T) {
	o := newOwner(t, openTest(t, t.TempDir(), nil), 0)
	if got := o.claim("a.example"); len(got.Granted) != 1 {
		t.Errorf("%+v", got)
	}
	if got := o.wanted(); len(got) != 0 {
		t.Errorf("%v", got)
	}
	o.check(o.s.Yield(t.Context(), o.now, []string{"a.example"}, nil))
}

// TestOpenSharedAtOnce lets several crawls create the hosts file at the same time, as two
// terminals may do on first use.
func TestOpenSharedAtOnce(t *testing.T) {
	hosts := filepath.Join(t.TempDir(), "state", "hosts.db")
	errs := make(chan error)
	const crawls = 8
	for range crawls {
		dir := t.TempDir()
		go func() {
			s, err := Open(t.Context(), Config{Dir: dir, Hosts: hosts})
			if err == nil {
				err = s.Close()
			}
			errs <- err
		}()
	}
	for range crawls {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

// TestStoppedProcess stops a process that owns domains and holds its lock: its heartbeat
// does not change any more. A process that has waited for the time of a lease takes what it
// waits for, and no more.
func TestStoppedProcess(t *testing.T) {
	ts := terminals(t, 3)
	a, b, c := ts[0], ts[1], ts[2]
	keep := func(o *owner) []string {
		t.Helper()
		lost, err := o.s.Keep(t.Context())
		o.check(err)
		return lost
	}
	wait := func(d time.Duration) {
		for _, o := range ts {
			o.now = o.now.Add(d)
		}
	}
	const pace = 3 * time.Second
	lease := store.DefaultTerms.TakeOver
	a.claim("a.example", "b.example")
	keep(a)
	if _, err := a.commit(store.Commit{Hosts: []store.Host{host("http://a.example", pace, store.Slower)}}); err != nil {
		t.Fatal(err)
	}

	got := b.claim("a.example")
	want := []store.Possession{{Domain: "a.example", Holder: store.Holder{PID: os.Getpid(), Dir: filepath.Dir(a.s.path)}}}
	if diff := cmp.Diff(store.Claim{Held: want}, got); diff != "" {
		t.Errorf("who waits is not told for whom: %s", diff)
	}
	wait(lease - time.Second)
	keep(a) // late, but in time
	b.claim("a.example")
	c.claim("a.example")
	wait(lease - store.ClaimAgain/2) // the queries take some time
	if got := b.claim("a.example"); len(got.Granted) != 0 {
		t.Fatalf("taken from a process that runs: %+v", got)
	}
	wait(store.ClaimAgain - time.Second)
	if got := c.claim("a.example"); len(got.Granted) != 0 {
		t.Errorf("the third came before the second: %+v", got)
	}
	got = b.claim("a.example")
	if !slices.Equal(got.Granted, []string{"a.example"}) || !slices.Equal(got.Unclean, got.Granted) || len(got.Hosts) != 1 || got.Hosts[0].Pace != pace {
		t.Fatalf("after the owner stopped: %+v", got)
	}
	if diff := cmp.Diff(want, got.Taken); diff != "" {
		t.Error(diff)
	}

	// It continues. What it writes about the host is ignored until it owns it again.
	stale := []store.Host{host("http://a.example", time.Second, store.Faster), host("http://b.example", 2*time.Second, store.Slower)}
	if _, err := a.commit(store.Commit{Hosts: stale}); err != nil {
		t.Fatal(err)
	}
	a.s.shared.kept = store.Tenure{} // it was stopped
	if got := keep(a); !slices.Equal(got, []string{"a.example"}) {
		t.Errorf("it is told of the loss of %v", got)
	}
	if got := keep(a); len(got) != 0 {
		t.Errorf("it is told again of the loss of %v", got)
	}
	a.check(a.s.Yield(t.Context(), a.now, []string{"a.example"}, stale[:1]))
	if got := a.claim("a.example", "b.example"); !slices.Equal(got.Granted, []string{"b.example"}) || len(got.Hosts) != 1 || got.Hosts[0].Pace != 2*time.Second {
		t.Errorf("it owns %+v", got)
	}
	b.check(b.s.Yield(t.Context(), b.now, []string{"a.example"}, nil))
	c.claim("a.example")
	c.check(c.s.Yield(t.Context(), c.now, []string{"a.example"}, nil))
	if got := a.claim("a.example"); len(got.Granted) != 1 || len(got.Unclean) != 0 || got.Hosts[0].Pace != pace {
		t.Errorf("in its next turn: %+v", got)
	}
	if got := keep(a); len(got) != 0 {
		t.Errorf("it is told of the loss of %v, which it owns", got)
	}
	if _, err := a.commit(store.Commit{Hosts: stale[:1]}); err != nil {
		t.Fatal(err)
	}
	if got := a.claim("a.example").Hosts[0].Pace; got != time.Second {
		t.Errorf("what its owner says is not written: pace %s", got)
	}
}

// TestWithoutHeartbeat: a process that never wrote a heartbeat is not replaced: it may be of an
// older version without heartbeats.
func TestWithoutHeartbeat(t *testing.T) {
	ts := terminals(t, 2)
	a, b := ts[0], ts[1]
	a.claim("a.example")
	for range 20 {
		if got := b.claim("a.example"); len(got.Granted) != 0 {
			t.Fatalf("taken: %+v", got)
		}
		b.now = b.now.Add(store.DefaultTerms.TakeOver / 2)
	}
}

// TestWaitingWritesNothing repeatedly claims a domain that another process has: this must
// not write to the disk.
func TestWaitingWritesNothing(t *testing.T) {
	hosts := filepath.Join(t.TempDir(), "hosts.db")
	a := newOwner(t, openShares(t, hosts, nil), 0)
	a.claim("a.example")
	var writes int
	b := newOwner(t, openShares(t, hosts, func(q string) error {
		if q == "begin immediate" {
			writes++
		}
		return nil
	}), 0)
	b.claim("a.example")
	writes = 0
	for range 100 { // 2 s
		b.claim("a.example")
		b.now = b.now.Add(20 * time.Millisecond)
	}
	if writes != 0 {
		t.Errorf("%d changes of the file in two seconds", writes)
	}
	b.now = b.now.Add(store.ClaimAgain / 2)
	b.claim("a.example")
	if writes != 1 {
		t.Errorf("%d changes to renew the request", writes)
	}
}
