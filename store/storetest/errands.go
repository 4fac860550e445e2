package storetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"headway/job"
	"headway/store"
	"headway/visit"
)

// errand returns an errand of the world's job.
func (w *world) errand(raw string) store.Errand {
	w.t.Helper()
	return store.Errand{Job: w.job, URL: mustURL(w.t, raw)}
}

func (w *world) errands(raw ...string) []store.Errand {
	w.t.Helper()
	var list []store.Errand
	for _, r := range raw {
		list = append(list, w.errand(r))
	}
	return list
}

// waitingErrands reads the errands that wait on a host.
func (w *world) waitingErrands(host string, most int) []string {
	w.t.Helper()
	list, err := w.store.Errands(w.ctx, []store.Want{{Host: host, Job: w.job, Max: most}})
	w.check(err)
	var urls []string
	for _, e := range list {
		urls = append(urls, e.URL.String())
	}
	return urls
}

func testErrands(t *testing.T, open Open) {
	t.Run("an errand waits until it was run, and never again", func(t *testing.T) {
		w := newWorld(t, open, 0)
		nested := w.errand("http://a.example/2.xml")
		nested.Nested = 2
		r := w.w.must(store.Commit{Errands: append(w.errands("http://a.example/1.xml", "http://b.example/1.xml?x=1", "http://a.example/1.xml"), nested)})
		if !slices.Equal(r.Errands, []int{0, 1, 3}) {
			t.Errorf("receipt %+v", r)
		}
		list, err := w.store.Errands(w.ctx, []store.Want{{Host: "http://b.example", Job: w.job, Max: 9}, {Host: "http://nowhere.example", Job: w.job, Max: 9}, {Host: "http://a.example", Job: w.job, Max: 9}, {Host: "http://a.example", Job: w.job + 9, Max: 9}})
		w.check(err)
		if want := append(w.errands("http://b.example/1.xml?x=1", "http://a.example/1.xml"), nested); !slices.Equal(list, want) {
			t.Errorf("waiting %v, want %v", list, want)
		}
		if got := w.waitingErrands("http://a.example", 1); !slices.Equal(got, []string{"http://a.example/1.xml"}) {
			t.Errorf("the first of them: %v", got)
		}
		if c := w.counts(); c.Errands != 3 || c.Waiting != 0 || c.Seen() != 0 || c.Admitted != 3 {
			t.Errorf("%+v", c)
		}
		for range 2 { // ending it twice has no further effect
			w.w.must(store.Commit{Ran: w.errands("http://a.example/1.xml", "http://a.example/never.xml")})
		}
		if r := w.w.must(store.Commit{Errands: w.errands("http://a.example/2.xml", "http://a.example/1.xml")}); len(r.Errands) != 0 {
			t.Errorf("added again: %+v", r)
		}
		if got := w.waitingErrands("http://a.example", 9); !slices.Equal(got, []string{"http://a.example/2.xml"}) {
			t.Errorf("in the end %v", got)
		}
		if c := w.counts(); c.Errands != 2 || c.Admitted != 3 {
			t.Errorf("%+v", c)
		}
	})
	t.Run("a job is not complete while an errand waits", func(t *testing.T) {
		w := newWorld(t, open, 0)
		complete := func(want bool) {
			t.Helper()
			if done, err := store.Complete(w.ctx, w.job, w.store); err != nil || done != want {
				t.Errorf("complete: %v, %v", done, err)
			}
		}
		w.add("http://a.example/")
		w.w.must(store.Commit{Visits: visits(w.visited("http://a.example/")), Errands: w.errands("http://a.example/s.xml")})
		complete(false)
		w.w.must(store.Commit{Ran: w.errands("http://a.example/s.xml"), Found: w.found("http://a.example/1")})
		complete(false)
		w.w.must(store.Commit{Visits: visits(w.visited("http://a.example/1"))})
		complete(true)
	})
	t.Run("a host with nothing but an errand has work", func(t *testing.T) {
		w := newWorld(t, open, 0)
		small := w.newJob(5) // small jobs may be stored in other tables
		w.add("http://both.example/")
		other := w.errand("http://both.example/s.xml")
		other.Job = small
		w.w.must(store.Commit{Errands: append(w.errands("http://a.example/s.xml", "http://both.example/s.xml"), other)})
		hosts := func(q store.HostQuery) (list []string) {
			t.Helper()
			q.Slots, q.Max = allSlots(), 10
			p, err := w.store.Hosts(w.ctx, q)
			w.check(err)
			for _, h := range p.Hosts {
				text := h.Host.Host
				for _, j := range h.Jobs {
					text += fmt.Sprint(" ", j.Job == w.job)
				}
				list = append(list, text)
			}
			slices.Sort(list)
			return list
		}
		if got := hosts(store.HostQuery{}); !slices.Equal(got, []string{"http://a.example true", "http://both.example true false"}) {
			t.Errorf("hosts %q", got)
		}
		if got := hosts(store.HostQuery{Job: small}); !slices.Equal(got, []string{"http://both.example false"}) {
			t.Errorf("hosts of the small job %q", got)
		}
		w.w.must(store.Commit{Ran: append(w.errands("http://a.example/s.xml"), other)})
		if got := hosts(store.HostQuery{}); !slices.Equal(got, []string{"http://both.example true"}) {
			t.Errorf("hosts after it %q", got)
		}
		// What an ended job left waiting is not work, unless that job is selected.
		w.check(w.store.SetState(w.ctx, w.now, w.job, job.Running, job.Partial, ""))
		if got := hosts(store.HostQuery{}); len(got) != 0 {
			t.Errorf("hosts of nobody %q", got)
		}
		if got := hosts(store.HostQuery{Job: w.job}); !slices.Equal(got, []string{"http://both.example true"}) {
			t.Errorf("hosts of the job that has ended %q", got)
		}
	})
	t.Run("the owner is notified of an errand, and only the owner ends it", func(t *testing.T) {
		w := newWorld(t, open, 0)
		slot := store.SlotOf(w.store.Key(), "a.example")
		w.check(w.store.Release(w.ctx, w.w.id, w.w.leases[slot]))
		next := w.newOwner(1)
		w.w.must(store.Commit{Errands: w.errands("http://a.example/s.xml", "http://b.example/s.xml")})
		if list, err := w.store.Arrivals(w.ctx, w.w.id, 10); err != nil || len(list) != 0 {
			t.Errorf("whoever added it hears of it: %v, %v", list, err)
		}
		if list, err := w.store.Arrivals(w.ctx, next.id, 10); err != nil || !slices.Equal(list, []store.Arrival{{Host: "http://a.example", Job: w.job}}) {
			t.Errorf("arrivals of the owner: %v, %v", list, err)
		}
		if _, err := w.w.commit(store.Commit{Ran: w.errands("http://a.example/s.xml")}); !errors.Is(err, store.ErrFenced) {
			t.Errorf("ended by another: %v", err)
		}
		next.must(store.Commit{Ran: w.errands("http://a.example/s.xml")})
		if c := w.counts(); c.Errands != 1 {
			t.Errorf("%+v", c)
		}
	})
	t.Run("parking a host ends its errands", func(t *testing.T) {
		w := newWorld(t, open, 0)
		w.w.must(store.Commit{Errands: w.errands("http://a.example/1.xml", "http://a.example/2.xml", "http://b.example/1.xml")})
		w.w.must(store.Commit{Parks: []store.Park{{Job: w.job, Host: "http://a.example", Outcome: visit.Failed, Reason: visit.HostParked}}, Errands: w.errands("http://a.example/3.xml")})
		if got := w.waitingErrands("http://a.example", 9); len(got) != 0 {
			t.Errorf("still waiting: %v", got)
		}
		if c := w.counts(); c.Errands != 1 || c.Admitted != 4 {
			t.Errorf("%+v", c)
		}
	})
	t.Run("a host has a bounded number of them", func(t *testing.T) {
		w := newWorld(t, open, 0)
		var c store.Commit
		for i := range store.MaxErrands + 10 {
			c.Errands = append(c.Errands, w.errand(fmt.Sprintf("http://a.example/%d.xml", i)))
		}
		if r := w.w.must(store.Commit{Errands: c.Errands[:20]}); len(r.Errands) != 20 {
			t.Fatalf("%d added", len(r.Errands))
		}
		if r := w.w.must(c); len(r.Errands) != store.MaxErrands-20 || r.Errands[0] != 20 {
			t.Fatalf("%d added", len(r.Errands))
		}
		w.w.must(store.Commit{Ran: c.Errands[:100]})
		if r := w.w.must(store.Commit{Errands: w.errands("http://a.example/more.xml", "https://a.example/1.xml")}); !slices.Equal(r.Errands, []int{1}) {
			t.Errorf("beyond the bound, and on another host: %+v", r)
		}
		if got := w.waitingErrands("http://a.example", 9999); len(got) != store.MaxErrands-100 || got[0] != "http://a.example/100.xml" {
			t.Errorf("%d wait, from %s on", len(got), got[0])
		}
	})
	t.Run("dropping a job deletes them", func(t *testing.T) {
		w := newWorld(t, open, 0)
		for _, limit := range []int64{0, 5} {
			w.job = w.newJob(limit)
			e := w.errands("http://a.example/s.xml")
			w.w.must(store.Commit{Errands: e})
			w.check(w.store.SetState(w.ctx, w.now, w.job, job.Running, job.Cancelled, ""))
			w.check(w.store.Drop(w.ctx, w.job))
			if got := w.waitingErrands("http://a.example", 9); len(got) != 0 {
				t.Errorf("left: %v", got)
			}
			if _, err := w.w.commit(store.Commit{Errands: e}); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("added to a job that is gone: %v", err)
			}
			w.w.must(store.Commit{Ran: e}) // it was in flight when the job was dropped
		}
	})
	t.Run("invalid errands are rejected", func(t *testing.T) {
		w := newWorld(t, open, 0)
		deep := w.errand("http://a.example/1.xml")
		deep.Nested = -1
		for name, c := range map[string]store.Commit{
			"no URL":   {Errands: []store.Errand{{Job: w.job}}},
			"no job":   {Errands: []store.Errand{{URL: deep.URL}}},
			"nested":   {Errands: []store.Errand{deep}},
			"ran none": {Ran: []store.Errand{{Job: w.job}}},
			"too many": {Errands: make([]store.Errand, store.MaxHosts+1)},
		} {
			if _, err := w.w.commit(c); err == nil {
				t.Errorf("%s: accepted", name)
			}
		}
		if _, err := w.store.Errands(w.ctx, make([]store.Want, store.MaxWants+1)); err == nil {
			t.Error("too many wants: accepted")
		}
	})
}
