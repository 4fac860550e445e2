package storetest

import (
	"errors"
	"net/netip"
	"slices"
	"testing"

	"headway/store"
)

// loadsOf makes loads from pairs of address and hosts, such as "10.0.0.1", 3.
func loadsOf(pairs ...any) []store.AddressLoad {
	var list []store.AddressLoad
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, store.AddressLoad{Address: netip.MustParseAddr(pairs[i].(string)), Hosts: pairs[i+1].(int)})
	}
	return list
}

func testAddressLoads(t *testing.T, open Open) {
	w := newQueueWorld(t, open, t.TempDir(), nil)
	addressLoads := w.store.(store.AddressLoads)
	join := func() store.WorkerID {
		id, err := w.store.Join(w.ctx, w.now, "worker")
		w.check(err)
		return id
	}
	say := func(id store.WorkerID, mine, want []store.AddressLoad) {
		t.Helper()
		got, err := addressLoads.ShareAddressLoad(w.ctx, id, mine)
		w.check(err)
		slices.SortFunc(got, func(a, b store.AddressLoad) int { return a.Address.Compare(b.Address) })
		if !slices.Equal(got, want) {
			t.Errorf("worker %d hears %v, want %v", id, got, want)
		}
	}
	a, b, c := join(), join(), join()
	say(a, loadsOf("192.0.2.1", 3, "2001:db8::1", 2), nil)
	say(b, loadsOf("192.0.2.1", 4), loadsOf("192.0.2.1", 3))
	say(c, loadsOf("192.0.2.1", 1, "2001:db8::1", 7, "192.0.2.9", 5), loadsOf("192.0.2.1", 7, "2001:db8::1", 2))
	// A report replaces the one before.
	say(a, loadsOf("192.0.2.1", 9), loadsOf("192.0.2.1", 5))
	say(c, loadsOf("2001:db8::1", 7, "192.0.2.1", 1), loadsOf("192.0.2.1", 13))
	say(b, nil, nil)
	say(a, loadsOf("192.0.2.1", 9), loadsOf("192.0.2.1", 1))
	// The report of a worker is removed with it, and it can report no more.
	w.check(w.store.Leave(w.ctx, c))
	say(a, loadsOf("192.0.2.1", 9), nil)
	if _, err := addressLoads.ShareAddressLoad(w.ctx, c, loadsOf("192.0.2.1", 1)); !errors.Is(err, store.ErrFenced) {
		t.Errorf("a worker that has left: %v", err)
	}
	for name, list := range map[string][]store.AddressLoad{
		"no address": {{Hosts: 1}}, "no hosts": loadsOf("192.0.2.1", 0), "twice": loadsOf("192.0.2.1", 1, "192.0.2.1", 2), "too many": make([]store.AddressLoad, store.MaxAddressLoads+1),
	} {
		if _, err := addressLoads.ShareAddressLoad(w.ctx, a, list); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}
