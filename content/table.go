package content

import (
	"bytes"

	"headway/internal/htmltoken"
)

// dataTable returns the table around a node, if it is one with rows and columns of short
// texts; 0 for none. Tables for layout are read as if they were not there.
func (s *scanner) dataTable(n int32) int32 {
	table := s.around(n, &tableTag)
	if table <= s.main {
		return 0
	}
	t := &s.nodes[table]
	if t.table == tableUnknown {
		t.table = tableLayout
		if s.isData(table) {
			t.table = tableData
		}
	}
	if t.table == tableLayout {
		return 0
	}
	return table
}

// isData reports whether a table has several columns and no blocks in its cells.
func (s *scanner) isData(table int32) bool {
	columns, most, rows := 0, 0, 0
	for i := table + 1; i <= s.nodes[table].last; i++ {
		switch tag := s.nodes[i].tag; {
		case tag == htmltoken.TagTr:
			columns = 0
			rows++
		case cellTags.Has(tag):
			columns++
			most = max(most, columns)
		case layoutTags.Has(tag):
			return false
		}
	}
	return most > 1 && rows > 0 && s.around(s.nodes[table].parent, &tableTag) <= s.main
}

// table is the text of a table as it is read. A row ends where the next one begins.
type table struct {
	text []byte
	ends []int // of the cells in text
	rows []int // the number of cells before each row
	out  []byte
}

// table returns a table as Markdown: the first row is the header.
func (w *markdown) table(at int32) []byte {
	t := &w.cells
	t.text, t.ends, t.rows, t.out = t.text[:0], t.ends[:0], t.rows[:0], t.out[:0]
	b := w.nodes[at].first
	for i := at + 1; i <= w.nodes[at].last; i++ {
		n := &w.nodes[i]
		switch {
		case n.tag == htmltoken.TagTr:
			t.rows = append(t.rows, len(t.ends))
		case n.tag == htmltoken.TagCaption:
			for ; b < n.end; b++ {
				t.out = append(t.out, w.block(&w.blocks[b], true, false)...)
			}
		case cellTags.Has(n.tag):
			if len(t.rows) == 0 {
				t.rows = append(t.rows, 0)
			}
			start := len(t.text)
			for b = max(b, n.first); b < n.end; b++ {
				text := w.block(&w.blocks[b], false, true)
				if len(text) > 0 && len(t.text) > start {
					t.text = append(t.text, "<br>"...)
				}
				t.text = append(t.text, text...)
			}
			t.ends = append(t.ends, len(t.text))
		}
	}
	if len(t.out) > 0 {
		t.out = append(t.out, "\n\n"...)
	}
	t.write()
	return bytes.TrimRight(t.out, "\n")
}

// write writes the rows that have cells.
func (t *table) write() {
	t.rows = append(t.rows, len(t.ends))
	columns := 0
	for i := range t.rows[1:] {
		columns = max(columns, t.rows[i+1]-t.rows[i])
	}
	start, header := 0, true
	for i, next := range t.rows[1:] {
		cells := t.ends[t.rows[i]:next]
		if len(cells) == 0 {
			continue
		}
		for j := range columns {
			t.out = append(t.out, "| "...)
			if j < len(cells) {
				t.out = append(t.out, t.text[start:cells[j]]...)
				start = cells[j]
			}
			t.out = append(t.out, ' ')
		}
		t.out = append(t.out, "|\n"...)
		if header {
			header = false
			for range columns {
				t.out = append(t.out, "| --- "...)
			}
			t.out = append(t.out, "|\n"...)
		}
	}
}
