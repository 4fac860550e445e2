package ask

import (
	"time"

	"headway/job"
	"headway/store"
)

// Worker is the state of a fleet worker, reported by itself.
type Worker struct {
	Worker   store.WorkerID `json:"worker"`
	Since    time.Time      `json:"since"`
	Renewed  Millis         `json:"renewed_ms"`        // time since its lease was renewed
	Slots    int            `json:"slots"`             // slots it owns
	Leaving  int            `json:"leaving,omitempty"` // of these, slots it is releasing
	Hosts    int            `json:"hosts"`             // hosts with work
	InFlight int            `json:"in_flight"`         // requests in flight
	Most     int            `json:"most"`              // maximum requests in flight
	Jobs     []job.ID       `json:"jobs"`              // jobs it has open
	Draining bool           `json:"draining,omitempty"`
}
