package robots

import (
	"strconv"
	"strings"
	"time"

	"headway/weburl"
)

// The times of the fetch policy.
const (
	// MaxFresh is how long an answer is trusted without asking again (RFC 9309
	// section 2.4); Cache-Control may shorten it to MinFresh.
	MaxFresh = 24 * time.Hour
	// MinFresh is how long an answer is trusted at least.
	MinFresh = time.Hour

	// MaxSilence is how long nothing is fetched from a host whose robots.txt
	// cannot be read, before its last good copy is used.
	MaxSilence = 12 * time.Hour
	// MaxStale is the age at which the last good copy is no longer used.
	MaxStale = 30 * 24 * time.Hour

	// MinRetry is the first wait before a robots.txt that could not be read is
	// asked for again; it doubles up to MaxRetry.
	MinRetry = 10 * time.Second
	// MaxRetry is the longest such wait of our own. A longer one that the host
	// asked for is kept.
	MaxRetry = time.Hour
)

// maxValidator is the longest ETag or Last-Modified that is kept. Without one
// the next fetch is unconditional, which costs bytes and changes nothing.
const maxValidator = 256

// Answer is how one fetch of robots.txt ended, redirects included: the last
// status decides, and its rules bind the host that was asked first.
type Answer struct {
	// Status is the final HTTP status, 0 where there was none.
	Status int
	// Fault says why there is no whole answer; NoFault where there is.
	Fault Fault
	// File is the parsed body of a successful answer.
	File *File

	ETag         string
	LastModified string
	CacheControl string
	// NotBefore is the moment before which the host asked not to be contacted,
	// from Retry-After; zero if it did not.
	NotBefore time.Time
}

// Fault is why a fetch of robots.txt has no whole answer.
type Fault uint8

// The faults.
const (
	NoFault    Fault = iota
	Network          // DNS, connect, TLS, timeout, an address the guard refuses
	Incomplete       // the body was cut short, too slow or could not be decoded
	Redirects        // more than a fetch follows, a loop, or nowhere to go
)

// Known is what a host has said about its robots.txt.
type Known uint8

// What can be known.
const (
	Nothing Known = iota // no answer yet
	Copy                 // there is a file, and it has been read
	Missing              // there is none
	Closed               // it answers 401 or 403: none, or no entry, as the policy says
)

// State is what is remembered of a host's robots.txt. It is plain data: the
// zero State is a host never asked. Change it only with [Policy.Observe] and
// [State.Forget]. All times are UTC in whole milliseconds, as they are stored.
type State struct {
	Known   Known
	Sum     Sum  // the last good copy; zero unless Known is Copy
	Binding bool // the copy asks something of someone, see [File.Binding]

	AnsweredAt   time.Time // when the host last said what is Known
	FreshUntil   time.Time // until when that is trusted without asking
	ETag         string    // validators of the copy
	LastModified string

	Status       int       // status of the last fetch; 0 for none
	TriedAt      time.Time // when it ended
	FailingSince time.Time // when the present outage was first noticed; zero without one
	Failures     int       // failed fetches in it
	RetryAt      time.Time // the host is not asked again before
}

// Forget returns the state without its copy, for a body that storage no longer
// has: the next fetch is due at once and unconditional.
func (s State) Forget() State {
	s.Known, s.Sum, s.Binding, s.ETag, s.LastModified = Nothing, Sum{}, false, "", ""
	s.AnsweredAt, s.FreshUntil = time.Time{}, time.Time{}
	return s
}

// fresh reports whether what is known is trusted without asking. A clock that
// was set back by more than MinFresh ends the trust, too.
func (s State) fresh(now time.Time) bool {
	return s.Known != Nothing && now.Before(s.FreshUntil) && s.FreshUntil.Sub(now) <= MaxFresh+MinFresh
}

func (s State) failing() bool { return !s.FailingSince.IsZero() }

