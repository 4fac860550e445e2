package storetest

import (
	"fmt"
	"slices"
	"testing"

	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// testAside stores out-of-scope URLs, and readmits them when the scope is wider.
func testAside(t *testing.T, open Open) {
	w := newWorld(t, open, 0)
	one, other := twoSlots(t, w.store.Key())
	out := func(raw, via string, depth int) store.Found {
		f := store.Found{Item: w.item(raw), Outcome: visit.Skipped, Reason: visit.OutOfScope}
		f.Item.Via, f.Item.Depth, f.Item.Found, f.Item.Hops, f.Item.Chain = mustURL(t, via), depth, visit.FoundRedirect, 1, []uint64{1 << 63}
		return f
	}
	_, err := w.store.Add(w.ctx, w.now, []store.Found{
		out("http://far.example/1", one, 1), out("http://far.example/1", other, 2), out("http://far.example/2", one, 3), out("http://near.example/", one, 1),
	})
	w.check(err)
	list := func(most int) (all []store.Aside) {
		for after := store.Cursor(""); ; {
			page, err := w.store.ListAside(w.ctx, w.job, after, most)
			w.check(err)
			if all = append(all, page.URLs...); page.Next == "" {
				return all
			}
			after = page.Next
		}
	}
	_, fleet := w.store.(store.Fleet)
	want := []string{"http://far.example/1 " + one + " 1", "http://far.example/2 " + one + " 3", "http://near.example/ " + one + " 1"}
	if fleet {
		want = append(want, "http://far.example/1 "+other+" 2")
	}
	all := list(1)
	if len(all) != len(want) || len(list(100)) != len(want) {
		t.Fatalf("%d URLs one by one, %d at once", len(all), len(list(100)))
	}
	var got []string
	for i := range all {
		it := &all[i].Item
		if it.Job != w.job || it.Found != visit.FoundRedirect || it.Hops != 1 || !slices.Equal(it.Chain, []uint64{1 << 63}) || all[i].Mark != it.URL.Fingerprint128(w.store.Key()) ||
			fleet && all[i].Slot != store.SlotOf(w.store.Key(), it.Via.Domain()) {
			t.Errorf("read back as %+v", all[i])
		}
		got = append(got, fmt.Sprintf("%s %s %d", it.URL, it.Via, it.Depth))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}

	// A URL also seen in scope is removed from those out of scope; nothing else changes.
	w.add("http://near.example/")
	in := slices.DeleteFunc(slices.Clone(all), func(x store.Aside) bool { return x.Item.URL.String() == "http://far.example/2" })
	n, err := w.store.Readmit(w.ctx, w.now, w.job, in)
	w.check(err)
	if n != 1 {
		t.Errorf("%d URLs wait because of it, want 1", n)
	}
	w.expect("waiting 2, skipped:out_of_scope 1")
	n, err = w.store.Readmit(w.ctx, w.now, w.job, in)
	w.check(err)
	if left := list(100); n != 0 || len(left) != 1 || left[0].Item.URL.String() != "http://far.example/2" {
		t.Errorf("again: %d URLs, %+v are left", n, left)
	}
	e, err := w.store.Lookup(w.ctx, w.job, mustURL(t, "http://far.example/1"))
	w.check(err)
	if e.Item.Found != visit.FoundRedirect || e.Item.Hops != 1 || e.Outcome != visit.Pending {
		t.Errorf("waits as %+v", e)
	}
	w.expect("waiting 2, skipped:out_of_scope 1")
}

// twoSlots returns pages of two domains in different slots.
func twoSlots(t *testing.T, k weburl.Key) (one, other string) {
	one = "http://a0.example/"
	for i := 1; ; i++ {
		if i > 100 {
			t.Fatal("a hundred domains in one slot")
		}
		if store.SlotOf(k, fmt.Sprintf("a%d.example", i)) != store.SlotOf(k, "a0.example") {
			return one, fmt.Sprintf("http://a%d.example/", i)
		}
	}
}
