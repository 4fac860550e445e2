package command

import (
	"fmt"
	"strings"
	"time"

	"headway/internal/humanize"
)

// OneLine keeps what a message quotes from the outside from moving the
// cursor, colouring the terminal or forging a line of its own.
func OneLine(s string) string {
	clean := func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}
	return strings.TrimSpace(strings.Map(clean, s))
}

// RoundTime keeps three digits: people compare, they do not calculate.
func RoundTime(d time.Duration) string {
	switch {
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d >= time.Millisecond:
		return d.Round(100 * time.Microsecond).String()
	default:
		return d.Round(time.Microsecond).String()
	}
}

// Plural counts things: 1 byte, 2,048 bytes.
func Plural(n int, what string) string { return humanize.Plural(int64(n), what) }

// Shorten cuts a text to a number of bytes, at a character, and adds an ellipsis.
func Shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	cut := most
	for cut > 0 && s[cut]&0xc0 == 0x80 {
		cut--
	}
	return s[:cut] + "…"
}

// ShortTime is a moment for a table, in the reader's own time.
func ShortTime(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format("2006-01-02 15:04")
}

// Bytes is a size in three digits.
func Bytes(n int64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	value, units := float64(n)/unit, []string{"KiB", "MiB", "GiB", "TiB"}
	for value >= unit && len(units) > 1 {
		value, units = value/unit, units[1:]
	}
	return fmt.Sprintf("%.3g %s", value, units[0])
}
