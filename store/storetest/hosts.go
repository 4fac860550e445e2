package storetest

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"headway/store"
	"headway/visit"
)

func allSlots() []store.Slot {
	slots := make([]store.Slot, store.SlotCount)
	for i := range slots {
		slots[i] = store.Slot(i)
	}
	return slots
}

func testHosts(t *testing.T, open Open) {
	t.Run("a host is read as it was stored", func(t *testing.T) {
		w := newWorld(t, open, 0)
		h := store.Host{
			Host: "https://a.example:8443", Politeness: []byte{1, 2, 0}, Robots: []byte{9}, Pace: 1500 * time.Millisecond, Floor: time.Second,
			HoldUntil: start.Add(time.Hour), LastSent: start.Add(time.Microsecond), Change: store.Slower, Rest: start.Add(time.Minute),
		}
		w.w.must(store.Commit{Hosts: []store.Host{h}})
		want := h
		want.LastSent, want.Change = start.Add(time.Millisecond), store.Same
		got, err := w.store.Host(w.ctx, h.Host)
		w.check(err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		// A later state replaces it; its Rest stays.
		h = store.Host{Host: h.Host, Politeness: []byte{7}, Change: store.Faster}
		w.w.must(store.Commit{Hosts: []store.Host{h}})
		h.Rest, h.Change = want.Rest, store.Same
		got, err = w.store.Host(w.ctx, h.Host)
		w.check(err)
		if diff := cmp.Diff(h, got); diff != "" {
			t.Error(diff)
		}
		if _, err := w.store.Host(w.ctx, "https://b.example"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("unknown host: %v", err)
		}
		for name, h := range map[string]store.Host{
			"not a host":   {Host: "a.example"},
			"a page":       {Host: "http://a.example/x"},
			"default port": {Host: "http://a.example:80"},
			"long state":   {Host: "http://a.example", Politeness: make([]byte, store.MaxState+1)},
			"negative":     {Host: "http://a.example", Pace: -1},
		} {
			if _, err := w.w.commit(store.Commit{Hosts: []store.Host{h}}); err == nil {
				t.Errorf("%s: accepted", name)
			}
		}
	})
	t.Run("hosts with work come earliest ready first, in pages", func(t *testing.T) {
		w := newWorld(t, open, 0)
		var hosts []store.Host
		for i := range 20 {
			host := fmt.Sprintf("http://h%02d.example", i)
			w.add(host+"/1", host+"/2")
			if i >= 5 { // the first five are new: nothing is known about them
				hosts = append(hosts, store.Host{Host: host, Rest: start.Add(time.Duration(100-i) * time.Second), Pace: time.Duration(i) * time.Second})
			}
		}
		idle := store.Host{Host: "http://idle.example", Rest: start}
		w.w.must(store.Commit{Hosts: append(hosts, idle)})
		w.add("http://idle.example/1")
		w.w.must(store.Commit{Visits: visits(w.visited("http://idle.example/1"))})
		other := w.newJob(0)
		_, err := w.store.Add(w.ctx, w.now, []store.Found{{Item: visit.Item{Job: other, URL: mustURL(t, "http://h07.example/1"), Found: visit.FoundSeed}}})
		w.check(err)

		read := func(q store.HostQuery) (all []store.HostWork) {
			t.Helper()
			q.Max = 3
			for {
				p, err := w.store.Hosts(w.ctx, q)
				w.check(err)
				all = append(all, p.Hosts...)
				if q.After = p.Next; q.After == "" {
					return all
				}
				if len(p.Hosts) == 0 {
					t.Fatal("an empty page is not the last")
				}
			}
		}
		all := read(store.HostQuery{Slots: allSlots()})
		if len(all) != 20 {
			t.Fatalf("%d hosts", len(all))
		}
		if !slices.IsSortedFunc(all, func(a, b store.HostWork) int { return a.Host.Rest.Compare(b.Host.Rest) }) {
			t.Error("not earliest ready first")
		}
		names := map[string]bool{}
		for _, h := range all {
			names[h.Host.Host] = true
			if h.Host.Host == "http://h07.example" {
				want := []store.JobHost{{Job: w.job, Host: h.Host.Host}, {Job: other, Host: h.Host.Host}}
				if diff := cmp.Diff(want, h.Jobs); diff != "" {
					t.Error(diff)
				}
				if h.Host.Pace != 7*time.Second {
					t.Errorf("pace %s", h.Host.Pace)
				}
			} else if len(h.Jobs) != 1 || h.Jobs[0].Job != w.job {
				t.Errorf("%s: jobs %+v", h.Host.Host, h.Jobs)
			}
		}
		if len(names) != 20 {
			t.Errorf("%d different hosts", len(names))
		}
		if one := read(store.HostQuery{Slots: allSlots(), Job: other}); len(one) != 1 || one[0].Host.Host != "http://h07.example" || len(one[0].Jobs) != 1 {
			t.Errorf("of the other job: %+v", one)
		}
		slot := store.SlotOf(w.store.Key(), "h07.example")
		for _, h := range read(store.HostQuery{Slots: []store.Slot{slot}}) {
			if u, err := store.ParseHost(h.Host.Host); err != nil || store.SlotOf(w.store.Key(), u.Domain()) != slot {
				t.Errorf("%s is not of slot %d", h.Host.Host, slot)
			}
		}
		if none := read(store.HostQuery{}); len(none) != 0 {
			t.Errorf("%d hosts of no slot", len(none))
		}
	})
	t.Run("the latest pace changes are kept with their cause", func(t *testing.T) {
		w := newWorld(t, open, 0)
		change := func(i int) store.PaceChange {
			return store.PaceChange{Host: "http://a.example", At: start.Add(time.Duration(i) * time.Second), From: time.Duration(i) * time.Millisecond, To: time.Duration(i+1) * time.Millisecond, Cause: "incident"}
		}
		for from := 0; from < store.MaxPaceChanges+10; from += 101 {
			var c store.Commit
			for i := from; i < min(from+101, store.MaxPaceChanges+10); i++ {
				c.Paces = append(c.Paces, change(i))
			}
			c.Paces = append(c.Paces, store.PaceChange{Host: "http://b.example", At: start, To: time.Second, Cause: "probe"})
			w.w.must(c)
		}
		got, err := w.store.PaceChanges(w.ctx, "http://a.example")
		w.check(err)
		if len(got) != store.MaxPaceChanges {
			t.Fatalf("%d changes", len(got))
		}
		if diff := cmp.Diff(change(10), got[0]); diff != "" {
			t.Error(diff)
		}
		if got, err := w.store.PaceChanges(w.ctx, "http://c.example"); err != nil || len(got) != 0 {
			t.Errorf("changes of an unknown host: %v, %v", got, err)
		}
	})
	t.Run("a robots.txt is stored once", func(t *testing.T) {
		w := newWorld(t, open, 0)
		body := []byte("User-agent: *\nDisallow: /x\n")
		v := store.RobotsVersion{Sum: sha256.Sum256(body), Body: body, FetchedAt: start}
		again := v
		again.FetchedAt = start.Add(time.Hour)
		w.w.must(store.Commit{Robots: []store.RobotsVersion{v, again}})
		w.w.must(store.Commit{Robots: []store.RobotsVersion{again, {Sum: sha256.Sum256(nil), FetchedAt: start}}})
		got, err := w.store.Robots(w.ctx, v.Sum)
		w.check(err)
		if diff := cmp.Diff(v, got); diff != "" {
			t.Error(diff)
		}
		if got, err := w.store.Robots(w.ctx, sha256.Sum256(nil)); err != nil || len(got.Body) != 0 {
			t.Errorf("the empty file: %+v, %v", got, err)
		}
		if _, err := w.store.Robots(w.ctx, [32]byte{1}); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("unknown: %v", err)
		}
		v.Body = []byte("other")
		if _, err := w.w.commit(store.Commit{Robots: []store.RobotsVersion{v}}); err == nil {
			t.Error("a text that does not match its sum was accepted")
		}
	})
}

