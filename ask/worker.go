package ask

import (
	"time"

	"headway/job"
	"headway/store"
)

// Worker is the state of a fleet worker, reported by itself.
type Worker struct {
	ID        store.WorkerID `json:"id"`
	StartedAt time.Time      `json:"started_at"`
	Renewed   Seconds        `json:"renewed_seconds"`   // time since its lease was renewed
	Slots     int            `json:"slots"`             // slots it owns
	Leaving   int            `json:"leaving,omitempty"` // of these, slots it is releasing
	Hosts     int            `json:"hosts"`             // hosts with work
	InFlight  int            `json:"in_flight"`         // requests in flight
	Most      int            `json:"most"`              // maximum requests in flight
	Jobs      []job.ID       `json:"jobs"`              // jobs it has open
	Draining  bool           `json:"draining,omitempty"`
}
