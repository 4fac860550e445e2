package visit

import (
	"fmt"

	"headway/weburl"
)

// MaxLinks is the maximum number of links of one page, and MaxLinkBytes the maximum size in
// bytes of those that are kept.
const (
	MaxLinks     = 20_000
	MaxLinkBytes = 2 << 20
)

// Link is a URL found on a page.
type Link struct {
	URL      weburl.URL `json:"url"`
	Kind     string     `json:"kind"` // the element or header that contained it
	Nofollow bool       `json:"nofollow,omitempty"`
	Rel      string     `json:"rel,omitempty"`    // the rel attribute, only if the crawl keeps links
	Anchor   string     `json:"anchor,omitempty"` // the text of the link, only if the crawl keeps links
}

// size is what a link counts towards MaxLinkBytes.
func (l *Link) size() int {
	const fixed = 8 // kind, nofollow and lengths
	return fixed + len(l.URL.String()) + len(l.Rel) + len(l.Anchor)
}

// KeptLinks says which links of a page are kept.
type KeptLinks struct {
	Count int  `json:"count"`         // the first of them
	Cut   bool `json:"cut,omitempty"` // the page has more
}

// Keep returns what to keep of the links of a page: as many as fit into MaxLinks and
// MaxLinkBytes. more says that the page has links that are not in the list.
func Keep(links []Link, more bool) *KeptLinks {
	k := &KeptLinks{Cut: more}
	size := 0
	for i := range links {
		if size += links[i].size(); size > MaxLinkBytes || i == MaxLinks {
			k.Cut = true
			break
		}
		k.Count++
	}
	return k
}

// Kept returns the links to keep; nil if the crawl does not keep links, and for a visit that
// was read without them.
func (v *Visit) Kept() []Link {
	if v.Page.Links == nil {
		return nil
	}
	return v.Links[:min(v.Page.Links.Count, len(v.Links))]
}

// BulkSize is the size in bytes of what is stored beside the visit: the texts of its page and
// the links that are kept.
func (v *Visit) BulkSize() int {
	size := v.Page.Content.Size()
	links := v.Kept()
	for i := range links {
		size += links[i].size()
	}
	return size
}

// CheckLinks reports links that cannot be kept.
func (v *Visit) CheckLinks() error {
	k := v.Page.Links
	if k == nil {
		return nil
	}
	if k.Count < 0 || k.Count > len(v.Links) {
		return fmt.Errorf("visit %s: %d links to keep of %d", v.Item.URL, k.Count, len(v.Links))
	}
	if most := Keep(v.Links[:k.Count], false); most.Cut {
		return fmt.Errorf("visit %s: %d links, at most %d with %d bytes", v.Item.URL, k.Count, MaxLinks, MaxLinkBytes)
	}
	return nil
}
