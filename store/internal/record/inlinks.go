package record

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// The index of links to a URL: a commit adds one row to each of a few buckets, with the
// targets of its links and the numbers of the pages. A bucket is a part of the targets, so
// that a search reads a part of the index. Rows are only added: a page that was found must
// still be checked, as it may have changed since.

// Buckets is the number of buckets.
const Buckets = 16

// Target is the number of a target. Others may have the same.
type Target uint32

// TargetOf returns the number of a target.
func TargetOf(u weburl.URL, k weburl.Key) Target { return Target(u.Fingerprint(k)) }

// Bucket is the bucket with the target.
func (t Target) Bucket() int { return int(t >> 28) }

// pair says that a page links to a target.
type pair struct {
	target Target
	page   int64
}

// Inlinks collects the links of a commit for the index.
type Inlinks [Buckets][]pair

// Add adds the links of a page.
func (x *Inlinks) Add(page int64, links []visit.Link, k weburl.Key) {
	for i := range links {
		t := TargetOf(links[i].URL, k)
		x[t.Bucket()] = append(x[t.Bucket()], pair{t, page})
	}
}

// Row encodes the row for a bucket; nil if it has none.
func (x *Inlinks) Row(bucket int) []byte {
	pairs := x[bucket]
	if len(pairs) == 0 {
		return nil
	}
	slices.SortFunc(pairs, func(a, b pair) int { return cmp.Or(cmp.Compare(a.target, b.target), cmp.Compare(a.page, b.page)) })
	pairs = slices.Compact(pairs)
	first := slices.MinFunc(pairs, func(a, b pair) int { return cmp.Compare(a.page, b.page) }).page
	row := binary.AppendVarint(make([]byte, 0, binary.MaxVarintLen64+6*len(pairs)), first)
	last := Target(0)
	for _, p := range pairs {
		row = binary.AppendUvarint(binary.AppendUvarint(row, uint64(p.target-last)), uint64(p.page-first))
		last = p.target
	}
	return row
}

// Search finds the links to a URL. An engine reads the rows of the target's bucket, then the
// candidates, as long as Next reports that there is more to do.
type Search struct {
	Target Target
	Page   store.InlinkPage

	url      weburl.URL
	most     int
	from     int64 // the first page to look at,
	position int   // and its first link
	pages    []int64
	more     bool // candidates were left out
	begun    bool
}

// minCandidates is how many pages are checked in one round, at least.
const minCandidates = 64

// NewSearch returns the search for a query.
func NewSearch(q store.InlinkQuery, k weburl.Key) (*Search, error) {
	s := &Search{Target: TargetOf(q.URL, k), url: q.URL, most: min(max(q.Max, 1), store.MaxPage)}
	var err error
	s.from, s.position, err = q.Place()
	return s, err
}

// Next begins a round, if there is something to do.
func (s *Search) Next() bool {
	if s.begun && (!s.more || s.Page.Next != "") {
		return false
	}
	if n := len(s.pages); n > 0 {
		s.from, s.position = s.pages[n-1]+1, 0
	}
	s.begun, s.more, s.pages = true, false, s.pages[:0]
	return true
}

// Read reads a row of the index.
func (s *Search) Read(row []byte) error {
	first, n := binary.Varint(row)
	if n <= 0 {
		return fmt.Errorf("index of links: %w", store.ErrCorrupt)
	}
	row = row[n:]
	for t := Target(0); len(row) > 0 && t <= s.Target; {
		delta, n := binary.Uvarint(row)
		page, m := binary.Uvarint(row[max(n, 0):])
		if n <= 0 || m <= 0 {
			return fmt.Errorf("index of links: %w", store.ErrCorrupt)
		}
		row = row[n+m:]
		if t += Target(delta); t == s.Target {
			s.add(first + int64(page))
		}
	}
	return nil
}

// add adds a candidate. Only the first ones are kept, as many as fit into the page.
func (s *Search) add(page int64) {
	if page < s.from {
		return
	}
	if s.pages = append(s.pages, page); len(s.pages) > 2*max(s.most, minCandidates) {
		s.trim()
	}
}

func (s *Search) trim() {
	slices.Sort(s.pages)
	s.pages = slices.Compact(s.pages)
	if most := max(s.most, minCandidates); len(s.pages) > most {
		s.pages, s.more = s.pages[:most], true
	}
}

// Candidates returns the pages that may have links to the URL, by number.
func (s *Search) Candidates() []int64 {
	s.trim()
	return s.pages
}

// Check adds the links of a candidate to the page, and reports whether it is full.
func (s *Search) Check(page int64, raw string, links []byte) (full bool, err error) {
	u, err := weburl.Parse(raw)
	if err != nil {
		return false, fmt.Errorf("stored URL: %w: %w", store.ErrCorrupt, err)
	}
	from := 0
	if page == s.from {
		from = s.position
	}
	err = LinksTo(links, u, s.url, from, func(position int, l visit.Link) {
		switch {
		case len(s.Page.Links) < s.most:
			s.Page.Links = append(s.Page.Links, store.Inlink{Page: u, Position: position, Link: l})
		case s.Page.Next == "":
			s.Page.Next = store.InlinkCursor(page, position)
		}
	})
	return s.Page.Next != "", err
}
