package politeness

import (
	"net/http"
	"strconv"
	"time"
)

// Effect is what one answer changed for a host and means for its URL. It is a plain value;
// the text is made only by [Effect.String].
type Effect struct {
	changes Change
	charge  Charge
	cause   cause
	clean   bool
	failed  bool // counts towards the failures in a row
	answer  Answer
	from    int64 // pace before, in milliseconds
	to      int64 // pace after
	hold    int64 // how long the host is held, with Held
}

// Change is a set of changes that an answer made to a host.
type Change uint16

// The changes.
const (
	Incident      Change = 1 << iota // the host pushed back; counted once
	Joined                           // a refusal that belongs to the previous incident
	Slowed                           // the pace took a step
	Probed                           // a faster pace is being tried
	ProbeFailed                      // the faster pace was refused; back to the last that held
	Held                             // the hold was lengthened
	Welcomed                         // the canary was served: the host no longer refuses
	CircuitOpened                    // too many failures in a row: one request per backoff
	CircuitClosed                    // the half-open request was served
	Cancelled                        // so many 429s at the maximum pace that jobs with CancelAfter end
	Noise                            // refusals do not depend on our pace; the pace from before them is restored
	Relieved                         // refusals concerned a single URL; the pace from before them is restored
)

// cause distinguishes incidents without a refusal.
type cause uint8

const (
	causeAnswer cause = iota
	causeCongestion
	causeLatency
)

// Has reports whether all of the given changes happened.
func (e Effect) Has(c Change) bool { return e.changes&c == c }

// Charge says which retry the URL of the request is charged with.
func (e Effect) Charge() Charge { return e.charge }

// Clean reports whether it was a clean response.
func (e Effect) Clean() bool { return e.clean }

// Pace returns the host's pace before and after the answer, without jitter.
func (e Effect) Pace() (before, after time.Duration) {
	return time.Duration(e.from) * time.Millisecond, time.Duration(e.to) * time.Millisecond
}

// Urgent reports whether the new state must be durable before it is relied on: the host
// pushed back or was put on hold.
func (e Effect) Urgent() bool { return e.changes&(Incident|Held) != 0 }

// String says in a sentence what changed and why, such as "slowed to 2.0 s: 429 with
// Retry-After 30". It is empty if nothing changed that matters to people.
func (e Effect) String() string {
	var b []byte
	part := func(words ...string) {
		if len(b) > 0 {
			b = append(b, "; "...)
		}
		for _, w := range words {
			b = append(b, w...)
		}
	}
	switch {
	case e.Has(Noise):
		part("back to ", seconds(e.to), ", because refusals do not depend on our pace: ", e.why())
	case e.Has(Relieved):
		part("back to ", seconds(e.to), ", because only this URL is refused: ", e.why())
	case e.Has(Slowed|Welcomed) && e.to > e.from:
		part("slowed to ", seconds(e.to), ", to test whether that helps")
	case e.Has(Slowed | Welcomed):
	case e.Has(Slowed) && e.to > e.from:
		part("slowed to ", seconds(e.to), ": ", e.why())
	case e.Has(Slowed):
		part("stays at ", seconds(e.to), ", the slowest pace: ", e.why())
	case e.Has(ProbeFailed):
		part("back to ", seconds(e.to), ", the last pace that worked: ", e.why(), " at ", seconds(e.from))
	case e.Has(Incident) && e.cause == causeLatency:
		part("concurrency halved: ", e.why())
	case e.Has(Probed):
		part("trying ", seconds(e.to), " instead of ", seconds(e.from))
	}
	if e.Has(Held) {
		if len(b) > 0 {
			part("on hold for ", seconds(e.hold))
		} else {
			part("on hold for ", seconds(e.hold), ": ", e.why())
		}
	}
	if e.Has(CircuitOpened) {
		part(strconv.Itoa(circuitAfter), " failures in a row: one request per backoff period")
	}
	if e.Has(CircuitClosed) {
		part("responding again after failures")
	}
	if e.Has(Welcomed) {
		part("accepting requests again after refusals")
	}
	if e.Has(Cancelled) {
		part("refused even at the slowest pace: cancelling")
	}
	return string(b)
}

// why describes the answer behind a change.
func (e Effect) why() string {
	switch {
	case e.cause == causeLatency:
		return "response times increased"
	case e.cause == causeCongestion:
		return "signs of overload, most recently " + e.answerName()
	case e.answer.holdsHost():
		return e.answerName() + " with Retry-After " + strconv.FormatInt(int64(e.answer.RetryAfter/time.Second), 10)
	default:
		return e.answerName()
	}
}

func (e Effect) answerName() string {
	if e.answer.Fault != NoFault {
		return e.answer.Fault.String()
	}
	if e.answer.Status == http.StatusOK {
		return "a response"
	}
	return strconv.Itoa(e.answer.Status)
}

// seconds formats milliseconds for people: 0.35 s, 2.0 s, 30 s, 9 min, 1.5 h.
func seconds(ms int64) string {
	const s, m, h = 1000, 60_000, 3_600_000
	switch {
	case ms < s:
		return strconv.FormatFloat(float64(ms)/s, 'f', 2, 64) + " s"
	case ms < 10*s:
		return strconv.FormatFloat(float64(ms)/s, 'f', 1, 64) + " s"
	case ms < 3*m:
		return strconv.FormatFloat(float64(ms)/s, 'f', 0, 64) + " s"
	case ms < 2*h:
		return strconv.FormatFloat(float64(ms)/m, 'f', 0, 64) + " min"
	default:
		return strconv.FormatFloat(float64(ms)/h, 'f', 1, 64) + " h"
	}
}
