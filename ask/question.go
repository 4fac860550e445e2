package ask

import (
	"time"

	"headway/job"
	"headway/store"
)

// Kind is the kind of a question or order.
type Kind string

// The questions, and the orders.
const (
	KindStatus Kind = "status" // state of the crawl
	KindHosts  Kind = "hosts"  // state of hosts: all with work, or the one named
	KindURL    Kind = "url"    // where a pending URL is

	KindWorkers Kind = "workers" // state of the workers of a fleet

	KindPause         Kind = "pause"          // send no more requests to a host
	KindResume        Kind = "resume"         // resume requests to a host
	KindSlow          Kind = "slow"           // keep at least this interval; 0 removes it
	KindForget        Kind = "forget"         // forget what was learned about a host
	KindStopDiscovery Kind = "stop_discovery" // follow no further links, finish pending URLs
	KindDrain         Kind = "drain"          // a worker of a fleet finishes its requests, hands over and exits
)

// Order reports whether the kind is an order, which changes something.
func (k Kind) Order() bool {
	switch k {
	case KindPause, KindResume, KindSlow, KindForget, KindStopDiscovery, KindDrain:
		return true
	}
	return false
}

// MaxHosts limits the hosts of one answer.
const MaxHosts = 10_000

// Question is a question or order to a running crawl.
type Question struct {
	Kind   Kind           `json:"kind"`
	Job    job.ID         `json:"job,omitempty"`  // of a fleet; 0 means the only one, or all
	Host   string         `json:"host,omitempty"` // scheme, name and port
	URL    string         `json:"url,omitempty"`
	Worker store.WorkerID `json:"worker,omitempty"` // of a fleet: the addressed worker
	Delay  Seconds        `json:"delay_seconds,omitempty"`
	Max    int            `json:"max,omitempty"` // hosts; 0 is MaxHosts
	By     string         `json:"by,omitempty"`  // who asks, for the log
	At     time.Time      `json:"at"`
}

// Answer is the answer of the crawl. Error is for people, and excludes the rest.
type Answer struct {
	Error   string   `json:"error,omitempty"`
	Status  *Status  `json:"status,omitempty"` // nil from a worker that does not work on the job
	Hosts   []Host   `json:"hosts,omitempty"`
	URL     *URL     `json:"url,omitempty"`
	Change  *Change  `json:"change,omitempty"` // result of an order
	Workers []Worker `json:"workers,omitempty"`

	// Of a fleet: how many workers were asked, and how many answered.
	Asked    int `json:"asked,omitempty"`
	Answered int `json:"answered,omitempty"`
}

// Change is the effect of an order, for the log.
type Change struct {
	At     time.Time      `json:"at"`
	By     string         `json:"by,omitempty"`
	Order  Kind           `json:"order"`
	Host   string         `json:"host,omitempty"`
	Worker store.WorkerID `json:"worker,omitempty"` // of a fleet: the worker that carried it out
	Before string         `json:"before"`
	After  string         `json:"after"`
}
