package sim

import (
	"math/rand/v2"
	"net/http"
	"time"

	"headway/politeness"
)

// Noisy refuses for reasons that do not depend on the request rate.
type Noisy struct {
	Server Server // serves the rest

	Share  float64    // share of requests refused at random
	Status int        // of a refusal; 503 when zero
	Random *rand.Rand // draws them

	Bad func(url int) bool // URLs that are always refused

	// Down refuses everything for a part of each period; with RetryAfter it says until
	// when. Phase is how far into a period the first request comes.
	Down, Every, Phase time.Duration
	RetryAfter         bool

	Latency time.Duration
	Refused int // requests that were refused at random
	first   time.Time
}

// Serve implements [Server].
func (n *Noisy) Serve(r Request) politeness.Answer {
	if n.first.IsZero() {
		n.first = r.At
	}
	a := politeness.Answer{Status: http.StatusServiceUnavailable, Latency: n.Latency}
	if n.Status != 0 {
		a.Status = n.Status
	}
	if n.Every > 0 {
		if left := n.Down - (r.At.Sub(n.first)+n.Phase)%n.Every; left > 0 {
			a.HasRetryAfter = n.RetryAfter
			if n.RetryAfter {
				a.RetryAfter = (left + time.Second - 1).Truncate(time.Second)
			}
			return a
		}
	}
	if n.Bad != nil && n.Bad(r.URL) {
		return a
	}
	if n.Share > 0 && n.Random.Float64() < n.Share {
		n.Refused++
		return a
	}
	if n.Server == nil {
		return OK(n.Latency)
	}
	return n.Server.Serve(r)
}

// PerPath limits some of the URLs, and serves the others.
type PerPath struct {
	Of      func(url int) bool
	Limited *Limited
}

// Serve implements [Server].
func (p *PerPath) Serve(r Request) politeness.Answer {
	if p.Of(r.URL) {
		return p.Limited.Serve(r)
	}
	return OK(p.Limited.Latency)
}
