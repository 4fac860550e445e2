package check

import (
	"strings"

	"headway/fetch/guard"
	"headway/store"
	"headway/visit"
)

// Verdict is what a check says of a link.
type Verdict string

// The verdicts.
const (
	OK        Verdict = "ok"        // it answered, or redirects to what is judged by itself
	Dead      Verdict = "dead"      // somebody who must know says that it is not there
	Broken    Verdict = "broken"    // it redirects in a circle, or too far
	Throttled Verdict = "throttled" // refused for now, also when asked again, or its host was given up on while it refused
	Blocked   Verdict = "blocked"   // forbidden to us, or a challenge instead of a page
	Unknown   Verdict = "unknown"   // no answer that says anything about the page
	NotAsked  Verdict = "not_asked" // left out on purpose; the reason says whose
	Waiting   Verdict = "waiting"   // the check was stopped before its turn
	Unlinked  Verdict = "unlinked"  // was not ok, and no page links to it any more
)

// Verdicts lists the closed set in the order of the summary.
var Verdicts = []Verdict{OK, Dead, Broken, Throttled, Blocked, Unknown, NotAsked, Waiting, Unlinked}

// Listed are the verdicts whose links are listed one by one.
var Listed = []Verdict{Dead, Broken, Throttled, Blocked, Unknown}

// Of is the verdict on a URL.
//
// A 404, a 410 and their like are the server's word, and a name that does not
// exist is that of its name server: dead. A refused connection, a timeout, a bad
// certificate or a server error may be over in an hour: unknown.
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

// ofEnding is the verdict on all URLs that ended in a way that says enough by
// itself.
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

// noSuchName tells whether a name server said that there is no such name. A host
// is given up on without a visit of its URLs only after such an answer, several
// times; a visit has it in its detail.
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

// Fails tells whether a link with this verdict fails the check.
func (f FailOn) Fails(v Verdict) bool {
	return v == Dead && f != FailOnNone || v == Broken && f == FailOnBroken
}
