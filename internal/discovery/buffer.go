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

// compact returns the first n links. If they are less than half of a slice, they are copied, and
// the slice is reused.
func compact(links []Link, n int) []Link {
	if n > cap(links)/2 || cap(links) < minLinks {
		clear(links[n:])
		return links[:n]
	}
	kept := append([]Link(nil), links[:n]...)
	if cap(links) <= maxLinks {
		clear(links)
		links = links[:0]
		buffers.Put(&links)
	}
	return kept
}

// indexes are maps from a URL to its index among the links of a page.
var indexes = sync.Pool{New: func() any { return make(map[weburl.URL]int, minLinks) }}

func releaseIndex(m map[weburl.URL]int) {
	if len(m) <= maxLinks {
		clear(m)
		indexes.Put(m)
	}
}
