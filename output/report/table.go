package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"headway/internal/humanize"
)

// Limits of a table: its rows and its size.
const (
	maxRows  = 2000
	maxBytes = 1 << 20 // of its rows as JSON
	maxText  = 300     // characters of a cell that is not a URL
)

// Table is a list of what needs attention.
type Table struct {
	ID, Title, About string
	Columns          []Column
	Rows             [][]any // per column a text, a whole number or a list of URLs
	Total            int64   // total number of rows
	URLs             int64   // URLs in total, if not one per row

	less  func(a, b []any) int // nil sorts by the first column
	first bool                 // keep the first rows in sort order instead of a sample
}

// Column is a column of a table.
type Column struct {
	Name   string `json:"name"`
	Number bool   `json:"number,omitempty"`
	None   bool   `json:"none,omitempty"` // a number that is omitted if it is 0
	Word   bool   `json:"word,omitempty"` // from a closed set
	Link   bool   `json:"link,omitempty"` // a URL, or several
}

// Count is the number next to the title.
func (t *Table) Count() int64 { return cmp.Or(t.URLs, t.Total) }

// Missing says which rows are left out; empty if none.
func (t *Table) Missing() string {
	if t.Total <= int64(len(t.Rows)) {
		return ""
	}
	which := "a random sample"
	if t.first {
		which = "the first rows in order"
	}
	return fmt.Sprintf("Showing %s of %s rows, %s; the crawl folder contains all.", humanize.Count(int64(len(t.Rows))), humanize.Count(t.Total), which)
}

// keep adds a row; over the limit it keeps a uniform sample.
func (c *collector) keep(t *Table, row ...any) {
	t.Total++
	if len(t.Rows) < maxRows {
		t.Rows = append(t.Rows, row)
		return
	}
	if i := c.random.Int64N(t.Total); i < maxRows {
		t.Rows[i] = row
	}
}

// top adds a row to a table that keeps the first rows in sort order.
func (c *collector) top(t *Table, row ...any) {
	t.Total++
	t.Rows = append(t.Rows, row)
	if len(t.Rows) >= 2*maxRows {
		slices.SortStableFunc(t.Rows, t.less)
		t.Rows = slices.Clone(t.Rows[:maxRows])
	}
}

// settle sorts a table and cuts it to its limits.
func (c *collector) settle(t *Table) error {
	for _, row := range t.Rows {
		for i, cell := range row {
			if text, ok := cell.(string); ok && !t.Columns[i].Link {
				row[i] = shorten(text)
			}
		}
	}
	order := func(a, b []any) int { return cmp.Compare(fmt.Sprint(a[0]), fmt.Sprint(b[0])) }
	if t.less != nil {
		order = func(a, b []any) int { return cmp.Or(t.less(a, b), cmp.Compare(fmt.Sprint(a[0]), fmt.Sprint(b[0]))) }
	}
	slices.SortStableFunc(t.Rows, order)
	t.Rows = t.Rows[:min(len(t.Rows), maxRows)]
	kept, bytes := t.Rows, 0
	if !t.first {
		// What does not fit is left out at random too.
		kept = slices.Clone(t.Rows)
		c.random.Shuffle(len(kept), func(i, j int) { kept[i], kept[j] = kept[j], kept[i] })
	}
	for i, row := range kept {
		b, err := json.Marshal(row)
		if err != nil {
			return fmt.Errorf("table %s: %w", t.ID, err)
		}
		if bytes += len(b); bytes > maxBytes {
			t.Rows = kept[:i]
			slices.SortStableFunc(t.Rows, order)
			break
		}
	}
	return nil
}

// shorten shortens text from pages.
func shorten(text string) string {
	if len(text) <= maxText {
		return text
	}
	if runes := []rune(text); len(runes) > maxText {
		return string(runes[:maxText-1]) + "…"
	}
	return text
}
