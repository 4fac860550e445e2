package command

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// leastColumn is how narrow a column may become.
const leastColumn = 8

// Table is rows of cells below headings. A heading that starts with + marks a column
// that only --wide shows, one that starts with ~ a column that may be shortened to fit.
type Table struct {
	heads []string
	rows  [][]string
}

// NewTable begins a table with these headings.
func NewTable(heads ...string) *Table { return &Table{heads: heads} }

// Add adds a row, a cell for each heading.
func (t *Table) Add(cells ...any) {
	row := make([]string, len(cells))
	for i, c := range cells {
		row[i] = fmt.Sprint(c)
	}
	t.rows = append(t.rows, row)
}

// Print writes the table. Without --wide it omits columns and shortens others.
func (t *Table) Print(w io.Writer, wide bool) error {
	var shown, flexible []int
	heads, widths, total := make([]string, len(t.heads)), make([]int, len(t.heads)), -2
	for i, head := range t.heads {
		heads[i] = strings.TrimLeft(head, "+~")
		if strings.HasPrefix(head, "+") && !wide {
			continue
		}
		if strings.HasPrefix(head, "~") {
			flexible = append(flexible, i)
		}
		shown = append(shown, i)
		widths[i] = utf8.RuneCountInString(heads[i])
		for _, row := range t.rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
		total += widths[i] + 2
	}
	for ; !wide && total > LineWidth; total-- {
		widest := -1
		for _, i := range flexible {
			if widths[i] > leastColumn && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		widths[widest]--
	}
	var b strings.Builder
	for _, row := range append([][]string{heads}, t.rows...) {
		var line strings.Builder
		for _, i := range shown {
			fmt.Fprintf(&line, "%-*s  ", widths[i], Cut(row[i], widths[i]))
		}
		if text := strings.TrimRight(line.String(), " "); text != "" { // a table may have no headings
			b.WriteString(text + "\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Cut shortens a text to so many letters.
func Cut(s string, most int) string {
	letters := []rune(s)
	if len(letters) <= most {
		return s
	}
	return string(letters[:most-1]) + "…"
}

// WideFlag adds the flag for tables and text that are wider than a small terminal.
func WideFlag(cmd *cobra.Command, to *bool) {
	cmd.Flags().BoolVar(to, "wide", false, "show all columns and lines in full, wider than 80 characters")
}
