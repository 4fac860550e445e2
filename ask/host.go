package ask

import (
	"time"

	"headway/politeness"
)

// Host is how a host stands: what is known of it, and, where a crawl runs, what
// it does.
type Host struct {
	Host   string `json:"host"`
	Domain string `json:"domain,omitempty"`

	State    string    `json:"state,omitempty"` // fetching, or a wait reason; empty where nothing runs
	Until    time.Time `json:"until,omitzero"`  // when that wait ends, where a clock ends it
	InFlight int       `json:"in_flight"`       // requests under way
	Cap      int       `json:"cap"`             // as many may be in flight
	Queued   int       `json:"queued"`          // URLs in memory
	More     bool      `json:"more,omitempty"`  // and further ones in the store

	Pace       Millis `json:"pace_ms"`                  // the interval in force
	Source     string `json:"source"`                   // what sets it: base, crawl_delay, learned, operator
	Base       Millis `json:"base_ms"`                  // the interval of a host that has never complained
	CrawlDelay Millis `json:"crawl_delay_ms,omitempty"` // that robots.txt asks for
	Learned    Millis `json:"learned_ms,omitempty"`     // from how the host answered
	Floor      Millis `json:"floor_ms,omitempty"`       // the interval that was too short
	Asked      Millis `json:"asked_ms,omitempty"`       // by an operator
	Paused     bool   `json:"paused,omitempty"`         // by an operator

	Refusing     bool      `json:"refusing,omitempty"`  // its last word was not now
	Noise        string    `json:"noise,omitempty"`     // what is known of refusals that do not depend on our pace
	Failures     int       `json:"failures,omitempty"`  // in a row
	Clean        int       `json:"clean"`               // answers since the last incident
	Incidents    int       `json:"incidents,omitempty"` // times it pushed back and was slowed for it, as far as they are kept
	LastIncident time.Time `json:"last_incident,omitzero"`
	LastSent     time.Time `json:"last_sent,omitzero"`
	HeldUntil    time.Time `json:"held_until,omitzero"`
}

// HostOf describes a host by its state under a policy. What only a running crawl
// knows is left empty.
func HostOf(name string, p politeness.Policy, s politeness.State) Host {
	h := Host{
		Host: name, Pace: Millis(p.Pace(s)), Base: Millis(p.Base), CrawlDelay: Millis(s.CrawlDelay()), Learned: Millis(s.Learned()),
		Floor: Millis(s.Floor()), Asked: Millis(s.Asked()), Paused: s.Paused(), Refusing: s.Refusing(), Failures: s.Failures(), Clean: s.CleanStreak(),
		LastIncident: s.LastIncident(), Noise: s.NoiseSentence(), LastSent: s.LastSent(), HeldUntil: s.HeldUntil(), InFlight: s.InFlight(), Cap: p.Cap(s),
	}
	switch h.Pace {
	case h.Base: // also where it is 0, as what nobody asked for
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
