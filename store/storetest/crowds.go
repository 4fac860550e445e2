package storetest

import (
	"errors"
	"net/netip"
	"slices"
	"testing"

	"headway/store"
)

// crowdsOf is crowds by address, as "10.0.0.1", 3.
func crowdsOf(pairs ...any) []store.Crowd {
	var list []store.Crowd
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, store.Crowd{Address: netip.MustParseAddr(pairs[i].(string)), Hosts: pairs[i+1].(int)})
	}
	return list
}

func testCrowds(t *testing.T, open Open) {
	w := newQueueWorld(t, open, t.TempDir(), nil)
	crowds := w.store.(store.Crowds)
	join := func() store.WorkerID {
		id, err := w.store.Join(w.ctx, w.now, "worker")
		w.check(err)
		return id
	}
	say := func(id store.WorkerID, mine, want []store.Crowd) {
		t.Helper()
		got, err := crowds.Crowds(w.ctx, id, mine)
		w.check(err)
		slices.SortFunc(got, func(a, b store.Crowd) int { return a.Address.Compare(b.Address) })
		if !slices.Equal(got, want) {
			t.Errorf("worker %d hears %v, want %v", id, got, want)
		}
	}
	a, b, c := join(), join(), join()
	say(a, crowdsOf("192.0.2.1", 3, "2001:db8::1", 2), nil)
	say(b, crowdsOf("192.0.2.1", 4), crowdsOf("192.0.2.1", 3))
	say(c, crowdsOf("192.0.2.1", 1, "2001:db8::1", 7, "192.0.2.9", 5), crowdsOf("192.0.2.1", 7, "2001:db8::1", 2))
	// What was said before is replaced.
	say(a, crowdsOf("192.0.2.1", 9), crowdsOf("192.0.2.1", 5))
	say(c, crowdsOf("2001:db8::1", 7, "192.0.2.1", 1), crowdsOf("192.0.2.1", 13))
	say(b, nil, nil)
	say(a, crowdsOf("192.0.2.1", 9), crowdsOf("192.0.2.1", 1))
	// What a worker said goes with it, and it says nothing more.
	w.check(w.store.Leave(w.ctx, c))
	say(a, crowdsOf("192.0.2.1", 9), nil)
	if _, err := crowds.Crowds(w.ctx, c, crowdsOf("192.0.2.1", 1)); !errors.Is(err, store.ErrFenced) {
		t.Errorf("a worker that has left: %v", err)
	}
	for name, list := range map[string][]store.Crowd{
		"no address": {{Hosts: 1}}, "no hosts": crowdsOf("192.0.2.1", 0), "twice": crowdsOf("192.0.2.1", 1, "192.0.2.1", 2), "too many": make([]store.Crowd, store.MaxCrowds+1),
	} {
		if _, err := crowds.Crowds(w.ctx, a, list); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}
