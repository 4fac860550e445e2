package answer

import (
	"context"
	"testing"

	"headway/job"
	"headway/store"
	"headway/store/memory"
)

// queue is a store whose only job has this turn.
type queue struct {
	*memory.Store
	turn store.Turn
}

// Turn implements [store.JobLists].
func (q queue) Turn(context.Context, job.ID) (store.Turn, bool, error) { return q.turn, true, nil }

// TestQueuePlace: a queued job says what keeps it from starting.
func TestQueuePlace(t *testing.T) {
	for _, tt := range []struct {
		turn   store.Turn
		reason store.QueueReason
		text   string
	}{
		{store.Turn{Place: 1}, store.QueuedNoWorker, "place 1: the fleet has no worker"},
		{store.Turn{Place: 1, Workers: 3, Older: 1}, store.QueuedOlderWorker, "place 1: 1 of 3 workers run an older version; no job starts until they have left"},
		{store.Turn{Place: 2, Workers: 3, Older: 3, Own: 1, OwnMax: 1, Running: 1}, store.QueuedOlderWorker, "place 2: 3 of 3 workers run an older version; no job starts until they have left"},
		{store.Turn{Place: 2, Workers: 3, Own: 1, OwnMax: 1, Running: 1}, store.QueuedPlan, "place 2: the tenant runs 1 of 1 crawls (plan)"},
		{store.Turn{Place: 2, Workers: 3, Running: 1}, store.QueuedFleet, "place 2: waiting for a free place in the fleet"},
		{store.Turn{Place: 1, Workers: 3}, store.QueuedStarting, "place 1: about to start"},
		{store.Turn{Workers: 3, Running: 1}, store.QueuedFleet, "waiting for a free place in the fleet"},
	} {
		got, err := ReadJob(t.Context(), queue{memory.Open(memory.Config{}), tt.turn}, &store.Job{ID: 1, State: job.Queued})
		if err != nil || got.Queue == nil || got.Queue.Reason != tt.reason || got.Queue.Text != tt.text {
			t.Errorf("%+v: %+v, %v", tt.turn, got.Queue, err)
		}
	}
}
