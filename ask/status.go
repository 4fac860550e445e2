package ask

import (
	"time"

	"headway/visit"
)

// Status is the state of a running crawl.
type Status struct {
	At       time.Time `json:"at"`
	PID      int       `json:"pid,omitempty"`   // process id
	Elapsed  Seconds   `json:"elapsed_seconds"` // running time of this run
	Pages    int64     `json:"pages"`           // pages of all runs
	Requests int64     `json:"requests"`        // requests of all runs, including robots.txt and sitemaps
	Bytes    int64     `json:"bytes"`           // bytes of response bodies of all runs, as transferred
	Rate     float64   `json:"rate"`            // recent pages per second

	Seen     int64   `json:"seen"`     // URLs seen: the sum of all outcomes, including pending
	Waiting  int64   `json:"waiting"`  // pending URLs
	Outcomes []Count `json:"outcomes"` // URLs that have ended, by outcome

	Hosts    int `json:"hosts"`     // hosts with work
	Ready    int `json:"ready"`     // hosts that are ready for a request now
	InFlight int `json:"in_flight"` // requests in flight
	Workers  int `json:"workers"`   // maximum number of requests in flight

	Shares    []Share  `json:"shares"`  // how hosts spent their time: fetching, or waiting for a reason
	Slowest   []Host   `json:"slowest"` // the hosts with the longest pace
	Limits    []Limit  `json:"ceilings"`
	Layers    []Layer  `json:"layers"`
	Warnings  []string `json:"warnings,omitempty"`
	Stopping  string   `json:"stopping,omitempty"` // why no further requests are sent
	Discovery bool     `json:"discovery"`          // whether new links are followed
	Commit    Seconds  `json:"commit_seconds"`     // duration of the last commit
}

// Count is the number of URLs with one outcome.
type Count struct {
	Outcome visit.Outcome `json:"outcome"`
	Reason  visit.Reason  `json:"reason,omitempty"`
	N       int64         `json:"n"` // URLs
}

// Share is a share of all host time. The parts add up to 1 once time has passed.
type Share struct {
	State string  `json:"state"`         // fetching, or a wait reason
	Hosts int     `json:"hosts"`         // number of hosts in this state now
	Spent Seconds `json:"spent_seconds"` // host time in this state so far
	Part  float64 `json:"part"`          // share of all host time, from 0 to 1
}

// Limit is a limit of the crawl and how much of it is used.
type Limit struct {
	Name  string  `json:"limit"`          // its name
	Layer string  `json:"layer"`          // the layer that set it
	Max   float64 `json:"max"`            // the limit
	Used  float64 `json:"used"`           // how much is used
	Unit  string  `json:"unit,omitempty"` // seconds or bytes; empty for a count
}

// Layer is one of the layers of control.
type Layer struct {
	Name    string  `json:"name"`
	Setting string  `json:"setting"`
	Limit   int64   `json:"limit,omitempty"` // 0 means no limit
	Use     int64   `json:"use"`             // how much is used now
	Waiting int64   `json:"waiting"`         // hosts, requests or pages waiting for it now
	Waited  Seconds `json:"waited_seconds"`  // total time waited so far, summed over everything that waited
}

// URL is where a pending URL is.
type URL struct {
	URL      string     `json:"url"`
	Where    Place      `json:"where"`
	Wait     visit.Wait `json:"wait,omitempty"` // what it or its host waits for
	Until    time.Time  `json:"until,omitzero"` // when that ends, if a time ends it
	InFlight Seconds    `json:"in_flight_seconds,omitempty"`
	Host     *Host      `json:"host,omitempty"`
}

// Place is where a URL is.
type Place string

// The places.
const (
	PlaceInFlight Place = "in_flight" // requested, not completed or not stored yet
	PlaceQueued   Place = "queued"    // its host is scheduled
	PlaceStored   Place = "stored"    // its host is not in memory
)
