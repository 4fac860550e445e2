package report

import (
	"cmp"
	"strings"

	"headway/store"
)

// maxPlaces limits the places counted for skipped URLs.
const maxPlaces = 20_000

// place is a part of a site, and why URLs in it were skipped.
type place struct {
	reason, at string
}

// skip counts a URL that was not fetched, by reason and place.
func (c *collector) skip(e *store.Entry) {
	p := place{string(e.Reason), e.Item.URL.Host() + firstFolder(e.Item.URL.PathQuery())}
	if _, ok := c.skipped[p]; !ok && len(c.skipped) >= maxPlaces {
		p.at = "elsewhere"
	}
	c.skipped[p]++
}

// firstFolder is the first part of a path.
func firstFolder(path string) string {
	path, _, _ = strings.Cut(path, "?")
	first, _, more := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if !more {
		return "/"
	}
	return "/" + first + "/"
}

// skips is the table of skipped URLs.
func (c *collector) skips() *Table {
	t := &Table{
		ID: "skipped", Title: "Skipped, by reason and place", About: "URLs that were not requested. headway why URL shows the rule for each.",
		Columns: []Column{{Name: "place"}, {Name: "reason", Word: true}, {Name: "URLs", Number: true}},
		less: func(a, b []any) int {
			return cmp.Or(cmp.Compare(b[2].(int64), a[2].(int64)), cmp.Compare(a[1].(string), b[1].(string)))
		},
		first: true,
	}
	for p, n := range c.skipped {
		t.Rows = append(t.Rows, []any{p.at, p.reason, n})
		t.URLs += n
	}
	t.Total = int64(len(t.Rows))
	return t
}
