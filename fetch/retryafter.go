package fetch

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Action is what an answer asks us to do about coming back.
type Action string

// The actions.
const (
	ActionNone    Action = "none"    // nothing is asked; the field, if any, means nothing here
	ActionWait    Action = "wait"    // not before a time; the own interval still applies
	ActionBackoff Action = "backoff" // no usable time is given: own backoff, after any hold
	ActionGiveUp  Action = "give_up" // longer than the job may wait: the URL ends deferred, never earlier
)

// WaitScope is what a wait holds back.
type WaitScope string

// The scopes.
const (
	ScopeNone WaitScope = "none"
	ScopeHost WaitScope = "host" // everything on the host
	ScopeURL  WaitScope = "url"  // the follow-up of this URL only
)

// RetryQuestion is an answer to read Retry-After from, and what is known
// beside it.
type RetryQuestion struct {
	Status int
	// RetryAfter and Date are the field lines; Date may be empty.
	RetryAfter []string
	Date       string
	// Now is our clock when the answer came.
	Now time.Time
	// Budget is how long the job may still wait. [NoBudget] waits for ever.
	Budget time.Duration
	// Hold is how long the host is held already.
	Hold time.Duration
}

// NoBudget is a [RetryQuestion.Budget] that only a saturated wait exceeds.
const NoBudget time.Duration = math.MaxInt64

// RetryAnswer says what to do. Wait counts from RetryQuestion.Now.
type RetryAnswer struct {
	Action Action
	Wait   time.Duration
	Scope  WaitScope
}

// ReadRetryAfter decides what an answer makes us do. It is pure: the same
// question has the same answer.
//
// The longest usable value counts, a running hold is never shortened, and a
// date is measured against the server's own Date, so that a clock that is off
// does no harm.
func ReadRetryAfter(q RetryQuestion) RetryAnswer {
	scope, must := retryScope(q.Status)
	if scope == ScopeNone {
		return RetryAnswer{Action: ActionNone, Scope: ScopeNone}
	}
	wait, ok := longestWait(q)
	if !ok {
		if must {
			return RetryAnswer{Action: ActionBackoff, Scope: scope}
		}
		return RetryAnswer{Action: ActionNone, Scope: ScopeNone}
	}
	if scope == ScopeHost {
		wait = max(wait, q.Hold)
	}
	if wait > q.Budget || wait == math.MaxInt64 {
		return RetryAnswer{Action: ActionGiveUp, Scope: scope}
	}
	return RetryAnswer{Action: ActionWait, Wait: wait, Scope: scope}
}

// retryScope says what Retry-After holds back with a status, and whether we
// must slow down also without it.
func retryScope(status int) (scope WaitScope, must bool) {
	switch {
	case status == http.StatusTooManyRequests || status >= 500 && status <= 599:
		return ScopeHost, true
	case status == http.StatusForbidden:
		return ScopeHost, false // some front ends throttle with it
	case isRedirect(status) || status == http.StatusRequestEntityTooLarge:
		return ScopeURL, false
	}
	return ScopeNone, false
}

// longestWait returns the longest of the values that can be read.
func longestWait(q RetryQuestion) (longest time.Duration, ok bool) {
	since := q.Now
	if date, ok := parseDate(strings.Trim(q.Date, " \t"), q.Now); ok {
		since = date
	}
	for _, line := range q.RetryAfter {
		for line != "" {
			var value string
			value, line = nextValue(line)
			if wait, read := readWait(value, since, q.Now); read {
				longest, ok = max(longest, wait), true
			}
		}
	}
	return longest, ok
}

// nextValue cuts the first value from a line that may be several joined by
// commas. The dates with a weekday hold a comma themselves.
func nextValue(line string) (value, rest string) {
	first, rest, found := strings.Cut(line, ",")
	if found && isWeekday(strings.Trim(first, " \t")) {
		second, after, _ := strings.Cut(rest, ",")
		return strings.Trim(first+","+second, " \t"), after
	}
	return strings.Trim(first, " \t"), rest
}

