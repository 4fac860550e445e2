package ask_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"headway/ask"
	"headway/store"
	"headway/store/memory"
)

// scriptedFleet is a fleet whose workers give scripted answers.
type scriptedFleet struct {
	*testing.T
	*memory.Store
	workers []store.WorkerID
}

// newScriptedFleet creates a fleet of n workers with equal numbers of slots.
func newScriptedFleet(t *testing.T, n int) *scriptedFleet {
	t.Helper()
	o := &scriptedFleet{T: t, Store: memory.Open(memory.Config{})}
	for range n {
		w, err := o.Join(t.Context(), time.Now(), "w")
		if err == nil {
			_, err = o.Acquire(t.Context(), time.Now(), w, (store.SlotCount+n-1)/n)
		}
		if err != nil {
			t.Fatal(err)
		}
		o.workers = append(o.workers, w)
	}
	return o
}

// say answers all messages to a worker.
func (o *scriptedFleet) say(w store.WorkerID, a ask.Answer) (n int) {
	o.Helper()
	list, err := o.Messages(o.Context(), time.Now(), w)
	if err != nil {
		o.Fatal(err)
	}
	body, err := json.Marshal(a)
	if err != nil {
		o.Fatal(err)
	}
	for _, l := range list {
		if err := o.Reply(o.Context(), time.Now(), w, l.ID, body); err != nil {
			o.Error(err)
		}
	}
	return len(list)
}

// ask sends a question with a timeout of two seconds; workers answer after one.
func (o *scriptedFleet) ask(q ask.Question, answers map[store.WorkerID]ask.Answer) (a ask.Answer, took time.Duration, err error) {
	o.Helper()
	began := time.Now()
	done := make(chan struct{})
	go func() {
		defer close(done)
		ctx, cancel := context.WithTimeout(o.Context(), 2*time.Second)
		defer cancel()
		a, err = ask.NewFleet(o).Ask(ctx, q)
		took = time.Since(began)
	}()
	time.Sleep(time.Second)
	for w, x := range answers {
		o.say(w, x)
	}
	<-done
	for _, w := range o.workers {
		if n := o.say(w, ask.Answer{}); n > 0 {
			o.Errorf("%d letters are left for worker %d", n, w)
		}
	}
	return a, took, err
}

// TestFleetAll merges the answers of all workers, or of those that answered in time.
func TestFleetAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newScriptedFleet(t, 2)
		status := func(fetching, pace time.Duration, slow string) ask.Answer {
			return ask.Answer{Status: &ask.Status{
				Hosts: 2, InFlight: 1, Workers: 10,
				Shares:  []ask.Share{{State: "fetching", Hosts: 1, Spent: ask.Seconds(fetching), Part: 1}, {State: "pace", Hosts: 1, Spent: ask.Seconds(pace)}},
				Layers:  []ask.Layer{{Name: "workers", Limit: 10, Use: 1, Waited: ask.Seconds(time.Second)}},
				Slowest: []ask.Host{{Host: slow, Pace: ask.Seconds(pace)}},
			}}
		}
		one, two := status(time.Second, 2*time.Second, "a"), status(4*time.Second, 3*time.Second, "b")
		a, took, err := o.ask(ask.Question{Kind: ask.KindStatus}, map[store.WorkerID]ask.Answer{o.workers[0]: one, o.workers[1]: two})
		if err != nil {
			t.Fatal(err)
		}
		s := a.Status
		if a.Asked != 2 || a.Answered != 2 || took >= 1500*time.Millisecond || s.Hosts != 4 || s.InFlight != 2 || s.Workers != 20 || s.Layers[0].Limit != 20 || s.Layers[0].Waited.Duration() != 2*time.Second {
			t.Errorf("%d of %d after %v: %+v", a.Answered, a.Asked, took, s)
		}
		if len(s.Shares) != 2 || s.Shares[0].Part != 0.5 || s.Shares[1].Part != 0.5 || s.Shares[0].Hosts != 2 || s.Slowest[0].Host != "b" {
			t.Errorf("shares %+v, slowest %+v", s.Shares, s.Slowest)
		}

		a, took, err = o.ask(ask.Question{Kind: ask.KindStatus}, map[store.WorkerID]ask.Answer{o.workers[1]: two})
		if err != nil || a.Asked != 2 || a.Answered != 1 || took != 2*time.Second || a.Status.Hosts != 2 {
			t.Errorf("%d of %d after %v: %v", a.Answered, a.Asked, took, err)
		}
		a, _, err = o.ask(ask.Question{Kind: ask.KindStatus}, map[store.WorkerID]ask.Answer{o.workers[0]: {Error: "no"}, o.workers[1]: two})
		if err != nil || a.Answered != 1 {
			t.Errorf("one that refuses: %+v, %v", a, err)
		}
		_, _, err = o.ask(ask.Question{Kind: ask.KindStatus}, map[store.WorkerID]ask.Answer{o.workers[0]: {Error: "no"}, o.workers[1]: {Error: "no"}})
		if err == nil || err.Error() != "no" {
			t.Errorf("all refuse: %v", err)
		}
		// Only the worker in question is waited for.
		a, took, err = o.ask(ask.Question{Kind: ask.KindDrain, Worker: o.workers[1]}, map[store.WorkerID]ask.Answer{o.workers[1]: {Change: &ask.Change{Order: ask.KindDrain}}})
		if err != nil || a.Change == nil || a.Asked != 1 || took >= 1500*time.Millisecond {
			t.Errorf("%+v after %v, %v", a, took, err)
		}
	})
}

// TestFleetOwner asks the owner of a host, and withdraws unanswered questions.
func TestFleetOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newScriptedFleet(t, 2)
		said := map[store.WorkerID]ask.Answer{}
		for _, w := range o.workers {
			said[w] = ask.Answer{Change: &ask.Change{Worker: w}}
		}
		a, _, err := o.ask(ask.Question{Kind: ask.KindPause, Host: "http://a.example"}, said)
		if err != nil || a.Change == nil || a.Asked != 0 {
			t.Fatalf("%+v, %v", a, err)
		}
		delete(said, a.Change.Worker)
		if _, took, err := o.ask(ask.Question{Kind: ask.KindPause, Host: "http://a.example"}, said); !errors.Is(err, ask.ErrNoAnswer) || took != 2*time.Second {
			t.Errorf("answered by another after %v: %v", took, err)
		}
		for _, q := range []ask.Question{{Kind: ask.KindURL, URL: "no url"}, {Kind: ask.KindPause, Host: "a.example"}, {Kind: ask.KindDrain, Worker: 99}} {
			if _, _, err := o.ask(q, nil); err == nil || errors.Is(err, ask.ErrNoAnswer) {
				t.Errorf("%+v: %v", q, err)
			}
		}
		if _, took, err := newScriptedFleet(t, 0).ask(ask.Question{Kind: ask.KindWorkers}, nil); !errors.Is(err, ask.ErrNoAnswer) || took > 0 {
			t.Errorf("without workers, after %v: %v", took, err)
		}
	})
}
