package robots

import "time"

// EvidenceKind says whether the URL was allowed.
type EvidenceKind string

// The kinds of evidence.
const (
	EvidenceAllowed EvidenceKind = "robots_allowed"
	EvidenceBlocked EvidenceKind = "blocked_by_robots"
)

// Evidence records the decision that allowed or refused a URL. It names the robots.txt
// by its sum: the text of a version is stored once, and Sum and Line are enough to find
// the rule again ([File.RuleAt]).
type Evidence struct {
	Kind       EvidenceKind
	Reason     Reason
	Rule       string        // the deciding line as written, or ""
	Line       int           // its line, or 0
	Group      string        // the group that was chosen, or ""
	Delay      time.Duration // Crawl-delay of that group
	Delayed    bool          // whether it has one
	Sum        Sum           // the robots.txt that was used; zero if none
	FetchedAt  time.Time     // when the host last sent or confirmed it, or reported that there is none
	Confidence Confidence
	At         time.Time // when the decision was made
}

// Evidence records a decision made under the verdict.
func (v Verdict) Evidence(d Decision, at time.Time) Evidence {
	e := Evidence{
		Kind: EvidenceBlocked, Reason: d.Reason, Rule: d.Rule, Line: d.Line, Group: d.Group, Delay: d.Delay, Delayed: d.Delayed,
		Sum: v.Sum, FetchedAt: v.AnsweredAt, Confidence: v.Confidence, At: at,
	}
	if d.Allowed {
		e.Kind = EvidenceAllowed
	}
	return e
}
