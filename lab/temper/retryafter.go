package temper

import (
	"strconv"
	"time"
)

// Form is the format of a Retry-After.
type Form uint8

// The formats: whole seconds, the three date formats of RFC 9110, or no header.
const (
	Seconds Form = iota
	IMFDate
	RFC850Date
	ANSICDate
	None
)

// Value is the header value for a wait announced now, by the server's clock. The form
// None gives "".
func (f Form) Value(now time.Time, wait time.Duration) string {
	at := now.UTC().Add(wait)
	switch f {
	case IMFDate:
		return at.Format("Mon, 02 Jan 2006 15:04:05 GMT")
	case RFC850Date:
		return at.Format("Monday, 02-Jan-06 15:04:05 GMT")
	case ANSICDate:
		return at.Format(time.ANSIC)
	case None:
		return ""
	default:
		return strconv.FormatInt(int64(wait/time.Second), 10)
	}
}

// wholeSeconds rounds up, because Retry-After has no fractions.
func wholeSeconds(d time.Duration) time.Duration {
	whole := d.Truncate(time.Second)
	if whole < d {
		whole += time.Second
	}
	return whole
}
