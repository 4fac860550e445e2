package ask

import (
	"time"

	"headway/politeness"
)

// Host is the state of a host: what is known about it, and, while a crawl runs, what it
// does.
type Host struct {
	Host   string `json:"host"`
	Domain string `json:"domain,omitempty"`

	State    string    `json:"state,omitempty"` // fetching, or a wait reason; empty if no crawl runs
	Until    time.Time `json:"until,omitzero"`  // when the wait ends, if that is known
	InFlight int       `json:"in_flight"`       // requests in flight
	Cap      int       `json:"cap"`             // concurrency limit: maximum requests in flight
	Queued   int       `json:"queued"`          // queued URLs in memory
	More     bool      `json:"more,omitempty"`  // whether more are in the store

	Pace       Seconds `json:"pace_seconds"`                  // the current interval between requests
	Source     string  `json:"source"`                        // what sets the pace: base, crawl_delay, learned, operator
	Base       Seconds `json:"base_seconds"`                  // the configured interval, before any adjustment
	CrawlDelay Seconds `json:"crawl_delay_seconds,omitempty"` // Crawl-delay in robots.txt
	Learned    Seconds `json:"learned_seconds,omitempty"`     // interval learned from the responses of the host
	Floor      Seconds `json:"floor_seconds,omitempty"`       // an interval known to be too short
	Asked      Seconds `json:"delay_seconds,omitempty"`       // minimum interval set by an operator
	Paused     bool    `json:"paused,omitempty"`              // paused by an operator

	Refusing     bool      `json:"refusing,omitempty"`  // whether its last response was a refusal
	Noise        string    `json:"noise,omitempty"`     // finding about refusals that do not depend on the pace, in words
	Failures     int       `json:"failures,omitempty"`  // consecutive failures
	Clean        int       `json:"clean"`               // clean responses since the last incident
	Incidents    int       `json:"incidents,omitempty"` // recorded incidents after which the host was slowed
	LastIncident time.Time `json:"last_incident_at,omitzero"`
	LastSent     time.Time `json:"last_sent_at,omitzero"`
	HeldUntil    time.Time `json:"held_until,omitzero"`
}

// HostOf describes a host by its state under a policy. Fields that only a running
// crawl knows stay empty.
func HostOf(name string, p politeness.Policy, s politeness.State) Host {
	h := Host{
		Host: name, Pace: Seconds(p.Pace(s)), Base: Seconds(p.Base), CrawlDelay: Seconds(s.CrawlDelay()), Learned: Seconds(s.Learned()),
		Floor: Seconds(s.Floor()), Asked: Seconds(s.Asked()), Paused: s.Paused(), Refusing: s.Refusing(), Failures: s.Failures(), Clean: s.CleanStreak(),
		LastIncident: s.LastIncident(), Noise: s.NoiseSentence(), LastSent: s.LastSent(), HeldUntil: s.HeldUntil(), InFlight: s.InFlight(), Cap: p.Cap(s),
	}
	switch h.Pace {
	case h.Base: // also if it is 0
		h.Source = "base"
	case h.Asked:
		h.Source = "operator"
	case h.CrawlDelay:
		h.Source = "crawl_delay"
	default:
		h.Source = "learned"
	}
	return h
}
