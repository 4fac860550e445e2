package ask

import (
	"time"

	"headway/job"
	"headway/store"
)

// Worker is how a worker of a fleet stands, by its own word.
type Worker struct {
	Worker   store.WorkerID `json:"worker"`
	Since    time.Time      `json:"since"`
	Renewed  Millis         `json:"renewed_ms"`        // ago its lease was last renewed
	Slots    int            `json:"slots"`             // it owns
	Leaving  int            `json:"leaving,omitempty"` // of them, those it is giving up
	Hosts    int            `json:"hosts"`             // with work
	InFlight int            `json:"in_flight"`         // requests under way
	Most     int            `json:"most"`              // as many may be
	Jobs     []job.ID       `json:"jobs"`              // that it has open
	Draining bool           `json:"draining,omitempty"`
}
