package scope

import (
	"strconv"
	"strings"
	"time"
)

// pathDate finds a date in a path, such as 2026/5, 2026/may/12 or 2026-05-12, and what
// comes before it. bare means that nothing follows, as in a calendar; an article has its
// name there.
func pathDate(path string) (date time.Time, before string, bare bool) {
	path = strings.TrimSuffix(path, "/")
	for rest := path; rest != ""; {
		before = path[:len(path)-len(rest)]
		var segment string
		segment, rest, _ = strings.Cut(strings.TrimPrefix(rest, "/"), "/")
		if len(segment) < 4 || segment[0] < '1' || segment[0] > '9' {
			continue
		}
		if d := writtenDate(segment); !d.IsZero() {
			return d, before, rest == ""
		}
		month, after, _ := strings.Cut(rest, "/")
		if d := dateOf(segment, month, ""); !d.IsZero() {
			day, behind, _ := strings.Cut(after, "/")
			if whole := dateOf(segment, month, day); day != "" && !whole.IsZero() {
				return whole, before, behind == ""
			}
			return d, before, after == ""
		}
	}
	return time.Time{}, "", false
}

// writtenDate parses 2026-05 and 2026-05-12.
func writtenDate(s string) time.Time {
	if len(s) < len("2026-5") || len(s) > len("2026-05-12") || s[4] != '-' {
		return time.Time{}
	}
	month, day, _ := strings.Cut(s[5:], "-")
	return dateOf(s[:4], month, day)
}

// firstYear is the first four-digit year.
const firstYear = 1000

// dateOf returns the date of a four-digit year, a month by number or English name, and
// optionally a day; zero if it is invalid.
func dateOf(year, month, day string) time.Time {
	if len(year) != 4 || !allDigits(year) || len(month) == 0 {
		return time.Time{}
	}
	y, err := strconv.Atoi(year)
	if err != nil || y < firstYear {
		return time.Time{}
	}
	m, ok := small(month, 12)
	if !ok {
		if m = monthNamed(month); m == 0 {
			return time.Time{}
		}
	}
	d := 1
	if day != "" {
		if d, ok = small(day, 31); !ok {
			return time.Time{}
		}
	}
	return time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC)
}

// small parses a number from 1 to max of one or two digits.
func small(s string, max int) (int, bool) {
	if len(s) > 2 || s == "" || !allDigits(s) {
		return 0, false
	}
	n, err := strconv.Atoi(s)
	return n, err == nil && n >= 1 && n <= max
}

// monthNamed parses jan or january.
func monthNamed(s string) int {
	for m := time.January; m <= time.December; m++ {
		if name := m.String(); strings.EqualFold(s, name) || strings.EqualFold(s, name[:3]) {
			return int(m)
		}
	}
	return 0
}
