package robots

import (
	"strconv"
	"strings"
	"time"

	"headway/weburl"
)

// The times of the fetch policy.
const (
	// MaxFresh is how long a response is used without fetching again (RFC 9309
	// section 2.4); Cache-Control may shorten it to MinFresh.
	MaxFresh = 24 * time.Hour
	// MinFresh is the minimum time a response is used.
	MinFresh = time.Hour

	// MaxSilence is how long nothing is fetched from a host whose robots.txt cannot
	// be read, before its last good copy is used.
	MaxSilence = 12 * time.Hour
	// MaxStale is the age at which the last good copy is no longer used.
	MaxStale = 30 * 24 * time.Hour

	// MinRetry is the first wait before an unreadable robots.txt is fetched again;
	// it doubles up to MaxRetry.
	MinRetry = 10 * time.Second
	// MaxRetry is our longest such wait. A longer Retry-After of the host is
	// honoured.
	MaxRetry = time.Hour
)

// maxValidator is the longest ETag or Last-Modified that is kept. Without one the next
// fetch is unconditional, which only costs bytes.
const maxValidator = 256

// Answer is the result of one fetch of robots.txt, redirects included: the last status
// decides, and its rules apply to the host that was requested first.
type Answer struct {
	// Status is the final HTTP status; 0 without a response.
	Status int
	// Fault says why there is no complete response; NoFault if there is one.
	Fault Fault
	// File is the parsed body of a successful answer.
	File *File

	ETag         string
	LastModified string
	CacheControl string
	// NotBefore is the earliest time for the next request, from Retry-After; zero if
	// there was none.
	NotBefore time.Time
}

// Fault is why a fetch of robots.txt has no complete response.
type Fault uint8

// The faults.
const (
	NoFault    Fault = iota
	Network          // DNS, connect, TLS, timeout, an address the guard refuses
	Incomplete       // the body was truncated, too slow or could not be decoded
	Redirects        // too many redirects, a loop, or no target
)

// Known is what is known about a host's robots.txt.
type Known uint8

// What can be known.
const (
	Nothing Known = iota // no response yet
	Copy                 // there is a file, and it was read
	Missing              // there is none
	Closed               // it responds 401 or 403: the policy says whether that means no file or no access
)

// State is what is stored about a host's robots.txt. It is plain data: the zero State
// is a host never contacted. Change it only with [Policy.Observe] and [State.Forget].
// All times are UTC in whole milliseconds, as they are stored.
type State struct {
	Known   Known
	Sum     Sum  // the last good copy; zero unless Known is Copy
	Binding bool // the copy has rules or delays, see [File.Binding]

	AnsweredAt   time.Time // when the host last confirmed what is Known
	FreshUntil   time.Time // until when that is used without fetching again
	ETag         string    // validators of the copy
	LastModified string

	Status       int       // status of the last fetch; 0 for none
	TriedAt      time.Time // when it ended
	FailingSince time.Time // when the current outage was first noticed; zero if there is none
	Failures     int       // failed fetches in this outage
	RetryAt      time.Time // no fetch before this time
}

// Forget returns the state without its copy, for a body that is no longer stored: the
// next fetch is due at once and unconditional.
func (s State) Forget() State {
	s.Known, s.Sum, s.Binding, s.ETag, s.LastModified = Nothing, Sum{}, false, "", ""
	s.AnsweredAt, s.FreshUntil = time.Time{}, time.Time{}
	return s
}

// fresh reports whether what is known can be used without fetching again. It is false
// after the clock was set back by more than MinFresh.
func (s State) fresh(now time.Time) bool {
	return s.Known != Nothing && now.Before(s.FreshUntil) && s.FreshUntil.Sub(now) <= MaxFresh+MinFresh
}

func (s State) failing() bool { return !s.FailingSince.IsZero() }

