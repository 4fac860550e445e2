package check

import (
	"slices"

	"headway/store"
	"headway/visit"
)

// maxPages is how many pages that carry a link are named; the others are counted.
const maxPages = 100

// Source is what leads to a link.
type Source struct {
	Pages     []string // that carry it, sorted, at most maxPages
	More      int      // others
	Redirects []string // that led from those links to it, if any
	Gone      bool     // nothing known leads to it any more
}

// sources finds what leads to links.
type sources struct {
	known     map[uint64]int      // pages that have a line
	redirects map[string][]string // by target
	pages     map[string][]string // by link, of those wanted
	count     map[string]int
	lookup    func(url string) *store.Entry // nil for one that is not there
}

// readSources reads from a log what leads to the links of entries.
func readSources(path string, entries []*store.Entry, lookup func(url string) *store.Entry) (*sources, error) {
	last, err := latest(path)
	if err != nil {
		return nil, err
	}
	s := &sources{known: last, redirects: map[string][]string{}, pages: map[string][]string{}, count: map[string]int{}, lookup: lookup}
	current := func(do func(x *line)) error {
		return eachLine(path, func(n int, x *line) error {
			if last[hash(x.Page)] == n {
				do(x)
			}
			return nil
		})
	}
	err = current(func(x *line) {
		if x.Redirect && len(x.Links) == 1 {
			s.redirects[x.Links[0]] = append(s.redirects[x.Links[0]], x.Page)
		}
	})
	if err != nil {
		return nil, err
	}
	want := map[string]bool{}
	for _, e := range entries {
		u := e.Item.URL.String()
		for _, at := range append(s.chain(u), u) {
			want[at] = true
		}
	}
	err = current(func(x *line) {
		if x.Redirect {
			return
		}
		for _, u := range x.Links {
			if want[u] {
				s.count[u]++
				if len(s.pages[u]) < maxPages {
					s.pages[u] = append(s.pages[u], x.Page)
				}
			}
		}
	})
	return s, err
}

// chain lists the redirects that lead to a URL, however many there are in a row.
func (s *sources) chain(u string) []string {
	var list []string
	seen := map[string]bool{u: true}
	for next := []string{u}; len(next) > 0; {
		from := s.redirects[next[0]]
		next = next[1:]
		for _, f := range from {
			if !seen[f] {
				seen[f] = true
				list = append(list, f)
				next = append(next, f)
			}
		}
	}
	return list
}

// of returns what leads to the URL of an entry.
func (s *sources) of(e *store.Entry) Source {
	u := e.Item.URL.String()
	src := Source{Redirects: s.chain(u)}
	for _, at := range append([]string{u}, src.Redirects...) {
		src.Pages = append(src.Pages, s.pages[at]...)
		src.More += s.count[at] - len(s.pages[at])
	}
	slices.Sort(src.Pages)
	src.Pages = slices.Compact(src.Pages)
	if over := len(src.Pages) - maxPages; over > 0 {
		src.Pages, src.More = src.Pages[:maxPages], src.More+over
	}
	if len(src.Pages) > 0 {
		return src
	}
	// Nothing in the log: use the page or redirect that named the URL first, unless
	// that page was read since and no longer links to it.
	src.Gone = true
	for _, first := range append([]*store.Entry{e}, s.entries(src.Redirects)...) {
		via := first.Item.Via.String()
		switch _, read := s.known[hash(via)]; {
		case first.Item.Found == visit.FoundSeed || first.Item.Via.IsZero():
			src.Gone = false
		case first.Item.Found == visit.FoundSitemap || !read:
			src.Gone = false
			src.Pages = append(src.Pages, via)
		}
	}
	return src
}

// entries looks URLs up; those that the job does not have are left out.
func (s *sources) entries(urls []string) []*store.Entry {
	var list []*store.Entry
	for _, raw := range urls {
		if e := s.lookup(raw); e != nil {
			list = append(list, e)
		}
	}
	return list
}
