package fetch

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Action is what a response requires before the next request.
type Action string

// The actions.
const (
	ActionNone    Action = "none"    // no wait required; Retry-After, if any, has no meaning here
	ActionWait    Action = "wait"    // wait until a time; the pace still applies
	ActionBackoff Action = "backoff" // no usable time: use our own backoff, after any hold
	ActionGiveUp  Action = "give_up" // longer than the job may wait: the URL ends as deferred
)

// WaitScope is what a wait applies to.
type WaitScope string

// The scopes.
const (
	ScopeNone WaitScope = "none"
	ScopeHost WaitScope = "host" // everything on the host
	ScopeURL  WaitScope = "url"  // only the retry of this URL
)

// RetryInput is the input of [ReadRetryAfter]: a response with Retry-After and
// its context.
type RetryInput struct {
	Status int
	// RetryAfter and Date are the header values; Date may be empty.
	RetryAfter []string
	Date       string
	// Now is our clock when the response arrived.
	Now time.Time
	// Budget is how long the job may still wait. [NoBudget] means no limit.
	Budget time.Duration
	// Hold is the remaining hold of the host.
	Hold time.Duration
}

// NoBudget is a [RetryInput.Budget] that only an overflowing wait exceeds.
const NoBudget time.Duration = math.MaxInt64

// RetryDecision is the decision. Wait counts from RetryInput.Now.
type RetryDecision struct {
	Action Action
	Wait   time.Duration
	Scope  WaitScope
}

// ReadRetryAfter decides how long to wait after a response. It is a pure function.
//
// The longest usable value counts, a current hold is never shortened, and a date is
// compared with the server's own Date, so that a wrong server clock does no harm.
func ReadRetryAfter(q RetryInput) RetryDecision {
	scope, must := retryScope(q.Status)
	if scope == ScopeNone {
		return RetryDecision{Action: ActionNone, Scope: ScopeNone}
	}
	wait, ok := longestWait(q)
	if !ok {
		if must {
			return RetryDecision{Action: ActionBackoff, Scope: scope}
		}
		return RetryDecision{Action: ActionNone, Scope: ScopeNone}
	}
	if scope == ScopeHost {
		wait = max(wait, q.Hold)
	}
	if wait > q.Budget || wait == math.MaxInt64 {
		return RetryDecision{Action: ActionGiveUp, Scope: scope}
	}
	return RetryDecision{Action: ActionWait, Wait: wait, Scope: scope}
}

// retryScope says what Retry-After applies to for a status, and whether we must slow
// down even without it.
func retryScope(status int) (scope WaitScope, must bool) {
	switch {
	case status == http.StatusTooManyRequests || status >= 500 && status <= 599:
		return ScopeHost, true
	case status == http.StatusForbidden:
		return ScopeHost, false // some front ends throttle with 403
	case isRedirect(status) || status == http.StatusRequestEntityTooLarge:
		return ScopeURL, false
	}
	return ScopeNone, false
}

// longestWait returns the longest valid value.
func longestWait(q RetryInput) (longest time.Duration, ok bool) {
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

// nextValue cuts the first value from a line of values joined by commas. Dates with
// a weekday contain a comma themselves.
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

// index returns the position of s in a list, from 1; 0 if not found.
func index(list []string, s string) int {
	for i, item := range list {
		if item == s {
			return i + 1
		}
	}
	return 0
}

// parseDate reads the three HTTP date formats (RFC 9110, 5.6.7). Package time would
// also accept other zones and cases. A wrong weekday is ignored.
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

// dateParts parses s with a pattern of the same length: letters match the digits of
// a part, MMM a month name, _ a space or a digit; anything else, GMT included,
// matches itself.
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
	// Package time would turn 29 February 2025 into 1 March.
	return t, part['D'] > 0 && time.Date(year, time.Month(part['M']), part['D'], 0, 0, 0, 0, time.UTC).Day() == part['D']
}

// fullYear reads a two-digit year; one more than 50 years ahead is in the past.
func fullYear(yy int, now time.Time) int {
	year := now.Year() - now.Year()%100 + yy
	if year > now.Year()+50 {
		year -= 100
	}
	return year
}