// readWait reads one value: whole seconds, or a date.
func readWait(value string, since, now time.Time) (time.Duration, bool) {
	if value != "" && strings.Trim(value, "0123456789") == "" {
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n > math.MaxInt64/int64(time.Second) {
			return math.MaxInt64, true
		}
		return time.Duration(n) * time.Second, true
	}
	date, ok := parseDate(value, now)
	if !ok {
		return 0, false
	}
	return max(date.Sub(since), 0), true // Sub saturates
}

var (
	weekdays = []string{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"}
	months   = []string{"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"}
	longDays = []string{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"}
)

func isWeekday(s string) bool { return index(weekdays, s) > 0 || index(longDays, s) > 0 }

// index is the place of s in a list, from 1; 0 means not there.
func index(list []string, s string) int {
	for i, item := range list {
		if item == s {
			return i + 1
		}
	}
	return 0
}

// parseDate reads the three forms of an HTTP date (RFC 9110, 5.6.7) and
// nothing else: package time would also take other zones and cases. A wrong
// day of the week does not matter.
func parseDate(s string, now time.Time) (time.Time, bool) {
	day, rest, ok := strings.Cut(s, " ")
	if !ok {
		return time.Time{}, false
	}
	name, comma := strings.CutSuffix(day, ",")
	switch {
	case comma && index(weekdays, name) > 0: // Sun, 15 Nov 2026 10:02:00 GMT
		return dateParts(rest, "DD MMM YYYY hh:mm:ss GMT", now)
	case comma && index(longDays, name) > 0: // Sunday, 15-Nov-26 10:02:00 GMT
		return dateParts(rest, "DD-MMM-YY hh:mm:ss GMT", now)
	case index(weekdays, name) > 0: // Sun Nov 15 10:02:00 2026
		return dateParts(rest, "MMM _D hh:mm:ss YYYY", now)
	}
	return time.Time{}, false
}

// dateParts reads s by a pattern of the same length: letters stand for digits
// of a part, MMM for the name of a month, _ for a blank or a digit, and
// anything else, GMT included, for itself.
func dateParts(s, pattern string, now time.Time) (time.Time, bool) {
	if len(s) != len(pattern) {
		return time.Time{}, false
	}
	var part [256]int
	for i := 0; i < len(pattern); i++ {
		p, c := pattern[i], s[i]
		switch {
		case strings.HasPrefix(pattern[i:], "MMM"):
			if part['M'] = index(months, s[i:i+3]); part['M'] == 0 {
				return time.Time{}, false
			}
			i += 2
		case strings.HasPrefix(pattern[i:], "GMT"):
			if s[i:] != "GMT" {
				return time.Time{}, false
			}
			i += 2
		case p == '_' && c == ' ':
		case p == '_' || strings.IndexByte("DYhms", p) >= 0:
			if c < '0' || c > '9' {
				return time.Time{}, false
			}
			if p == '_' {
				p = 'D'
			}
			part[p] = part[p]*10 + int(c-'0')
		case p != c:
			return time.Time{}, false
		}
	}
	year := part['Y']
	if !strings.Contains(pattern, "YYYY") {
		year = fullYear(year, now)
	}
	if part['h'] > 23 || part['m'] > 59 || part['s'] > 60 {
		return time.Time{}, false
	}
	t := time.Date(year, time.Month(part['M']), part['D'], part['h'], part['m'], part['s'], 0, time.UTC)
	// Package time would make 1 March of 29 February 2025.
	return t, part['D'] > 0 && time.Date(year, time.Month(part['M']), part['D'], 0, 0, 0, 0, time.UTC).Day() == part['D']
}

// fullYear reads a year of two digits: one that seems more than 50 years ahead
// is in the past.
func fullYear(yy int, now time.Time) int {
	year := now.Year() - now.Year()%100 + yy
	if year > now.Year()+50 {
		year -= 100
	}
	return year
}
