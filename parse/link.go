package parse

import (
	"strings"

	"headway/internal/htmltoken"
	"headway/weburl"
)

// Link is a resolved reference to another URL.
type Link struct {
	URL  weburl.URL
	Rel  Rel
	Kind Kind
}

// Kind says where a link was found.
type Kind uint8

// The kinds of links.
const (
	Anchor  Kind = iota + 1 // <a href>
	Area                    // <area href>
	Frame                   // <iframe src>, <frame src>
	Element                 // <link href>
	Field                   // the Link header field
	Refresh                 // <meta http-equiv=refresh>, or the Refresh header field
	Image                   // <img src>, and srcset of <img> and <source>
)

var kindNames = [...]string{
	Anchor: "a", Area: "area", Frame: "frame", Element: "link", Field: "header", Refresh: "refresh", Image: "image",
}

// String returns the kind in one lower-case word.
func (k Kind) String() string {
	if int(k) >= len(kindNames) {
		return ""
	}
	return kindNames[k]
}

// Rel is a set of the link relations a crawler acts on; see the rel attribute
// in the HTML Standard.
type Rel uint16

// The relations, as bits.
const (
	RelNofollow   Rel = 1 << iota // the author does not vouch for the target
	RelUGC                        // written by users, not by the author
	RelSponsored                  // paid for
	RelExternal                   // not part of the same site, says the author
	RelCanonical                  // the preferred URL of this page
	RelAlternate                  // this page in another language or form
	RelFeed                       // an alternate of type RSS or Atom
	RelNext                       // the following page of a series
	RelPrev                       // the previous page of a series
	RelSeries                     // first, last or up in a series
	RelAMP                        // the same page in AMP
	RelStylesheet                 // a style sheet
	RelIcon                       // an icon
	RelPreload                    // needed soon by this page
	RelHint                       // names a host to connect to, not something to fetch
)

var relNames = [...]string{
	"nofollow", "ugc", "sponsored", "external", "canonical", "alternate", "feed", "next", "prev", "series", "amphtml",
	"stylesheet", "icon", "preload", "preconnect",
}

// pageRels are the relations of <link> and of the Link header that lead to pages; the
// others lead to resources.
const pageRels = RelCanonical | RelAlternate | RelNext | RelPrev | RelSeries | RelAMP

// Has reports whether all relations in other are in r.
func (r Rel) Has(other Rel) bool { return r&other == other }

// String returns the relations as in a rel attribute, separated by spaces.
func (r Rel) String() string {
	var names []string
	for i, name := range relNames {
		if r>>i&1 != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, " ")
}

// maxRelWord is longer than every known relation.
const maxRelWord = 16

// relOf reads a rel attribute; unknown words are ignored.
func relOf(value []byte) Rel {
	var r Rel
	for len(value) > 0 {
		n := 0
		for n < len(value) && !htmltoken.IsSpace(value[n]) {
			n++
		}
		r |= relOfWord(value[:n])
		value = value[min(n+1, len(value)):]
	}
	return r
}

func relOfWord(word []byte) Rel {
	var lower [maxRelWord]byte
	if len(word) > len(lower) {
		return 0
	}
	for i, c := range word {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		lower[i] = c
	}
	switch string(lower[:len(word)]) {
	case "nofollow":
		return RelNofollow
	case "ugc":
		return RelUGC
	case "sponsored":
		return RelSponsored
	case "external":
		return RelExternal
	case "canonical":
		return RelCanonical
	case "alternate":
		return RelAlternate
	case "next":
		return RelNext
	case "prev", "previous":
		return RelPrev
	case "first", "last", "up":
		return RelSeries
	case "amphtml":
		return RelAMP
	case "stylesheet":
		return RelStylesheet
	case "icon", "apple-touch-icon", "mask-icon":
		return RelIcon
	case "preload", "modulepreload":
		return RelPreload
	case "preconnect", "dns-prefetch":
		return RelHint
	}
	return 0
}
