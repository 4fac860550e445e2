package postgres

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"headway/job"
	"headway/store"
)

// TestTakeHostsOfTwo lets two processes race for the hosts of a job, round after round, with
// room for one: one of them gets it, and both return the same.
func TestTakeHostsOfTwo(t *testing.T) {
	const most = 25
	place := t.TempDir()
	stores := []*Store{openTest(t, place, nil), openTest(t, place, nil)}
	for _, s := range stores {
		defer s.Close()
	}
	id, err := stores[0].CreateJob(t.Context(), store.Job{State: job.Running})
	fatal(t, err)
	got := make([]store.Taken, len(stores))
	errs := make([]error, len(stores))
	for round := range most {
		before := int64(round)
		var group sync.WaitGroup
		for i, s := range stores {
			group.Go(func() {
				// One more in each round, for the first caller.
				got[i], errs[i] = s.TakeHosts(t.Context(), id, before+1, []string{fmt.Sprintf("https://h%d.round%d.example", i, round)})
			})
		}
		group.Wait()
		for i := range stores {
			fatal(t, errs[i])
		}
		if got[0].N != before+1 || got[1].N != before+1 || int64(len(got[0].Hosts)) != before+1 || !slices.Equal(got[0].Hosts, got[1].Hosts) {
			t.Fatalf("round %d: %d and %d hosts, %v and %v", round, got[0].N, got[1].N, got[0].Hosts, got[1].Hosts)
		}
	}
}
