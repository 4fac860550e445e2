package store

import (
	"fmt"

	"headway/job"
	"headway/visit"
	"headway/weburl"
)

// InlinkQuery selects links to a URL.
type InlinkQuery struct {
	Job   job.ID
	URL   weburl.URL
	After Cursor // the Next of the previous page
	Max   int    // at most MaxPage
}

// Inlink is a link to a URL.
type Inlink struct {
	Page     weburl.URL // the page with the link
	Position int        // of the link among those of the page, from 0
	Link     visit.Link
}

// InlinkPage is one page of links to a URL: the links of a page in order, pages in an order
// that does not change.
type InlinkPage struct {
	Links []Inlink
	Next  Cursor // empty after the last page
}

// Place returns where an engine continues: the number of a page, and the position of a link
// there.
func (q *InlinkQuery) Place() (page int64, position int, err error) {
	if q.After == "" {
		return 0, 0, nil
	}
	if _, err := fmt.Sscanf(string(q.After), "%d %d", &page, &position); err != nil || page < 0 || position < 0 {
		return 0, 0, fmt.Errorf("cursor %q does not belong to this list", q.After)
	}
	return page, position, nil
}

// InlinkCursor is the reverse of [InlinkQuery.Place].
func InlinkCursor(page int64, position int) Cursor {
	return Cursor(fmt.Sprintf("%d %d", page, position))
}
