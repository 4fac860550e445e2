package report

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"headway/internal/humanize"
	"headway/store"
	"headway/visit"
)

// Limits of the search for content shared by several pages.
const (
	maxHashes   = 4_000_000 // texts, and titles: eight bytes each
	maxExamples = 5         // pages listed after the first
)

// repeats finds texts that occur more than once, with eight bytes per distinct text. Texts
// with the same hash are not distinguished; among millions that is rare.
type repeats struct {
	hashes []uint64
	more   bool // there were more than maxHashes
	found  []repeat
}

// repeat is a text that occurs several times.
type repeat struct {
	hash uint64
	n    int64
}

// add counts a text.
func (r *repeats) add(text string) {
	if len(r.hashes) >= maxHashes {
		r.more = true
		return
	}
	r.hashes = append(r.hashes, xxh3.HashString(text))
}

// settle drops what occurs once.
func (r *repeats) settle() {
	slices.Sort(r.hashes)
	for i := 0; i < len(r.hashes); {
		next := i + 1
		for next < len(r.hashes) && r.hashes[next] == r.hashes[i] {
			next++
		}
		if next-i > 1 {
			r.found = append(r.found, repeat{r.hashes[i], int64(next - i)})
		}
		i = next
	}
	r.hashes = nil
}

// of returns how often a text occurs; 0 if once.
func (r *repeats) of(text string) (hash uint64, n int64) {
	hash = xxh3.HashString(text)
	if i, ok := slices.BinarySearchFunc(r.found, hash, func(x repeat, h uint64) int { return cmp.Compare(x.hash, h) }); ok {
		return hash, r.found[i].n
	}
	return hash, 0
}

// repeated reads the URLs again if several share a text or title: it fills the table of
// duplicate texts, and adds to that of titles.
func (c *collector) repeated(ctx context.Context) (*Table, error) {
	t := &Table{
		ID: "duplicates", Title: "Duplicate content", About: "Pages with exactly the same visible text.",
		Columns: []Column{{Name: "first page", Link: true}, {Name: "pages", Number: true}, {Name: "others", Link: true}},
		less:    func(a, b []any) int { return cmp.Compare(b[1].(int64), a[1].(int64)) }, first: true,
	}
	compared := " Only the first " + humanize.Count(maxHashes) + " pages were compared."
	if c.texts.more {
		t.About += compared
	}
	if c.named.more {
		c.titles.About += compared
	}
	c.texts.settle()
	c.named.settle()
	if len(c.texts.found) == 0 && len(c.named.found) == 0 {
		return t, nil
	}
	groups := c.largest()
	err := c.readURLs(ctx, func(e *store.Entry) {
		v := e.Visit
		if v == nil || e.Outcome != visit.Fetched && e.Outcome != visit.NotModified {
			return
		}
		u := visit.Redact(e.Item.URL)
		if h, n := c.texts.of(v.Page.Digest); n > 0 && v.Page.Digest != "" {
			if row, ok := groups[h]; ok {
				groups[h] = row.with(u, n)
			}
		}
		title := strings.TrimSpace(v.Page.Title)
		if _, n := c.named.of(title); n > 0 && title != "" && strings.HasPrefix(v.Answer.ContentType, "text/html") {
			c.keep(c.titles, u, fmt.Sprintf("on %s pages", humanize.Count(n)), title)
		}
	})
	t.Total = int64(len(c.texts.found))
	for _, row := range groups {
		if row != nil {
			t.Rows = append(t.Rows, row)
		}
	}
	return t, err
}

// group is a row of the table of duplicates.
type group []any

// with adds a page to a group.
func (g group) with(u string, n int64) group {
	if g == nil {
		return group{u, n, []string{}}
	}
	if others := g[2].([]string); len(others) < maxExamples {
		g[2] = append(others, u)
	}
	return g
}

// largest are the groups that are shown: those with the most pages.
func (c *collector) largest() map[uint64]group {
	list := slices.Clone(c.texts.found)
	slices.SortFunc(list, func(a, b repeat) int { return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.hash, b.hash)) })
	groups := map[uint64]group{}
	for _, r := range list[:min(len(list), maxRows)] {
		groups[r.hash] = nil
	}
	return groups
}
