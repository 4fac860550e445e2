// Package discovery turns links of pages and sitemaps into URLs to be stored, in scope or
// skipped with a reason. Workers decide what needs no state; the loop drops known URLs and
// applies limits and trap detection.
package discovery

import (
	"headway/frontier"
	"headway/job"
	"headway/parse"
	"headway/scope"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// Link is a URL that was found, with the decisions that need no state.
type Link struct {
	store.Found
	Mark weburl.Fingerprint128 // its key in the cache of stored URLs
	Leaf bool                  // requested once, its links not followed
}

// Rules are the scope rules of a job.
type Rules struct {
	Scope    *scope.Rules
	OptedOut func(weburl.URL) bool // hosts on the opt-out list
	Closed   bool                  // links of pages are not followed, redirects are
	Key      weburl.Key            // of fingerprints
}

// Marks are keys in the cache of stored URLs. A URL that waits or has ended for good is
// known by its fingerprint. One that was provisionally skipped, or is out of scope, has a
// mark of its own, because another link may still admit it.
const (
	markProvisional byte = 0x55
	markAside       byte = 0xaa
	markSitemaps    byte = 0x33 // of a host's home page: its sitemaps were requested
)

// Mark is the key of a found URL in the cache. A URL out of scope counts once for each slot
// it was found in.
func (r *Rules) Mark(f *store.Found, finder store.Slot) weburl.Fingerprint128 {
	m := frontier.Mark(f.Item.Job, f.Item.URL.Fingerprint128(r.Key))
	switch {
	case f.Aside():
		m[15] ^= markAside
		m[14] ^= byte(finder)
		m[13] ^= byte(finder >> 8)
	case f.Outcome == visit.Skipped && f.Reason.Provisional():
		m[15] ^= markProvisional
	}
	return m
}

// SitemapsMark is the key for the sitemaps of a host, which are requested once.
func (r *Rules) SitemapsMark(id job.ID, home weburl.URL) weburl.Fingerprint128 {
	m := frontier.Mark(id, home.Fingerprint128(r.Key))
	m[15] ^= markSitemaps
	return m
}

// Links turns the links of a page into URLs to be stored, each once. A redirect has one
// link, its target. The slice is for [LinkFilter.Apply].
func (r *Rules) Links(v *visit.Visit) []Link {
	if len(v.Links) == 0 {
		return nil
	}
	finder := store.SlotOf(r.Key, v.Item.URL.Domain())
	if v.Outcome == visit.Redirected {
		item, ok := v.Item.Follow(v.Answer.Location, r.Key)
		if !ok {
			return nil
		}
		return []Link{r.redirect(item, finder)}
	}
	if r.Closed {
		return nil
	}
	links := newLinks(len(v.Links))
	known := indexes.Get().(map[weburl.URL]int)
	defer releaseIndex(known)
	for i := range v.Links {
		l := &v.Links[i]
		if at, ok := known[l.URL]; ok {
			// Of two links to a page, one without nofollow wins.
			if f := &links[at].Found; !l.Nofollow && f.Reason == visit.Nofollow {
				links[at] = r.judge(f.Item, false, finder)
			}
			continue
		}
		known[l.URL] = len(links)
		item := visit.Item{Job: v.Item.Job, URL: l.URL, Via: v.Item.URL, Found: visit.FoundLink, Depth: v.Item.Depth + 1}
		links = append(links, r.judge(item, l.Nofollow, finder))
	}
	return links
}

// priorityScale converts a sitemap's priority.
const priorityScale = 10

// Entry decides about an entry of a sitemap. Its depth is 1.
func (r *Rules) Entry(id job.ID, sitemap weburl.URL, e parse.Entry, finder store.Slot) Link {
	return r.judge(visit.Item{
		Job: id, URL: e.URL.Clone(), Via: sitemap, Found: visit.FoundSitemap, Depth: 1, Priority: int(e.Priority * priorityScale),
	}, false, finder)
}

// Still decides again about a URL that an earlier run admitted: the scope may have been
// narrowed since.
func (r *Rules) Still(item visit.Item) scope.Decision {
	if item.Depth == 0 {
		return r.Scope.DecideSeed(item.URL)
	}
	return r.Scope.Decide(item.URL, item.Depth)
}

// judge decides whether a found URL waits or is skipped.
func (r *Rules) judge(item visit.Item, nofollow bool, finder store.Slot) Link {
	d := r.Scope.Decide(item.URL, item.Depth)
	l := Link{Found: r.found(item, d), Leaf: d.Leaf}
	if l.Outcome == "" && nofollow {
		l.Outcome, l.Reason = visit.Skipped, visit.Nofollow
	}
	l.Mark = r.Mark(&l.Found, finder)
	return l
}

// redirect decides about the target of a redirect. The target of a seed within the seed's
// domain is in scope.
func (r *Rules) redirect(item visit.Item, finder store.Slot) Link {
	if item.Depth > 0 {
		return r.judge(item, false, finder)
	}
	r.Scope.Widen(item.Via, item.URL)
	f := r.found(item, r.Scope.DecideSeed(item.URL))
	return Link{Found: f, Mark: r.Mark(&f, finder)}
}

// found returns a URL in its stored form: it waits, unless it is out of scope or its host
// opted out.
func (r *Rules) found(item visit.Item, d scope.Decision) store.Found {
	f := store.Found{Item: item}
	switch {
	case !d.In:
		f.Outcome, f.Reason = visit.Skipped, visit.Reason(d.Reason)
	case r.OptedOut(item.URL):
		f.Outcome, f.Reason = visit.Skipped, visit.OptedOut
	}
	return f
}

// Seed returns a seed in its stored form.
func (r *Rules) Seed(id job.ID, u weburl.URL) store.Found {
	return r.found(visit.Item{Job: id, URL: u, Found: visit.FoundSeed}, r.Scope.DecideSeed(u))
}

// Belongs reports whether a known URL is in scope now.
func (r *Rules) Belongs(item visit.Item) bool { return r.Still(item).In && !r.OptedOut(item.URL) }