// Policy says what holds when robots.txt cannot be read. It is pure: no clock,
// no lock, no I/O. The zero Policy is the polite one.
type Policy struct {
	// AllowUnreachable goes on where robots.txt cannot be read: with the last
	// good copy at once, and without one as if there were no file. The
	// evidence has low confidence. (robots.on_unreachable: allow)
	AllowUnreachable bool
	// DenyForbidden keeps away from a host whose robots.txt answers 401 or
	// 403, which otherwise counts as having none.
	DenyForbidden bool
}

// Observe returns the state after a fetch that ended now.
func (p Policy) Observe(s State, now time.Time, a Answer) State {
	now = stored(now)
	s.Status, s.TriedAt = a.Status, now
	switch a.outcome(s) {
	case gotFile:
		s.Known, s.Sum, s.Binding = Copy, emptySum, false
		if a.File != nil {
			s.Sum, s.Binding = a.File.Sum(), a.File.Binding()
		}
		s.ETag, s.LastModified = validator(a.ETag), validator(a.LastModified)
		return s.answered(now, freshness(a.CacheControl))
	case gotSame:
		if v := validator(a.ETag); v != "" {
			s.ETag = v
		}
		return s.answered(now, freshness(a.CacheControl))
	case gotNone:
		s = s.Forget()
		s.Known = Missing
		if a.Status == 401 || a.Status == 403 {
			s.Known = Closed
		}
		return s.answered(now, MaxFresh)
	}
	if !s.failing() {
		s.FailingSince = now
	}
	s.RetryAt = now.Add(retryAfter(s.Failures))
	s.Failures++
	if at := stored(a.NotBefore); at.After(s.RetryAt) {
		s.RetryAt = at
	}
	return s
}

// answered ends an outage: the host has said what holds.
func (s State) answered(now time.Time, fresh time.Duration) State {
	s.AnsweredAt, s.FreshUntil = now, now.Add(fresh)
	s.FailingSince, s.Failures, s.RetryAt = time.Time{}, 0, time.Time{}
	return s
}

// outcome is what an answer amounts to.
type outcome uint8

const (
	gotNothing outcome = iota // unreachable
	gotFile
	gotSame // the copy is still good
	gotNone // there is no file
)

func (a Answer) outcome(s State) outcome {
	switch {
	case a.Fault == Redirects:
		return gotNone
	case a.Fault != NoFault, a.Status == 429, a.Status < 200, a.Status >= 500:
		return gotNothing
	case a.Status == 204:
		return gotFile
	case a.Status == 206:
		return gotNothing // a part of a file nobody asked a part of
	case a.Status < 300:
		if a.File == nil {
			return gotNothing // a success that nobody read says nothing
		}
		return gotFile
	case a.Status == 304:
		if s.Known == Copy {
			return gotSame
		}
		return gotNothing // nothing it could confirm
	}
	return gotNone // a redirect to nowhere, or a client error
}

// retryAfter doubles from MinRetry to MaxRetry.
func retryAfter(failures int) time.Duration {
	d := MinRetry
	for ; failures > 0 && d < MaxRetry; failures-- {
		d *= 2
	}
	return min(d, MaxRetry)
}

// freshness reads how long Cache-Control lets an answer be trusted, held
// between MinFresh and MaxFresh.
func freshness(cacheControl string) time.Duration {
	fresh := MaxFresh
	for item := range strings.SplitSeq(cacheControl, ",") {
		name, value, _ := strings.Cut(item, "=")
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "no-store", "no-cache":
			return MinFresh
		case "max-age":
			seconds, err := strconv.ParseUint(strings.Trim(value, "\" \t"), 10, 31)
			if err == nil {
				fresh = min(fresh, time.Duration(seconds)*time.Second)
			}
		}
	}
	return max(fresh, MinFresh)
}

func validator(s string) string {
	if len(s) > maxValidator {
		return ""
	}
	return s
}

// stored returns a time as it comes back from storage.
func stored(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return time.UnixMilli(t.UnixMilli()).UTC()
}

