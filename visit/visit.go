package visit

import (
	"errors"
	"fmt"
	"time"

	"headway/weburl"
)

// Visit is one attempt at one URL and its result. A URL that was never requested (skipped, deferred) has a
// Visit too: its Timing and Answer are empty.
type Visit struct {
	Item    Item    `json:"item"`
	Outcome Outcome `json:"outcome"`
	Reason  Reason  `json:"reason,omitempty"` // for skipped and failed
	Wait    Wait    `json:"wait,omitempty"`   // for pending
	Detail  string  `json:"detail,omitempty"` // one sentence for people, such as the error

	Answer   Answer     `json:"answer,omitzero"`
	Timing   Timing     `json:"timing,omitzero"`
	Page     Page       `json:"page,omitzero"`
	Links    []Link     `json:"links,omitempty"`
	Evidence []Evidence `json:"evidence,omitempty"`
}

// Answer is the response of the server, without the body.
type Answer struct {
	Status       int        `json:"status,omitempty"`
	Protocol     string     `json:"protocol,omitempty"` // HTTP/1.1, HTTP/2.0
	Remote       string     `json:"remote,omitempty"`   // address and port of the server
	ContentType  string     `json:"content_type,omitempty"`
	Location     weburl.URL `json:"location,omitzero"` // where a redirect leads
	RetryAfter   string     `json:"retry_after,omitempty"`
	Validators   Validators `json:"validators,omitzero"`
	WireBytes    int64      `json:"wire_bytes,omitempty"`    // body as transferred
	DecodedBytes int64      `json:"decoded_bytes,omitempty"` // body after decompression
	Cache        Cache      `json:"cache,omitzero"`          // what caches reported
	Archived     Archived   `json:"archived,omitzero"`       // zero unless a fleet job keeps raw responses
}

// Archived says where the response is in the archive of a fleet: a WARC record, as one gzip
// member.
type Archived struct {
	Segment string `json:"segment"` // key of the object
	Offset  int64  `json:"offset"`
	Length  int64  `json:"length"`
}

// IsZero reports whether there is none.
func (a Archived) IsZero() bool { return a == Archived{} }

// Timing says when things happened. The interval of a host counts from Sent.
type Timing struct {
	Sent      time.Time     `json:"sent,omitzero"`        // when the request was sent
	DNS       time.Duration `json:"dns,omitempty"`        // DNS lookup
	Connect   time.Duration `json:"connect,omitempty"`    // dialling
	TLS       time.Duration `json:"tls,omitempty"`        // handshake
	Send      time.Duration `json:"send,omitempty"`       // time from the start of writing to Sent
	FirstByte time.Duration `json:"first_byte,omitempty"` // from the start of writing to the first byte of the response
	Total     time.Duration `json:"total,omitempty"`      // from the start of writing to the end of the body
	Reused    bool          `json:"reused,omitempty"`     // the connection was open already
}

// Begun is when the writing of the request started.
func (t Timing) Begun() time.Time { return t.Sent.Add(-t.Send) }

// End is when the response ended.
func (t Timing) End() time.Time { return t.Begun().Add(t.Total) }

// Page is what was parsed from the body.
type Page struct {
	Title       string     `json:"title,omitempty"`
	Description string     `json:"description,omitempty"`
	Canonical   weburl.URL `json:"canonical,omitzero"`
	Language    string     `json:"language,omitempty"`
	Charset     string     `json:"charset,omitempty"`
	Robots      []string   `json:"robots,omitempty"`  // directives of the page and its headers that apply to us
	Digest      string     `json:"digest,omitempty"`  // of the visible text
	SimHash     uint64     `json:"simhash,omitempty"` // near duplicates have similar values
	Content     *Content   `json:"content,omitempty"` // nil unless the crawl asked for it
	Signals     []Signal   `json:"signals,omitempty"` // AI-use signals; none unless the crawl asked for content
	Links       *KeptLinks `json:"links,omitempty"`   // nil unless the crawl keeps links
}

// Evidence is one fact behind a decision. Large things are referenced: a robots.txt by the SHA-256 of its
// version.
type Evidence struct {
	Kind         EvidenceKind `json:"kind"`
	At           time.Time    `json:"at"`
	Rule         string       `json:"rule,omitempty"` // the text that decided
	Line         int          `json:"line,omitempty"`
	Group        string       `json:"group,omitempty"`          // the group of robots.txt
	CrawlDelayMS int64        `json:"crawl_delay_ms,omitempty"` // of the group, in milliseconds
	Source       string       `json:"source,omitempty"`         // reference to the complete source, such as a SHA-256
	SourceAt     time.Time    `json:"source_at,omitzero"`
	Confidence   Confidence   `json:"confidence,omitempty"`
	Note         string       `json:"note,omitempty"`
}

// RobotsEvidence returns the last decision by robots.txt; nil if there is none.
func (v *Visit) RobotsEvidence() *Evidence {
	for i := len(v.Evidence) - 1; i >= 0; i-- {
		if e := &v.Evidence[i]; e.Kind == RobotsAllowed || e.Kind == BlockedByRobots {
			return e
		}
	}
	return nil
}

// EvidenceKind says what a piece of evidence is about.
type EvidenceKind string

// The kinds of evidence.
const (
	RobotsAllowed   EvidenceKind = "robots_allowed"
	BlockedByRobots EvidenceKind = "blocked_by_robots"
	ChallengePage   EvidenceKind = "challenge_page"
	AddressRefused  EvidenceKind = "address_refused"
	Override        EvidenceKind = "override" // a rule was overridden by the owner
)

// EvidenceKinds lists all kinds.
var EvidenceKinds = []EvidenceKind{RobotsAllowed, BlockedByRobots, ChallengePage, AddressRefused, Override}

// Confidence says how certain a decision is: high if based on a recent response of the host, low if based on an
// assumption.
type Confidence string

// The degrees of confidence.
const (
	High   Confidence = "high"
	Medium Confidence = "medium"
	Low    Confidence = "low"
)

// Check reports why a visit is invalid.
func (v *Visit) Check() error {
	var problems []error
	if v.Item.URL.IsZero() {
		problems = append(problems, errors.New("visit without a URL"))
	}
	if err := Check(v.Outcome, v.Reason, v.Wait); err != nil {
		problems = append(problems, err)
	}
	if v.Item.Hops < 0 || v.Item.Hops > MaxHops || v.Item.Depth < 0 || v.Item.Attempt < 0 {
		problems = append(problems, fmt.Errorf("depth %d, hops %d or attempt %d out of range", v.Item.Depth, v.Item.Hops, v.Item.Attempt))
	}
	if err := v.Answer.Cache.Check(); err != nil {
		problems = append(problems, err)
	}
	if err := v.Page.Content.check(); err != nil {
		problems = append(problems, err)
	}
	if v.Outcome == Redirected && v.Answer.Location.IsZero() {
		problems = append(problems, errors.New("redirected without a target"))
	}
	if err := errors.Join(problems...); err != nil {
		return fmt.Errorf("visit %s: %w", v.Item.URL, err)
	}
	return nil
}
