package command

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"headway/internal/humanize"
)

// LineWidth is how many letters a line of an answer may have unless --wide is given:
// what a small terminal shows.
const LineWidth = 80

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

// Printable keeps text of several lines from moving the cursor or colouring the terminal.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
			return -1
		}
		return r
	}, s)
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

// Wrap breaks a text into lines of at most so many letters.
func Wrap(text string, width int) string {
	var b strings.Builder
	at := 0
	for i, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case at+1+n > width:
			b.WriteByte('\n')
			at = 0
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += n
	}
	return b.String()
}

// PrintText writes a text after a prefix and, unless wide, wraps what does not fit on
// the line. Further lines are indented as far as the prefix.
func PrintText(w io.Writer, prefix, text string, wide bool) {
	indent := utf8.RuneCountInString(prefix)
	if !wide && indent+utf8.RuneCountInString(text) > LineWidth {
		text = strings.ReplaceAll(Wrap(text, LineWidth-indent), "\n", "\n"+strings.Repeat(" ", indent))
	}
	fmt.Fprintln(w, prefix+text)
}

// PrintSentences writes each sentence of a text on its own line or, if wide, all on one.
func PrintSentences(w io.Writer, text string, wide bool) {
	if wide {
		fmt.Fprintln(w, text)
		return
	}
	for _, sentence := range strings.SplitAfter(text, ". ") {
		PrintText(w, "", strings.TrimSpace(sentence), wide)
	}
}
