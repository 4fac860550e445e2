package content

import (
	"bytes"

	"headway/internal/htmltoken"
)

// hint is what the name, class, id and role of an element say about its text.
type hint uint8

const (
	hintAside   hint = 1 << iota // beside the main text: navigation, sharing, related links
	hintComment                  // comments of readers
	hintMain                     // holds the main text
	hintCaption                  // caption or credit of an image
	hintByline                   // who wrote it and when
	hintArticle                  // article or main element
)

// hintWords are words in class, id and role attributes.
var hintWords = map[string]hint{}

func init() {
	for h, words := range map[hint][]string{
		hintAside: asideWords, hintComment: commentWords, hintMain: mainWords, hintCaption: captionWords, hintByline: bylineWords,
	} {
		for _, w := range words {
			hintWords[w] |= h
		}
	}
}

var (
	asideWords = []string{
		"ad", "ads", "advert", "advertisement", "advertisements", "advertising", "adsense", "adslot", "adbox", "adunit", "dfp",
		"banner", "breadcrumb", "breadcrumbs", "cookie", "cookies", "gdpr", "consent", "disclaimer", "donate", "donation",
		"footer", "foot", "hat", "menu", "menus", "modal", "nav", "navbar", "navigation", "navigator", "newsletter", "newsletters",
		"outbrain", "taboola", "pager", "pagination", "paging", "popup", "popular", "promo", "promos", "promotion", "promoted",
		"recommend", "recommended", "recommendation", "recommendations", "recirc", "related", "relatedposts", "rss",
		"share", "shares", "sharing", "sharedaddy", "sharebar", "sharethis", "addthis", "addtoany", "shoutbox", "sidebar", "sidebars", "skip",
		"social", "sociable", "sponsor", "sponsored", "sponsors", "subscribe", "subscription", "signup", "signin", "login", "register",
		"tags", "taglist", "tagcloud", "toolbar", "tools", "trending", "widget", "widgets", "rail", "supplemental", "topics",
		"hidden", "noprint", "printonly", "mostread", "mostpopular", "readmore", "morelinks", "also", "callout", "paywall", "complementary",
		"contentinfo", "search", "jumplink", "toc", "prevnext", "next", "previous", "follow", "followus", "feedback", "survey", "poll",
		"bookmark", "carousel", "slider", "teaser", "teasers", "upnext", "masthead", "copyright", "dropdown", "flyout", "overlay",
		"utility", "inlinead", "infobar", "bio", "aboutauthor", "authorbox", "authorbio", "optin", "cta", "print", "email",
	}
	commentWords = []string{"comment", "comments", "commentlist", "commentary", "disqus", "livefyre", "respond", "reply", "replies", "feedbacks", "discussion", "reviews"}
	mainWords    = []string{
		"article", "articlebody", "articletext", "body", "bodytext", "content", "contents", "entry", "entrycontent", "hentry", "main",
		"maincontent", "page", "post", "postcontent", "postbody", "story", "storybody", "storytext", "text", "blog", "column",
	}
	captionWords = []string{"caption", "captions", "credit", "credits", "figcaption", "wpcaption", "photocredit"}
	bylineWords  = []string{"byline", "author", "authors", "dateline", "pubdate", "published", "timestamp", "date", "meta", "metadata", "postmeta", "postinfo", "kicker", "eyebrow"}
)

// hints returns what the start tag says about its element.
func (s *scanner) hints(tag htmltoken.Tag) (h hint) {
	switch {
	case asideTags.Has(tag):
		h |= hintAside
	case tag == htmltoken.TagHeader && s.open[htmltoken.TagArticle]+s.open[htmltoken.TagMain] == 0: // of the page
		h |= hintAside
	case tag == htmltoken.TagFigcaption:
		h |= hintCaption
	case tag == htmltoken.TagArticle, tag == htmltoken.TagMain:
		h |= hintArticle
	case tag == htmltoken.TagBody, tag == htmltoken.TagHTML:
		return h
	}
	a := &s.z.Attrs
	for _, name := range [...]htmltoken.Attr{htmltoken.AttrClass, htmltoken.AttrID, htmltoken.AttrRole} {
		if a.Has(name) {
			h |= s.hintsAt(short(a.At(name)))
		}
	}
	if a.Has(htmltoken.AttrItemprop) && s.attributeIs(htmltoken.AttrItemprop, "articleBody") {
		h |= hintArticle | hintMain
	}
	return h
}

// knownHints are the hints of attribute values that were read, by a hash of them: on most
// pages few values occur often.
type knownHints [64]struct {
	at    span32
	hints hint
}

// hintsAt returns the hints of an attribute value.
func (s *scanner) hintsAt(at span32) hint {
	value := s.src[at.start:at.end]
	n := len(value)
	if n == 0 {
		return 0
	}
	known := &s.known[(n+int(value[0])*5+int(value[n/2])*3+int(value[n-1]))%len(s.known)]
	if !bytes.Equal(s.src[known.at.start:known.at.end], value) {
		known.at, known.hints = at, hintsOf(value)
	}
	return known.hints
}

// hintsOf reads the words of an attribute. A word ends at anything but a letter, and
// before a capital after a small letter.
func hintsOf(value []byte) (h hint) {
	var word [maxHintWord]byte
	value = value[:min(len(value), maxHintValue)]
	n, small := 0, false
	for i := 0; ; i++ {
		var c byte
		if i < len(value) {
			c = value[i]
		}
		isCapital := 'A' <= c && c <= 'Z'
		isLetter := 'a' <= c && c <= 'z' || isCapital
		if !isLetter || isCapital && small {
			if 1 < n && n <= len(word) {
				h |= hintWords[string(word[:n])]
			}
			n = 0
			if i >= len(value) {
				return h
			}
		}
		if isLetter {
			if n < len(word) {
				word[n] = c | 0x20
			}
			n++
		}
		small = isLetter && !isCapital
	}
}
