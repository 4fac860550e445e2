package headway_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"headway/ask"
	"headway/job"
	"headway/politeness"
	"headway/store"
	"headway/store/memory"
)

// Timeouts of questions to a fleet.
const (
	answered = 2 * time.Second
	obeyed   = 5 * time.Second // an order is stored first
)

// startAll starts workers one after the other, so that the store numbers them in this
// order.
func (f *fleet) startAll(n int) []*worker { return f.startAllWith(n, func(*line) {}) }

// startAllWith starts workers with this kind of connection, one after another.
func (f *fleet) startAllWith(n int, kind func(*line)) (list []*worker) {
	for range n {
		list = append(list, f.startWith(kind))
		time.Sleep(100 * time.Millisecond) // virtual time
	}
	return list
}

// ask sends a question to the fleet.
func (f *fleet) ask(q ask.Question, within time.Duration) (ask.Answer, error) {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), within)
	defer cancel()
	return ask.NewFleet(f.st.(*memory.Store)).Ask(ctx, q)
}

// must is ask without an error.
func (f *fleet) must(q ask.Question, within time.Duration) ask.Answer {
	f.Helper()
	a, err := f.ask(q, within)
	if err != nil {
		f.Fatalf("%s: %v", q.Kind, err)
	}
	return a
}

// ownerOf returns the worker that answers for a host.
func (f *fleet) ownerOf(host string, workers []*worker) *worker {
	f.Helper()
	a := f.must(ask.Question{Kind: ask.KindSlow, Host: host}, obeyed)
	list, err := f.st.Workers(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	for i := range list {
		if list[i].ID == a.Change.Worker {
			return workers[i]
		}
	}
	f.Fatalf("worker %d owns %s and is none of %v", a.Change.Worker, host, list)
	return nil
}

// state returns the stored state of a host.
func (f *fleet) state(host string) (s politeness.State) {
	f.Helper()
	h, err := f.st.Host(f.Context(), host)
	if err == nil {
		err = s.UnmarshalBinary(h.Politeness)
	}
	if err != nil {
		f.Fatal(err)
	}
	return s
}

// TestFleetQuestions asks a fleet about a job, its hosts and a URL. All workers answer for
// their part.
func TestFleetQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const hosts = 12
		f := &fleet{simulated: newSimulated(t, hosts, small(60))}
		if _, err := f.ask(ask.Question{Kind: ask.KindWorkers}, answered); !errors.Is(err, ask.ErrNoAnswer) {
			t.Errorf("a fleet without workers: %v", err)
		}
		id := f.submit(0)
		workers := f.startAll(3)
		pass(15 * time.Second)

		status := f.must(ask.Question{Kind: ask.KindStatus, Job: id}, answered)
		var parts float64
		now := 0
		for _, s := range status.Status.Shares {
			parts += s.Part
			now += s.Hosts
		}
		if s := status.Status; status.Asked != 3 || status.Answered != 3 || s.Hosts != hosts || now != hosts || math.Abs(parts-1) > 1e-9 || s.Workers == 0 {
			t.Errorf("%d of %d answered: %d hosts, %d in a state, shares add up to %v, %d workers", status.Answered, status.Asked, s.Hosts, now, parts, s.Workers)
		}
		if none := f.must(ask.Question{Kind: ask.KindStatus, Job: id + 1}, answered); none.Status != nil || none.Answered != 3 {
			t.Errorf("an unknown job: %+v", none)
		}

		list := f.must(ask.Question{Kind: ask.KindHosts, Job: id}, answered)
		seen := map[string]bool{}
		for _, h := range list.Hosts {
			seen[h.Host] = true
		}
		if len(list.Hosts) != hosts || len(seen) != hosts {
			t.Errorf("%d hosts, %d different, want %d", len(list.Hosts), len(seen), hosts)
		}
		if list := f.must(ask.Question{Kind: ask.KindHosts, Job: id + 1}, answered); len(list.Hosts) > 0 {
			t.Errorf("hosts of an unknown job: %+v", list.Hosts)
		}
		if one := f.must(ask.Question{Kind: ask.KindHosts, Host: host(3)}, answered); len(one.Hosts) != 1 || one.Hosts[0].Host != host(3) || one.Asked != 0 {
			t.Errorf("one host: %+v", one)
		}
		if u := f.must(ask.Question{Kind: ask.KindURL, Job: id, URL: host(3) + "/elsewhere"}, answered).URL; u == nil || u.Where != ask.PlaceQueued || u.Host == nil {
			t.Errorf("a URL: %+v", u)
		}
		if _, err := f.ask(ask.Question{Kind: ask.KindHosts, Host: "http://nobody.example"}, answered); err == nil || errors.Is(err, ask.ErrNoAnswer) {
			t.Errorf("a host that is not there: %v", err)
		}
		if _, err := f.ask(ask.Question{Kind: ask.KindStopDiscovery, Job: id}, answered); err == nil || !strings.Contains(err.Error(), "drain") {
			t.Errorf("an order that a fleet does not know: %v", err)
		}

		slots := 0
		for _, w := range f.must(ask.Question{Kind: ask.KindWorkers}, answered).Workers {
			slots += w.Slots
			if len(w.Jobs) != 1 || w.Jobs[0] != id || w.Draining || w.Renewed.Duration() > fleetTerms.Start {
				t.Errorf("%+v", w)
			}
		}
		if slots != store.SlotCount {
			t.Errorf("%d slots owned", slots)
		}
		f.drain(workers)
	})
}

