package sqlite

import (
	"testing"

	"headway/store"
	"headway/store/storetest"
)

func openTest(t testing.TB, dir string, fault store.Fault) *Store {
	t.Helper()
	s, err := Open(t.Context(), Config{Dir: dir, Fault: fault, unsynced: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t testing.TB, dir string, fault store.Fault) store.Store { return openTest(t, dir, fault) })
}
