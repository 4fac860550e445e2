package fetchpool

import (
	"slices"
	"sync"

	"headway/output"
	"headway/visit"
)

// ReadLinks reports whether outputs may read the links of visits.
func ReadLinks(outputs []output.Writer) bool {
	return slices.ContainsFunc(outputs, func(w output.Writer) bool {
		_, declares := w.(output.LinkReader)
		_, pages := w.(output.PageWriter) // may read the visit later
		return !declares || pages || output.ReadsLinks(w)
	})
}

var linkBuffers = sync.Pool{New: func() any { return new([]visit.Link) }}

// maxLinkBuffer is the length above which the links of a page are not kept for another one.
const maxLinkBuffer = 1024

// borrowLinks gives a visit memory for its links, which nobody reads later. The returned
// function takes them away, unless they are those that an earlier crawl kept.
func borrowLinks(v *visit.Visit) (release func()) {
	buffer := linkBuffers.Get().(*[]visit.Link)
	v.Links = *buffer
	return func() {
		if v.Page.Links != nil {
			return
		}
		links := *buffer
		if cap(v.Links) > cap(links) {
			links = v.Links
		}
		v.Links = nil
		if cap(links) <= maxLinkBuffer {
			clear(links[:cap(links)])
			*buffer = links[:0]
			linkBuffers.Put(buffer)
		}
	}
}
