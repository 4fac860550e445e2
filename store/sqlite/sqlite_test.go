package sqlite

import (
	"path/filepath"
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

func TestKill(t *testing.T) {
	storetest.Kill(t, func(t testing.TB, dir string, fault store.Fault) store.Store {
		s, err := Open(t.Context(), Config{Dir: dir, Hosts: filepath.Join(dir, "hosts.db"), Fault: fault})
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}
