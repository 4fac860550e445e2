package extract

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"

	"headway/weburl"
)

// Value is one value of a field.
type Value struct {
	Text string // for people
	JSON string // as JSON: a string, a number, true or false
}

// kind is the type of a field.
type kind uint8

const (
	kindString kind = iota
	kindInt
	kindFloat
	kindBool
	kindDate
	kindURL
)

// kindNames are the types as they are written.
var kindNames = [...]string{kindString: "string", kindInt: "int", kindFloat: "float", kindBool: "bool", kindDate: "date", kindURL: "url"}

// clean returns text with single spaces, without control characters. It ends soon after
// [MaxValue] bytes.
func clean(text string) string {
	text = strings.ToValidUTF8(text, "\ufffd")
	var b strings.Builder
	space := false
	for _, r := range text {
		if b.Len() > MaxValue {
			break
		}
		switch {
		case unicode.IsSpace(r):
			space = b.Len() > 0
			continue
		case unicode.IsControl(r):
			continue
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(r)
	}
	return b.String()
}

// convert converts clean text to a value of the type.
func (k kind) convert(text string, base weburl.URL) (Value, error) {
	switch k {
	case kindInt:
		n, err := strconv.ParseInt(ungrouped(text), 10, 64)
		if err != nil {
			return Value{}, fmt.Errorf("%s is not a whole number; pick the digits with regex, or use type string", quote(text))
		}
		return plain(strconv.FormatInt(n, 10)), nil
	case kindFloat:
		n, err := strconv.ParseFloat(ungrouped(text), 64)
		if err != nil || math.IsInf(n, 0) || math.IsNaN(n) || !isDecimal(text) {
			return Value{}, fmt.Errorf("%s is not a number such as 1,234.5; pick it with regex, or use type string", quote(text))
		}
		written, err := json.Marshal(n) // with an exponent only if it is very large or small
		return plain(string(written)), err
	case kindBool:
		is, ok := bools[strings.ToLower(text)]
		if !ok {
			return Value{}, fmt.Errorf("%s is not true, false, yes, no, 1 or 0", quote(text))
		}
		return plain(strconv.FormatBool(is)), nil
	case kindDate:
		date, ok := dateOf(text)
		if !ok {
			return Value{}, fmt.Errorf("%s is not a date in a known form, such as 2026-11-15 or 15 November 2026", quote(text))
		}
		return quoted(date), nil
	case kindURL:
		u, err := base.Resolve(text)
		if err != nil {
			return Value{}, fmt.Errorf("%s is not a web address: %w", quote(text), err)
		}
		return quoted(u.String()), nil
	default:
		return quoted(text), nil
	}
}

func plain(text string) Value { return Value{text, text} }

func quoted(text string) Value { return Value{text, jsonString(text)} }

// bools are the texts of true and false; the last two are schema.org's.
var bools = map[string]bool{
	"true": true, "yes": true, "1": true, "false": false, "no": false, "0": false,
	"https://schema.org/true": true, "https://schema.org/false": false,
}

// grouped is a number with groups of three digits, separated by commas, spaces or
// apostrophes. Points and decimal commas are not guessed: 1.234 could be either.
var grouped = regexp.MustCompile(`^([+-]?\d{1,3})((?:,\d{3})+|(?:[ \x{202f}]\d{3})+|(?:['’]\d{3})+)((?:\.\d+)?)$`)

// ungrouped removes the separators of groups.
func ungrouped(text string) string {
	m := grouped.FindStringSubmatch(text)
	if m == nil {
		return text
	}
	return m[1] + strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, m[2]) + m[3]
}

// isDecimal refuses what Go reads as a number and people do not: hexadecimal, underscores.
func isDecimal(text string) bool { return !strings.ContainsAny(text, "xX_pP") }

// dates are the forms of dates that are not ambiguous, and how they are written here.
var dates = []struct{ read, write string }{
	{time.RFC3339Nano, time.RFC3339Nano},
	{"2006-01-02T15:04Z07:00", time.RFC3339},
	{"2006-01-02T15:04:05.999999999Z0700", time.RFC3339Nano},
	{"2006-01-02 15:04:05.999999999Z07:00", time.RFC3339Nano},
	{"2006-01-02 15:04:05.999999999 Z0700", time.RFC3339Nano},
	{"2006-01-02T15:04:05.999999999", localTime},
	{"2006-01-02 15:04:05.999999999", localTime},
	{"2006-01-02T15:04", localTime},
	{"2006-01-02 15:04", localTime},
	{time.DateOnly, time.DateOnly},
	{"2006/01/02", time.DateOnly},
	{"Mon, 02 Jan 2006 15:04:05 GMT", time.RFC3339}, // other names of zones have several meanings
	{"Mon, 02 Jan 2006 15:04:05 UTC", time.RFC3339},
	{time.RFC1123Z, time.RFC3339},
	{"Monday, 2 January 2006", time.DateOnly},
	{"Monday, January 2, 2006", time.DateOnly},
	{"2 January 2006", time.DateOnly},
	{"2 Jan 2006", time.DateOnly},
	{"January 2, 2006", time.DateOnly},
	{"Jan 2, 2006", time.DateOnly},
}

// localTime is a time without a zone.
const localTime = "2006-01-02T15:04:05.999999999"

// maxDate is the length of the longest date.
const maxDate = 64

// dateOf writes a date as ISO 8601.
func dateOf(text string) (string, bool) {
	if len(text) > maxDate {
		return "", false
	}
	for _, d := range dates {
		if t, err := time.Parse(d.read, text); err == nil {
			return t.Format(d.write), true
		}
	}
	return "", false
}
