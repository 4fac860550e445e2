package answer

import (
	"slices"

	"headway/store"
	"headway/visit"
)

// Proof is how a URL ended, with its evidence.
type Proof struct {
	URL      string           `json:"url"`
	Outcome  visit.Outcome    `json:"outcome"`
	Reason   visit.Reason     `json:"reason,omitempty"`
	Detail   string           `json:"detail,omitempty"` // for people
	Evidence []visit.Evidence `json:"evidence"`         // in the order it was recorded
}

// NewProof returns the evidence recorded for one URL.
func NewProof(e *store.Entry) Proof {
	p := Proof{URL: visit.Redact(e.Item.URL), Outcome: e.Outcome, Reason: e.Reason, Evidence: []visit.Evidence{}}
	if e.Visit != nil {
		p.Detail, p.Evidence = e.Visit.Detail, append(p.Evidence, slices.Clone(e.Visit.Evidence)...)
	}
	return p
}
