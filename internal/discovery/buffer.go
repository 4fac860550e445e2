package discovery

import (
	"slices"
	"sync"

	"headway/weburl"
)

// Most links of a page are known, and there are dozens: their slices are reused.
const (
	minLinks = 64
	maxLinks = 1024 // no buffer of more is kept
)

var buffers sync.Pool // of *[]Link

// newLinks returns an empty slice for that many links.
func newLinks(n int) []Link {
	if b, ok := buffers.Get().(*[]Link); ok {
		return slices.Grow(*b, n)
	}
	return make([]Link, 0, max(n, minLinks))
}

// keep returns the first n links in a slice of about their size, and reuses the slice of all.
func keep(links []Link, n int) []Link {
	size := cap(links)
	if n > size/2 || size < minLinks || size > maxLinks {
		clear(links[n:])
		return links[:n]
	}
	kept := append([]Link(nil), links[:n]...)
	clear(links)
	links = links[:0]
	buffers.Put(&links)
	return kept
}

// places are maps to the place of a URL among the links of a page.
var places = sync.Pool{New: func() any { return make(map[weburl.URL]int, minLinks) }}

func releasePlaces(m map[weburl.URL]int) {
	if len(m) <= maxLinks {
		clear(m)
		places.Put(m)
	}
}
