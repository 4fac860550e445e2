package view

import (
	"strings"

	"charm.land/lipgloss/v2"
)

// columns is the width of a text. ASCII and our own symbols are counted without
// measuring.
func columns(text string) int {
	n := 0
	for _, r := range text {
		if r >= 0x7f && r != '▇' && r != '▏' && r != '…' {
			return lipgloss.Width(text)
		}
		n++
	}
	return n
}

// style is how a piece of text looks where there is colour.
type style int

const (
	plain style = iota
	faint
	strong
	good
	warn
	alarm
)

var styles = [...]lipgloss.Style{
	plain:  lipgloss.NewStyle(),
	faint:  lipgloss.NewStyle().Faint(true),
	strong: lipgloss.NewStyle().Bold(true),
	good:   lipgloss.NewStyle().Foreground(lipgloss.Green),
	warn:   lipgloss.NewStyle().Foreground(lipgloss.Yellow),
	alarm:  lipgloss.NewStyle().Foreground(lipgloss.Red).Bold(true),
}

// piece is text in one style.
type piece struct {
	text  string
	style style
}

// line is one row of the screen.
type line []piece

// say starts a line.
func say(s style, text string) line { return line{{text, s}} }

// add appends a piece.
func (l line) add(s style, text string) line { return append(l, piece{text, s}) }

// width is the number of columns.
func (l line) width() int {
	n := 0
	for _, p := range l {
		n += columns(p.text)
	}
	return n
}

// pad fills a line up with spaces.
func (l line) pad(width int) line {
	if n := width - l.width(); n > 0 {
		return l.add(plain, strings.Repeat(" ", n))
	}
	return l
}

// cut shortens a line to a number of columns, and marks the cut.
func (l line) cut(width int) line {
	if l.width() <= width {
		return l
	}
	var short line
	room := width
	for _, p := range l {
		w := columns(p.text)
		if w < room {
			short, room = append(short, p), room-w
			continue
		}
		return short.add(p.style, cut(p.text, room-1)+"…")
	}
	return short
}

// cut is as much of a text as fits into a number of columns.
func cut(text string, width int) string {
	n := 0
	for i, r := range text {
		w := columns(string(r))
		if n+w > width {
			return text[:i]
		}
		n += w
	}
	return text
}

// fitName shortens or pads a name to a number of columns.
func fitName(name string, width int) string {
	if columns(name) > width {
		name = cut(name, width-1) + "…"
	}
	return name + strings.Repeat(" ", max(width-columns(name), 0))
}

// paint is the text of a line, with colours or without any control character.
func (l line) paint(colour bool) string {
	var b strings.Builder
	for _, p := range l {
		if colour && p.style != plain {
			b.WriteString(styles[p.style].Render(p.text))
		} else {
			b.WriteString(p.text)
		}
	}
	if colour {
		return b.String()
	}
	return strings.TrimRight(b.String(), " ")
}

// bar draws a share of a width in blocks.
func bar(part float64, width int) string {
	n := int(min(max(part, 0), 1)*float64(width) + 0.5)
	if part > 0 && n == 0 {
		return "▏"
	}
	return strings.Repeat("▇", n)
}

// flow puts items into one line while there is room; rest, which may be nil, says how
// many are left out.
func flow(start line, items []line, width int, rest func(left int) string) line {
	l := start
	for i, item := range items {
		tail := ""
		if left := len(items) - i - 1; left > 0 && rest != nil {
			tail = rest(left)
		}
		if i > 0 && l.width()+2+item.width()+columns(tail) > width {
			if rest != nil {
				l = l.add(faint, rest(len(items)-i))
			}
			return l
		}
		if i > 0 {
			l = l.add(plain, "  ")
		}
		l = append(l, item...)
	}
	return l
}
