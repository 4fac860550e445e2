// Package event is how events are shown: the same to readers of the API and to
// receivers of webhooks.
//
// A store keeps amounts of limits in its own units. Read converts them to those of the
// API: seconds, bytes, or counts.
package event

import (
	"encoding/json"
	"fmt"
	"time"

	"headway/job"
	"headway/limit"
	"headway/store"
)

// Event is a change of a job or a warning about it.
type Event struct {
	ID        store.EventNumber `json:"id" doc:"Sequence number of the event; always increasing."`
	CreatedAt time.Time         `json:"created_at"`
	Kind      store.EventKind   `json:"kind"`
	Job       job.ID            `json:"job,omitempty" doc:"The id of the job."`
	Data      Data              `json:"data"`
}

// Data is the content of an event; which fields are set depends on its kind.
type Data struct {
	Name     string    `json:"name,omitempty" doc:"Name of the job."`
	State    job.State `json:"state,omitempty" doc:"The new state of the job."`
	Was      job.State `json:"was,omitempty" doc:"The previous state of the job."`
	Reason   string    `json:"reason,omitempty" doc:"Why the state changed, in words for people."`
	MaxPages int64     `json:"max_pages,omitempty" doc:"The page limit of the job."`

	Limit    limit.Name  `json:"limit,omitempty" doc:"The limit that is close or was reached."`
	Layer    limit.Level `json:"layer,omitempty" doc:"The layer that set the limit."`
	Max      float64     `json:"max,omitempty" doc:"The value of the limit, in unit."`
	Observed float64     `json:"observed,omitempty" doc:"The amount used, in unit."`
	Unit     string      `json:"unit,omitempty" enum:"seconds,bytes" doc:"The unit of max and observed; absent for a count."`
	Error    string      `json:"error,omitempty" doc:"The limit that stopped the job, in words for people."`
	Percent  int         `json:"percent,omitempty" doc:"The warning threshold that was passed, in percent of the limit."`
}

// stored is the content of an event in the store: durations are in nanoseconds.
type stored struct {
	Data
	Max      int64 `json:"max"`
	Observed int64 `json:"observed"`
}

// Read reads a stored event.
func Read(e *store.Event) (Event, error) {
	var s stored
	if err := json.Unmarshal(e.Body, &s); err != nil {
		return Event{}, fmt.Errorf("event %d: %w", e.Number, err)
	}
	out := Event{ID: e.Number, CreatedAt: e.At, Kind: e.Kind, Job: e.Job, Data: s.Data}
	out.Data.Max, out.Data.Unit = s.Limit.InUnits(s.Max)
	out.Data.Observed, _ = s.Limit.InUnits(s.Observed)
	return out, nil
}
