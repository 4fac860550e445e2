package ask

import (
	"time"

	"headway/visit"
)

// Status is how a running crawl stands.
type Status struct {
	At       time.Time `json:"at"`
	PID      int       `json:"pid,omitempty"` // of the process
	Elapsed  Millis    `json:"elapsed_ms"`    // of this run
	Pages    int64     `json:"pages"`         // of all runs
	Requests int64     `json:"requests"`      // likewise, robots.txt and sitemaps included
	Bytes    int64     `json:"bytes"`         // likewise, of bodies as sent
	Rate     float64   `json:"rate"`          // pages a second, lately

	Seen     int64   `json:"seen"`     // the sum of all outcomes, those that wait included
	Waiting  int64   `json:"waiting"`  // URLs that have not ended
	Outcomes []Count `json:"outcomes"` // those that have ended

	Hosts    int `json:"hosts"`     // with work
	Ready    int `json:"ready"`     // of them, that could be asked now
	InFlight int `json:"in_flight"` // requests under way
	Workers  int `json:"workers"`   // at most as many are in flight

	Shares    []Share  `json:"shares"`  // where host-time went: fetching and what was waited for
	Slowest   []Host   `json:"slowest"` // the hosts with the longest pace
	Limits    []Limit  `json:"limits"`
	Layers    []Layer  `json:"layers"`
	Warnings  []string `json:"warnings,omitempty"`
	Stopping  string   `json:"stopping,omitempty"` // why nothing more is sent
	Discovery bool     `json:"discovery"`          // links are followed
	Commit    Millis   `json:"commit_ms"`          // how long the last one took
}

// Count is how many URLs ended in one way.
type Count struct {
	Outcome visit.Outcome `json:"outcome"`
	Reason  visit.Reason  `json:"reason,omitempty"`
	N       int64         `json:"n"` // URLs
}

// Share is a part of all host-seconds. The parts add up to 1 once time has passed.
type Share struct {
	State string  `json:"state"`    // fetching, or a wait reason
	Hosts int     `json:"hosts"`    // in it now
	Spent Millis  `json:"spent_ms"` // host-time in it so far
	Part  float64 `json:"part"`     // of all host-time, from 0 to 1
}

// Limit is a ceiling of the crawl and how much of it is used.
type Limit struct {
	Name  string `json:"name"`
	Layer string `json:"layer"`          // that set it
	Max   int64  `json:"max"`            // the ceiling
	Used  int64  `json:"used"`           // of it
	Unit  string `json:"unit,omitempty"` // ms or bytes; empty for a count
}

// Layer is one of the layers of control.
type Layer struct {
	Name    string `json:"name"`
	Setting string `json:"setting"`
	Limit   int64  `json:"limit,omitempty"` // 0 is none
	Use     int64  `json:"use"`             // of it now
	Waiting int64  `json:"waiting"`         // hosts, requests or pages that wait for it now
	Waited  Millis `json:"waited_ms"`       // by all of them together, so far
}

// URL is where a URL is that has not ended.
type URL struct {
	URL      string     `json:"url"`
	Where    Place      `json:"where"`
	Wait     visit.Wait `json:"wait,omitempty"` // what it, or the host before it, waits for
	Until    time.Time  `json:"until,omitzero"` // when that ends, where a clock ends it
	InFlight Millis     `json:"in_flight_ms,omitempty"`
	Host     *Host      `json:"host,omitempty"`
}

// Place is where a URL is.
type Place string

// The places.
const (
	PlaceInFlight Place = "in_flight" // asked for, not answered or not stored yet
	PlaceQueued   Place = "queued"    // its host is scheduled
	PlaceStored   Place = "stored"    // its host rests in the store
)
