package lab

import "strconv"

// anchors are the links of one page, ready to be copied between filler blocks.
type anchors struct {
	buf  []byte
	ends []int
}

// add writes one anchor whose href is the joined parts.
func (a *anchors) add(word, attr string, href ...string) {
	a.buf = append(a.buf, "<a href=\""...)
	for _, h := range href {
		a.buf = append(a.buf, h...)
	}
	a.buf = append(a.buf, '"')
	a.buf = append(a.buf, attr...)
	a.buf = append(a.buf, '>')
	a.buf = append(a.buf, word...)
	a.buf = append(a.buf, "</a>\n"...)
	a.ends = append(a.ends, len(a.buf))
}

// slice returns the anchors from first up to, not including, last.
func (a *anchors) slice(first, last int) []byte {
	from, to := 0, 0
	if first > 0 {
		from = a.ends[first-1]
	}
	if last > 0 {
		to = a.ends[last-1]
	}
	return a.buf[from:to]
}

const nofollow = " rel=\"nofollow ugc\""

var queryForms = [...]string{"?a=1&amp;b=2", "?b=2&amp;a=1", "?utm_source=farm&amp;utm_medium=x"}

var sectionNames = [...]string{"#sec-1", "#sec-2", "#top", "#", "#notes"}

// writeLinks writes the anchors of a page. Every page below Site.Pages is reachable from
// page 0 through the first ones.
func (w *web) writeLinks(a *anchors, r *rng, h *vhost, n int) {
	a.buf, a.ends = a.buf[:0], a.ends[:0]
	s := h.site
	word := func() string { return words[r.intn(len(words))] }
	page := func() string { return w.paths[r.intn(s.Pages)] }

	for k := n*fanout + 1; k <= n*fanout+fanout && k < s.Pages; k++ {
		a.add(word(), " class=\"child\"", s.hop(r), w.paths[k])
	}
	if n == 0 { // the front pages form a tree over the hosts
		for k := h.index*fanout + 1; k <= h.index*fanout+fanout && k < len(w.hosts); k++ {
			a.add(word(), "", w.hosts[k].base, "/")
		}
		addExhibits(a, s)
	}
	if n < s.DeadLinks {
		a.add("gone", "", w.deadLink(h, n))
	}
	addTraps(a, s.Traps)
	for range s.PrivateLinks {
		a.add(word(), "", "/private", page())
	}
	for range s.NofollowLinks {
		a.add(word(), nofollow, "/nf", page())
	}
	for range s.CrossLinks {
		if len(w.hosts) > 1 {
			text := word()
			to := &w.hosts[r.intn(len(w.hosts))]
			a.add(text, " rel=\"external\"", to.base, w.paths[r.intn(to.site.Pages)])
		}
	}
	for i := range s.QueryLinks {
		a.add(word(), "", page(), queryForms[i%len(queryForms)])
	}
	for len(a.ends) < s.Links {
		p := page()
		switch r.intn(8) {
		case 0:
			a.add(word(), "", p, sectionNames[r.intn(len(sectionNames))])
		case 1: // relative to a section directory, or to the root
			if n == 0 {
				a.add(word(), "", "./", p[1:])
			} else {
				a.add(word(), "", "../", p[1:])
			}
		case 2:
			a.add(word(), "", h.base, p)
		case 3: // the same link twice
			a.add(word(), "", p)
			a.add(word(), " class='again'", p)
		default:
			a.add(word(), "", s.hop(r), p)
		}
	}
}

// deadLink is the link of page n to a missing page.
func (w *web) deadLink(h *vhost, n int) string {
	path := gonePrefix + "h" + strconv.Itoa(h.index) + "-" + strconv.Itoa(n) + ".html"
	if n%2 == 0 || len(w.hosts) == 1 {
		return path
	}
	return w.hosts[(h.index+1+n/2%(len(w.hosts)-1))%len(w.hosts)].base + path
}

// gonePrefix is the prefix of pages that no longer exist.
const gonePrefix = "/gone/"

// hop is the prefix of a link that goes through a redirect, or "".
func (s *Site) hop(r *rng) string {
	if s.RedirectRate > 0 && r.float() < s.RedirectRate {
		return "/go"
	}
	return ""
}