// TestFleetOrder slows down a host of a fleet. The order survives the worker that carried
// it out, and the next owner follows it from the first request on.
func TestFleetOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const slow = 10 * time.Second
		f := &fleet{simulated: newSimulated(t, 4, small(100))}
		f.submit(0)
		workers := f.startAll(2)
		pass(10 * time.Second)
		owner := f.ownerOf(host(3), workers)
		a := f.must(ask.Question{Kind: ask.KindSlow, Host: host(3), Delay: ask.Seconds(slow), By: "test"}, obeyed)
		if c := a.Change; c == nil || c.By != "test" || !strings.Contains(c.Before, "operator minimum 0s") || !strings.Contains(c.After, "operator minimum 10s") {
			t.Fatalf("%+v", a)
		}
		owner.crash() // the moment it has answered
		crashed := time.Now()
		if s := f.state(host(3)); s.Asked() != slow {
			t.Errorf("stored: %v", s.Asked())
		}
		pass(2 * time.Minute)
		if n := f.requests(host(3), crashed, time.Now()); n < 8 || n > 12 {
			t.Errorf("%d requests in two minutes at an interval of %v", n, slow)
		}
		for i, w := range workers {
			if w == owner {
				workers = append(workers[:i], workers[i+1:]...)
				break
			}
		}
		if h := f.must(ask.Question{Kind: ask.KindHosts, Host: host(3)}, answered).Hosts; len(h) != 1 || h[0].Asked.Duration() != slow || h[0].Source != "operator" {
			t.Errorf("its next owner says %+v", h)
		}
		f.drain(workers)
		f.polite(time.Second)
	})
}

// TestFleetOrderAtRest sends orders for hosts that no worker has in memory: they are stored
// with the host.
func TestFleetOrderAtRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fleet{simulated: newSimulated(t, 4, small(3))}
		workers := f.startAll(2)
		pass(5 * time.Second)
		for _, q := range []ask.Question{
			{Kind: ask.KindSlow, Host: host(1), Delay: ask.Seconds(20 * time.Second)},
			{Kind: ask.KindPause, Host: host(1)},
			{Kind: ask.KindPause, Host: host(2)},
		} {
			if c := f.must(q, obeyed).Change; c == nil || c.Before == c.After {
				t.Errorf("%s %s: %+v", q.Kind, q.Host, c)
			}
		}
		if s := f.state(host(1)); s.Asked() != 20*time.Second || !s.Paused() {
			t.Errorf("stored: interval %v, paused %v", s.Asked(), s.Paused())
		}
		id := f.submit(0)
		pass(time.Minute)
		if n := f.requests(host(1), time.Time{}, time.Now()) + f.requests(host(2), time.Time{}, time.Now()); n > 0 {
			t.Errorf("%d requests to hosts that are paused", n)
		}
		for _, i := range []int{1, 2} {
			f.must(ask.Question{Kind: ask.KindResume, Host: host(i)}, obeyed)
		}
		if j, _ := f.await(id, 5*time.Minute); j.State != job.Complete {
			t.Errorf("%s (%s)", j.State, j.Reason)
		}
		f.drain(workers)
	})
}

// TestFleetOwnerGone asks about a host whose owner has just died: the question times out,
// and the next owner answers.
func TestFleetOwnerGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fleet{simulated: newSimulated(t, 4, small(100))}
		f.submit(0)
		workers := f.startAll(2)
		pass(10 * time.Second)
		owner := f.ownerOf(host(2), workers)
		owner.crash()
		if _, err := f.ask(ask.Question{Kind: ask.KindHosts, Host: host(2)}, answered); !errors.Is(err, ask.ErrNoAnswer) {
			t.Errorf("question to a dead worker: %v", err)
		}
		part := f.must(ask.Question{Kind: ask.KindWorkers}, answered)
		if part.Asked > 2 || part.Answered != 1 || len(part.Workers) != 1 {
			t.Errorf("%d of %d answered: %+v", part.Answered, part.Asked, part.Workers)
		}
		began := time.Now()
		f.must(ask.Question{Kind: ask.KindPause, Host: host(2)}, store.MessageTTL)
		if took := time.Since(began); took > store.DefaultTerms.TakeOver+5*time.Second { // those of the store count
			t.Errorf("answered by the next owner after %v", took)
		}
		for _, w := range workers {
			if w != owner {
				f.drain([]*worker{w})
			}
		}
	})
}

// TestFleetDrain drains a worker by order.
func TestFleetDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const hosts, pages = 8, 20
		f := &fleet{simulated: newSimulated(t, hosts, small(pages))}
		id := f.submit(0)
		workers := f.startAll(2)
		pass(10 * time.Second)
		list, err := f.st.Workers(t.Context())
		if err != nil || len(list) != 2 {
			t.Fatalf("%v, %v", list, err)
		}
		if _, err := f.ask(ask.Question{Kind: ask.KindDrain, Worker: 99}, answered); err == nil || !strings.Contains(err.Error(), "worker not found: 99") {
			t.Errorf("a worker that is not there: %v", err)
		}
		a := f.must(ask.Question{Kind: ask.KindDrain, Worker: list[0].ID, By: "test"}, answered)
		if c := a.Change; c == nil || c.Worker != list[0].ID || c.Before == c.After || len(a.Workers) != 1 || !a.Workers[0].Draining {
			t.Errorf("%+v", a)
		}
		began := time.Now()
		if err := <-workers[0].done; err != nil || time.Since(began) > 20*time.Second {
			t.Errorf("left after %v: %v", time.Since(began), err)
		}
		if _, counts := f.await(id, 10*time.Minute); counts.Pages() != hosts*pages {
			t.Errorf("%d pages, want %d", counts.Pages(), hosts*pages)
		}
		f.drain(workers[1:])
		f.polite(time.Second)
	})
}