// Policy says what applies when robots.txt cannot be read. It is pure: no clock, no
// lock, no I/O. The zero Policy is the polite one.
type Policy struct {
	// AllowUnreachable continues if robots.txt cannot be read: with the last good
	// copy at once, and without one as if there were no file. The evidence has low
	// confidence. (robots.on_unreachable: allow)
	AllowUnreachable bool
	// DenyForbidden blocks a host whose robots.txt responds 401 or 403, which
	// otherwise counts as having none.
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

// answered ends an outage: the host has sent a definite response.
func (s State) answered(now time.Time, fresh time.Duration) State {
	s.AnsweredAt, s.FreshUntil = now, now.Add(fresh)
	s.FailingSince, s.Failures, s.RetryAt = time.Time{}, 0, time.Time{}
	return s
}

// outcome classifies a response.
type outcome uint8

const (
	gotNothing outcome = iota // unreachable
	gotFile
	gotSame // the copy is unchanged
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
		return gotNothing // a partial response that was not requested
	case a.Status < 300:
		if a.File == nil {
			return gotNothing // a success without a parsed body
		}
		return gotFile
	case a.Status == 304:
		if s.Known == Copy {
			return gotSame
		}
		return gotNothing // a 304 without a copy
	}
	return gotNone // a redirect without target, or a client error
}

// retryAfter doubles from MinRetry to MaxRetry.
func retryAfter(failures int) time.Duration {
	d := MinRetry
	for ; failures > 0 && d < MaxRetry; failures-- {
		d *= 2
	}
	return min(d, MaxRetry)
}

// freshness reads how long a response may be used from Cache-Control, limited to
// MinFresh and MaxFresh.
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

// stored returns a time as it is read back from storage.
func stored(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return time.UnixMilli(t.UnixMilli()).UTC()
}

// Due returns when robots.txt should be fetched next; a time not after now means at
// once. Pages may be fetched meanwhile as [Policy.Verdict] says.
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

// Access is what a host's robots.txt permits at a given time.
type Access string

// The kinds of access.
const (
	AccessUnknown Access = "unknown"      // nothing until robots.txt was fetched
	AccessRules   Access = "rules"        // as the file says
	AccessCached  Access = "rules_cached" // as the last good copy says; the file cannot be read now
	AccessAll     Access = "allow_all"    // no rule applies
	AccessNone    Access = "deny_all"     // nothing
)

// Confidence is how certain a verdict is.
type Confidence string

// The degrees of confidence.
const (
	High   Confidence = "high"   // confirmed by the host within the last day
	Medium Confidence = "medium" // confirmed by the host within the last 30 days
	Low    Confidence = "low"    // not confirmed by the host; allowed by policy
)

// Verdict is what a state permits at a given time.
type Verdict struct {
	Access     Access
	Confidence Confidence
	Reason     Reason    // why, if no file decides
	Sum        Sum       // the file that decides; also with allow_all if it has no rules
	AnsweredAt time.Time // when the host last sent or confirmed that file, or reported that there is none
	// Until is when the verdict may change or robots.txt is due again. A time not
	// after the current one means: fetch now.
	Until time.Time
}

// Verdict returns what s permits now.
func (p Policy) Verdict(s State, now time.Time) Verdict {
	v := Verdict{Confidence: High, Sum: s.Sum, AnsweredAt: s.AnsweredAt, Until: p.Due(s, now)}
	switch {
	case s.fresh(now):
		v.Access, v.Reason = p.lastAccess(s)
		return v
	case !s.failing():
		return Verdict{Access: AccessUnknown, Confidence: High, Reason: Unknown, Until: v.Until}
	}
	usable := s.Known == Copy && now.Sub(s.AnsweredAt) <= MaxStale
	if usable && (p.AllowUnreachable || !now.Before(s.silentUntil())) {
		if v.Access, v.Reason = p.lastAccess(s); v.Access == AccessRules {
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

// lastAccess is what the last response of the host permits.
func (p Policy) lastAccess(s State) (Access, Reason) {
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

// silentUntil is when the last good copy may be used: MaxSilence after the outage was
// noticed and the copy was no longer fresh.
func (s State) silentUntil() time.Time {
	from := s.FailingSince
	if s.FreshUntil.After(from) {
		from = s.FreshUntil
	}
	return from.Add(MaxSilence)
}

// Decide decides one URL under the verdict. r are the rules of the file v.Sum, and nil
// if v.Sum is zero.
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
