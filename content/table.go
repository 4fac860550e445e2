package content

import (
	"bytes"
	"strings"

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

// table returns a table as Markdown: the first row is the header.
func (w *markdown) table(table int32) []byte {
	var rows [][]string
	var caption []byte
	b := w.nodes[table].first
	columns := 0
	for i := table + 1; i <= w.nodes[table].last; i++ {
		n := &w.nodes[i]
		switch {
		case n.tag == htmltoken.TagTr:
			rows = append(rows, nil)
		case n.tag == htmltoken.TagCaption:
			for ; b < n.end; b++ {
				caption = append(caption, w.block(&w.blocks[b], true, false)...)
			}
		case cellTags.Has(n.tag):
			if len(rows) == 0 {
				rows = append(rows, nil)
			}
			var cell []string
			for b = max(b, n.first); b < n.end; b++ {
				if text := w.block(&w.blocks[b], false, true); len(text) > 0 {
					cell = append(cell, string(text))
				}
			}
			last := len(rows) - 1
			rows[last] = append(rows[last], strings.Join(cell, "<br>"))
			columns = max(columns, len(rows[last]))
		}
	}
	var out bytes.Buffer
	if len(caption) > 0 {
		out.Write(caption)
		out.WriteString("\n\n")
	}
	header := true
	for _, row := range rows {
		if len(row) == 0 {
			continue
		}
		for i := range columns {
			cell := ""
			if i < len(row) {
				cell = row[i]
			}
			out.WriteString("| " + cell + " ")
		}
		out.WriteString("|\n")
		if header {
			header = false
			out.WriteString(strings.Repeat("| --- ", columns) + "|\n")
		}
	}
	return bytes.TrimRight(out.Bytes(), "\n")
}