func testSeries(t *testing.T, open Open) {
	t.Run("points are read, shares of workers added up", func(t *testing.T) {
		w := newWorld(t, open, 0)
		p := store.Point{
			Job: w.job, At: start, Span: store.MinSpan, Ended: map[visit.Outcome]int64{visit.Fetched: 3}, Waits: map[visit.Wait]time.Duration{visit.WaitPace: time.Second},
			Fetching: time.Second, Requests: 4, Bytes: 5, Waiting: 6, Hosts: 7, InFlight: 8, Memory: 9,
		}
		later := p
		later.At = start.Add(store.MinSpan)
		w.check(w.store.Record(w.ctx, []store.Point{p, later}))
		w.check(w.store.Record(w.ctx, []store.Point{p}))
		got, err := w.store.Points(w.ctx, w.job)
		w.check(err)
		if diff := cmp.Diff([]store.Point{p.Plus(p), later}, got); diff != "" {
			t.Error(diff)
		}
		odd := p
		odd.At = odd.At.Add(time.Second)
		if err := w.store.Record(w.ctx, []store.Point{p, odd}); err == nil {
			t.Error("a point off the marks was accepted")
		}
		odd = p
		odd.Job += 1000
		if err := w.store.Record(w.ctx, []store.Point{p, odd}); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("a point of no job: %v", err)
		}
		if again, err := w.store.Points(w.ctx, w.job); err != nil || !cmp.Equal(got, again) {
			t.Errorf("a refused record changed points: %v", err)
		}
	})
	t.Run("a long series is merged and loses nothing", func(t *testing.T) {
		w := newWorld(t, open, 0)
		const n = store.MaxPoints + 3000
		var points []store.Point
		for i := range n {
			points = append(points, store.Point{Job: w.job, At: start.Add(time.Duration(i) * store.MinSpan), Span: store.MinSpan, Ended: map[visit.Outcome]int64{visit.Fetched: 1}, Waiting: int64(i)})
		}
		for part := range slices.Chunk(points, 1000) {
			w.check(w.store.Record(w.ctx, part))
		}
		got, err := w.store.Points(w.ctx, w.job)
		w.check(err)
		if len(got) > store.MaxPoints || len(got) < store.MaxPoints/2 {
			t.Errorf("%d points", len(got))
		}
		sum := int64(0)
		for i, p := range got {
			sum += p.Ended[visit.Fetched]
			if i > 0 && p.At.Before(got[i-1].At.Add(got[i-1].Span)) {
				t.Fatalf("points %d and %d overlap", i-1, i)
			}
		}
		if last := got[len(got)-1]; sum != n || last.Waiting != n-1 || last.Span != store.MinSpan {
			t.Errorf("%d ended in all, the last point %+v", sum, last)
		}
	})
}
