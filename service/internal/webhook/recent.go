package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"headway/store"
)

// MaxRecent is how many deliveries are listed at most.
const MaxRecent = 100

// State is the state of a delivery.
type State string

// The states of a delivery.
const (
	Waiting   State = "waiting"   // for its first attempt, or for a retry
	Sending   State = "sending"   //
	Delivered State = "delivered" //
	Dropped   State = "dropped"   // its endpoint was disabled or deleted
	GivenUp   State = "given_up"  // after the last attempt
)

// Delivery is the delivery of an event to an endpoint and its status.
type Delivery struct {
	ID        string // webhook-id
	Kind      store.EventKind
	State     State
	Attempts  int       // that have begun
	Error     string    // of the last that failed
	CreatedAt time.Time // when the event became a delivery
	NextAt    time.Time // of the next attempt; zero if there is none
	EndedAt   time.Time // zero while it has not
}

// Recent returns the latest deliveries to an endpoint, newest first, at most
// MaxRecent. They are kept for a day after they end, a week if they were given up.
func (s *Sender) Recent(ctx context.Context, client *river.Client[pgx.Tx], endpoint string, most int) ([]Delivery, error) {
	rows, err := client.JobList(ctx, river.NewJobListParams().Kinds(delivery{}.Kind()).
		Where("args @> jsonb_build_object('endpoint', @endpoint::text)", river.NamedArgs{"endpoint": endpoint}).
		OrderBy(river.JobListOrderByID, river.SortOrderDesc).First(min(max(most, 1), MaxRecent)))
	if err != nil {
		return nil, fmt.Errorf("deliveries to endpoint %q: %w", endpoint, err)
	}
	list := make([]Delivery, len(rows.Jobs))
	for i, row := range rows.Jobs {
		if list[i], err = read(row); err != nil {
			return nil, fmt.Errorf("deliveries to endpoint %q: %w", endpoint, err)
		}
	}
	return list, nil
}

// states are those of River in our words.
var states = map[rivertype.JobState]State{
	rivertype.JobStateAvailable: Waiting, rivertype.JobStatePending: Waiting, rivertype.JobStateRetryable: Waiting, rivertype.JobStateScheduled: Waiting,
	rivertype.JobStateRunning: Sending, rivertype.JobStateCompleted: Delivered, rivertype.JobStateCancelled: Dropped, rivertype.JobStateDiscarded: GivenUp,
}

// read reads a delivery from its row.
func read(row *rivertype.JobRow) (Delivery, error) {
	var args delivery
	var body message
	if err := json.Unmarshal(row.EncodedArgs, &args); err != nil {
		return Delivery{}, err
	}
	if err := json.Unmarshal(args.Body, &body); err != nil {
		return Delivery{}, err
	}
	d := Delivery{ID: args.ID, Kind: body.Type, State: states[row.State], Attempts: row.Attempt, CreatedAt: row.CreatedAt}
	if n := len(row.Errors); n > 0 {
		d.Error = row.Errors[n-1].Error
	}
	switch {
	case row.FinalizedAt != nil:
		d.EndedAt = *row.FinalizedAt
	case d.State == Waiting:
		d.NextAt = row.ScheduledAt
	}
	return d, nil
}