// Due returns when robots.txt should be fetched next; a time that is not after
// now means at once. Pages may go on meanwhile as [Policy.Verdict] says.
func (p Policy) Due(s State, now time.Time) time.Time {
	var due time.Time
	if s.fresh(now) {
		due = s.FreshUntil
	}
	if s.failing() && s.RetryAt.After(due) {
		due = s.RetryAt
	}
	return due
}

// Access is what a host's robots.txt permits at a moment.
type Access string

// The kinds of access.
const (
	AccessUnknown Access = "unknown"      // nothing before robots.txt has been fetched
	AccessRules   Access = "rules"        // as the file says
	AccessCached  Access = "rules_cached" // as the last good copy says; the file cannot be read now
	AccessAll     Access = "allow_all"    // no rule stands in the way
	AccessNone    Access = "deny_all"     // nothing
)

// Confidence is how sure the ground of a verdict is.
type Confidence string

// The degrees of confidence.
const (
	High   Confidence = "high"   // the host said so within the last day
	Medium Confidence = "medium" // the host said so within the last 30 days
	Low    Confidence = "low"    // the host has not said so; the policy goes on regardless
)

// Verdict is what a state permits at a moment.
type Verdict struct {
	Access     Access
	Confidence Confidence
	Reason     Reason    // why, where no file is to be asked
	Sum        Sum       // the file that speaks: with rules, and with allow_all where it asks nothing
	AnsweredAt time.Time // when the host last sent or confirmed that file, or said there is none
	// Until is when the verdict may change by itself or robots.txt is due
	// again. A time that is not after the moment asked for means: fetch now.
	Until time.Time
}

// Verdict returns what s permits now.
func (p Policy) Verdict(s State, now time.Time) Verdict {
	v := Verdict{Confidence: High, Sum: s.Sum, AnsweredAt: s.AnsweredAt, Until: p.Due(s, now)}
	switch {
	case s.fresh(now):
		v.Access, v.Reason = p.standing(s)
		return v
	case !s.failing():
		return Verdict{Access: AccessUnknown, Confidence: High, Reason: Unknown, Until: v.Until}
	}
	usable := s.Known == Copy && now.Sub(s.AnsweredAt) <= MaxStale
	if usable && (p.AllowUnreachable || !now.Before(s.silentUntil())) {
		if v.Access, v.Reason = p.standing(s); v.Access == AccessRules {
			v.Access = AccessCached
		}
		v.Confidence = Medium
		if p.AllowUnreachable {
			v.Confidence = Low
		}
		return v
	}
	if p.AllowUnreachable {
		return Verdict{Access: AccessAll, Confidence: Low, Reason: Unreadable, Until: v.Until}
	}
	if wake := s.silentUntil(); usable && wake.Before(v.Until) {
		v.Until = wake
	}
	return Verdict{Access: AccessNone, Confidence: High, Reason: Unreachable, Until: v.Until}
}

// standing is what the last answer of the host permits.
func (p Policy) standing(s State) (Access, Reason) {
	switch {
	case s.Known == Copy && s.Binding:
		return AccessRules, ""
	case s.Known == Copy:
		return AccessAll, NoRule
	case s.Known == Closed && p.DenyForbidden:
		return AccessNone, Forbidden
	}
	return AccessAll, NoFile
}

// silentUntil is when the last good copy may speak again: MaxSilence after the
// silence began, which is when the outage was noticed and the copy no longer
// fresh.
func (s State) silentUntil() time.Time {
	from := s.FailingSince
	if s.FreshUntil.After(from) {
		from = s.FreshUntil
	}
	return from.Add(MaxSilence)
}

// Decide answers for one URL under the verdict. The rules are those of the
// file that v.Sum names, and nil where it names none.
func (v Verdict) Decide(r *Rules, u weburl.URL) Decision {
	switch v.Access {
	case AccessRules, AccessCached:
		if r != nil {
			return r.Decide(u)
		}
		return Decision{Reason: Unknown} // the file has to be loaded first
	case AccessAll:
		return Decision{Allowed: true, Reason: v.Reason}
	}
	return Decision{Reason: v.Reason}
}
