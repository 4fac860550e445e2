package answer

import (
	"time"

	"headway/ask"
	"headway/store"
	"headway/visit"
)

// Evidence is a [visit.Evidence] as it is shown.
type Evidence struct {
	Kind       visit.EvidenceKind `json:"kind"`
	At         time.Time          `json:"at"`
	Rule       string             `json:"rule,omitempty"` // the text that decided
	Line       int                `json:"line,omitempty"`
	Group      string             `json:"group,omitempty"`               // the group of robots.txt
	CrawlDelay ask.Seconds        `json:"crawl_delay_seconds,omitempty"` // of the group
	Source     string             `json:"source,omitempty"`              // reference to the complete source, such as a SHA-256
	SourceAt   time.Time          `json:"source_at,omitzero"`
	Confidence visit.Confidence   `json:"confidence,omitempty"`
	Note       string             `json:"note,omitempty"`
}

// evidenceOf shows evidence in the order it was recorded.
func evidenceOf(list []visit.Evidence) []Evidence {
	shown := make([]Evidence, len(list))
	for i := range list {
		e := &list[i]
		shown[i] = Evidence{e.Kind, e.At, e.Rule, e.Line, e.Group, ask.Seconds(time.Duration(e.CrawlDelayMS) * time.Millisecond), e.Source, e.SourceAt, e.Confidence, e.Note}
	}
	return shown
}

// Proof is how a URL ended, with its evidence.
type Proof struct {
	URL      string        `json:"url"`
	Outcome  visit.Outcome `json:"outcome"`
	Reason   visit.Reason  `json:"reason,omitempty"`
	Detail   string        `json:"detail,omitempty"` // for people
	Evidence []Evidence    `json:"evidence"`         // in the order it was recorded
}

// NewProof returns the evidence recorded for one URL.
func NewProof(e *store.Entry) Proof {
	p := Proof{URL: visit.Redact(e.Item.URL), Outcome: e.Outcome, Reason: e.Reason, Evidence: []Evidence{}}
	if e.Visit != nil {
		p.Detail, p.Evidence = e.Visit.Detail, evidenceOf(e.Visit.Evidence)
	}
	return p
}
