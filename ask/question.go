package ask

import (
	"encoding/json"
	"time"

	"headway/job"
	"headway/store"
)

// Kind is what is asked for.
type Kind string

// The questions, and the orders.
const (
	KindStatus Kind = "status" // how the crawl stands
	KindHosts  Kind = "hosts"  // how hosts stand: all with work, or the one named
	KindURL    Kind = "url"    // where a URL that has not ended is

	KindWorkers Kind = "workers" // how the workers of a fleet stand

	KindPause         Kind = "pause"          // send nothing more to a host
	KindResume        Kind = "resume"         // go on with it
	KindSlow          Kind = "slow"           // keep at least this interval; 0 lifts it
	KindForget        Kind = "forget"         // forget what was learned of a host
	KindStopDiscovery Kind = "stop_discovery" // follow no further links, finish what waits
	KindDrain         Kind = "drain"          // a worker of a fleet finishes what is in flight, hands over and ends
)

// Order tells whether the kind changes something.
func (k Kind) Order() bool {
	switch k {
	case KindPause, KindResume, KindSlow, KindForget, KindStopDiscovery, KindDrain:
		return true
	}
	return false
}

// MaxHosts bounds the hosts of one answer.
const MaxHosts = 10_000

// Question is asked of a running crawl, or an order to it.
type Question struct {
	Kind   Kind           `json:"kind"`
	Job    job.ID         `json:"job,omitempty"`  // of a fleet; 0 is the only one there is, or all
	Host   string         `json:"host,omitempty"` // scheme, name and port
	URL    string         `json:"url,omitempty"`
	Worker store.WorkerID `json:"worker,omitempty"` // of a fleet: the one that is meant
	Delay  Millis         `json:"delay_ms,omitempty"`
	Max    int            `json:"max,omitempty"` // hosts; 0 is MaxHosts
	By     string         `json:"by,omitempty"`  // who asks, for the log
	At     time.Time      `json:"at"`
}

// Answer is what the crawl says. Error is for people, and excludes the rest.
type Answer struct {
	Error   string   `json:"error,omitempty"`
	Status  *Status  `json:"status,omitempty"` // nil from a worker that does not work on the job
	Hosts   []Host   `json:"hosts,omitempty"`
	URL     *URL     `json:"url,omitempty"`
	Change  *Change  `json:"change,omitempty"` // of an order
	Workers []Worker `json:"workers,omitempty"`

	// Of a fleet: how many workers were asked, and how many of them answered.
	Asked    int `json:"asked,omitempty"`
	Answered int `json:"answered,omitempty"`
}

// Change is what an order did, for the log.
type Change struct {
	At     time.Time      `json:"at"`
	By     string         `json:"by,omitempty"`
	Order  Kind           `json:"order"`
	Host   string         `json:"host,omitempty"`
	Worker store.WorkerID `json:"worker,omitempty"` // that carried it out, in a fleet
	Before string         `json:"before"`
	After  string         `json:"after"`
}

// Millis is a duration that is written in whole milliseconds.
type Millis time.Duration

// Duration is the plain duration.
func (m Millis) Duration() time.Duration { return time.Duration(m) }

// MarshalJSON implements [json.Marshaler].
func (m Millis) MarshalJSON() ([]byte, error) {
	return json.Marshal(time.Duration(m).Milliseconds())
}

// UnmarshalJSON implements [json.Unmarshaler].
func (m *Millis) UnmarshalJSON(b []byte) error {
	var ms int64
	if err := json.Unmarshal(b, &ms); err != nil {
		return err
	}
	*m = Millis(time.Duration(ms) * time.Millisecond)
	return nil
}
