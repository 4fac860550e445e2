package engine

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"headway/frontier"
	"headway/internal/fetchpool"
	"headway/job"
	"headway/politeness"
	"headway/store"
	"headway/store/memory"
	"headway/visit"
	"headway/weburl"
)

// watchStore records the calls of Watch and answers them with an error.
type watchStore struct {
	*memory.Store
	err   error
	begun [][]store.Suspect
	done  [][]store.Suspect
}

func (s *watchStore) Watch(_ context.Context, _ store.WorkerID, begun, done []store.Suspect) error {
	s.begun, s.done = append(s.begun, begun), append(s.done, done)
	return s.err
}

// newSuspectCrawler returns a worker of a fleet whose host was owned by one that died, and
// the first request to it.
func newSuspectCrawler(t *testing.T, st *watchStore, u weburl.URL) (*crawler, frontier.Request) {
	t.Helper()
	c, _ := newMember(newWorker(st), Fleet{})
	c.loop.Begin()
	c.loop.During(c.shutdown.begin(t.Context()))
	now := c.loop.Now()
	c.f = frontier.New(frontier.Config{}, now)
	policy, _ := politeness.Preset(politeness.DefaultPreset)
	c.f.AddJob(frontier.Job{ID: 1, Patience: time.Hour, Policy: func(string) *politeness.Policy { return &policy }})
	slot := store.SlotOf(c.key, u.Domain())
	c.suspects.addSlots([]store.Slot{slot}, store.Suspicions{Died: map[store.Slot]time.Time{slot: now}})
	c.f.Added(now, []visit.Item{{Job: 1, URL: u, Found: visit.FoundSeed}})
	for range 5 {
		b := c.f.Next(now, 1, visit.WaitWorkers)
		for _, h := range b.Load {
			c.f.Loaded(now, frontier.HostState{Host: h, Died: c.suspects.died[slot], Robots: frontier.RobotsState{Known: true, Ever: true}})
		}
		if len(b.Requests) == 1 {
			return c, b.Requests[0]
		}
		now = now.Add(10 * time.Second) // longer than any pace
	}
	t.Fatal("no request")
	return nil, frontier.Request{}
}

// take runs what was posted to the loop.
func (c *crawler) take() {
	synctest.Wait()
	for len(c.loop.Answers()) > 0 {
		c.loop.Take(<-c.loop.Answers())
		synctest.Wait()
	}
}

func mustURL(t *testing.T, raw string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// TestWatchFails sends no request that could not be recorded, and ends the worker, which
// rejoins.
func TestWatchFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := mustURL(t, "http://a.example/")
		st := &watchStore{Store: memory.Open(memory.Config{}), err: store.ErrFenced}
		c, r := newSuspectCrawler(t, st, u)
		if !r.Watched() {
			t.Fatal("it is not watched")
		}
		c.suspects.start(t.Context(), fetchpool.Task{Request: r})
		if c.suspects.waiting != 1 {
			t.Errorf("%d wait", c.suspects.waiting)
		}
		c.take()
		if want := []store.Suspect{{Job: 1, URL: u}}; len(st.begun) != 1 || !slices.Equal(st.begun[0], want) {
			t.Errorf("recorded %v", st.begun)
		}
		if !errors.Is(c.loop.Err(), store.ErrFenced) || c.suspects.waiting != 0 {
			t.Errorf("%v; %d wait", c.loop.Err(), c.suspects.waiting)
		}
	})
}

// TestFinishRecords records the end of watched pages, those that ended during a call in one
// further call.
func TestFinishRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := mustURL(t, "http://a.example/")
		st := &watchStore{Store: memory.Open(memory.Config{})}
		c, _ := newSuspectCrawler(t, st, u)
		for range 3 {
			c.suspects.finish(&visit.Item{Job: 1, URL: u})
		}
		c.take()
		if len(st.done) != 2 || len(st.done[0]) != 1 || len(st.done[1]) != 2 {
			t.Errorf("recorded %v", st.done)
		}
	})
}

// TestQuarantine ends a URL of one job without a request until that is stored.
func TestQuarantine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := mustURL(t, "http://a.example/")
		c, _ := newSuspectCrawler(t, &watchStore{Store: memory.Open(memory.Config{})}, u)
		c.suspects.addSlots(nil, store.Suspicions{URLs: []store.Suspect{{Job: 1, URL: u, Deaths: store.MaxDeaths}, {Job: 2, URL: u, Deaths: store.MaxDeaths - 1}}})
		item := func(id job.ID) visit.Item { return visit.Item{Job: id, URL: u} }
		if v := c.suspects.quarantine(item(1)); v == nil || v.Outcome != visit.Failed || v.Reason != visit.Quarantined || v.Item.URL != u {
			t.Errorf("job 1: %+v", v)
		}
		if v := c.suspects.quarantine(item(2)); v != nil {
			t.Errorf("job 2: %+v", v)
		}
		one := item(1)
		c.suspects.finish(&one)
		if v := c.suspects.quarantine(item(1)); v != nil {
			t.Errorf("after its end: %+v", v)
		}
		c.take()
	})
}
