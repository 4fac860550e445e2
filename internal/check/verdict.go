package check

import (
	"strings"

	"headway/fetch/guard"
	"headway/store"
	"headway/visit"
)

// Verdict is the result for a link.
type Verdict string

// The verdicts.
const (
	OK        Verdict = "ok"        // successful, or a redirect, whose target is judged by itself
	Dead      Verdict = "dead"      // its server or name server says that it does not exist
	Broken    Verdict = "broken"    // redirect loop or too many redirects
	Throttled Verdict = "throttled" // refused for now, also when retried, or its host was given up on while it refused
	Blocked   Verdict = "blocked"   // forbidden to us, or a challenge instead of a page
	Unknown   Verdict = "unknown"   // no response that says anything about the page
	NotAsked  Verdict = "not_asked" // skipped on purpose; the reason says why
	Waiting   Verdict = "waiting"   // the check was stopped before its turn
	Unlinked  Verdict = "unlinked"  // was not ok, and no page links to it any more
)

// Verdicts lists the closed set in the order of the summary.
var Verdicts = []Verdict{OK, Dead, Broken, Throttled, Blocked, Unknown, NotAsked, Waiting, Unlinked}

// Listed are the verdicts whose links are listed one by one.
var Listed = []Verdict{Dead, Broken, Throttled, Blocked, Unknown}

// Of is the verdict on a URL.
//
// A 404, a 410 and the like come from the server, and a name that does not exist from
// its name server: dead. A refused connection, a timeout, a bad certificate or a
// server error may be over in an hour: unknown.
func Of(e *store.Entry) Verdict {
	switch e.Outcome {
	case visit.Failed:
		switch {
		case e.Reason == visit.RedirectLoop:
			return Broken
		case e.Reason == visit.DNS && noSuchName(e):
			return Dead
		}
		return Unknown
	default:
		return ofEnding(store.Ending{Outcome: e.Outcome, Reason: e.Reason})
	}
}

// ofEnding is the verdict on all URLs with an ending that decides it alone.
func ofEnding(e store.Ending) Verdict {
	switch e.Outcome {
	case visit.Fetched, visit.NotModified, visit.Redirected:
		return OK
	case visit.Dead:
		return Dead
	case visit.Throttled:
		return Throttled
	case visit.Blocked:
		return Blocked
	case visit.Pending:
		return Waiting
	case visit.Skipped:
		switch e.Reason {
		case visit.RobotsDisallow, visit.RobotsUnreachable, visit.CrawlDelayTooLong, visit.BadPort, visit.PrivateAddress, visit.BudgetHost:
			return Unknown
		default:
			return NotAsked
		}
	default:
		return Unknown
	}
}

// noSuchName reports whether the host does not exist in DNS. A host is given up on
// without a visit of its URLs only after several such answers; a visit has it in its
// detail.
func noSuchName(e *store.Entry) bool {
	if e.Visit == nil {
		return true
	}
	d := e.Visit.Detail
	return strings.Contains(d, ": "+string(guard.NXDomain)) || strings.Contains(d, ": "+string(guard.NoAddress))
}

// FailOn says which verdicts fail a check.
type FailOn string

// What a check fails on.
const (
	FailOnDead   FailOn = "dead"   // dead links alone; the default
	FailOnBroken FailOn = "broken" // and broken ones
	FailOnNone   FailOn = "none"
)

// Fails reports whether a link with this verdict fails the check.
func (f FailOn) Fails(v Verdict) bool {
	return v == Dead && f != FailOnNone || v == Broken && f == FailOnBroken
}
