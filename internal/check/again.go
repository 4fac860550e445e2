package check

import (
	"context"
	"slices"
	"time"

	"headway/job"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// Again is what a check that has ended asks once more.
type Again struct {
	Store   store.Store
	Job     job.ID
	Log     string        // the file of what pages link to
	Recheck time.Duration // what was ok on other sites longer ago is asked again
	// Own tells whether a URL is one of the site that is checked: its pages are
	// always read again, because only they say which links there are.
	Own func(u weburl.URL) bool
	// Nameless tells whether a name server still says that the host of a URL
	// does not exist; nil never does. There is nobody to ask then, and waiting
	// for such a host, as for one that fails, would take longer each time.
	Nameless func(ctx context.Context, u weburl.URL) bool
}

// Reopen puts back to waiting what was not ok, the pages that carry dead and
// broken links, because only they can say whether the link is still there, all of
// the site itself, and what was ok elsewhere but is too old. It tells how many URLs
// these are.
func (a *Again) Reopen(ctx context.Context, now time.Time) (int, error) {
	entries, err := a.notOK(ctx)
	if err != nil {
		return 0, err
	}
	from, err := readSources(a.Log, entries, lookup(ctx, a.Store, a.Job))
	if err != nil {
		return 0, err
	}
	// What is read is not changed meanwhile.
	urls, err := a.stale(ctx, now)
	if err != nil {
		return 0, err
	}
	nameless := map[string]bool{}
	for _, e := range entries {
		src := from.of(e)
		if src.Gone {
			continue
		}
		v := Of(e)
		if host := e.Item.URL.Host(); v == Dead && e.Reason == visit.DNS && a.Nameless != nil {
			if _, known := nameless[host]; !known {
				nameless[host] = a.Nameless(ctx, e.Item.URL)
			}
			if !nameless[host] {
				urls = append(urls, e.Item.URL)
			}
		} else {
			urls = append(urls, e.Item.URL)
		}
		if v != Dead && v != Broken {
			continue
		}
		for _, raw := range slices.Concat(src.Pages, src.Redirects) {
			if u, err := weburl.Parse(raw); err == nil { // what is none of ours cannot be asked again
				urls = append(urls, u)
			}
		}
	}
	count := 0
	for part := range slices.Chunk(urls, store.MaxFound) {
		n, err := a.Store.Reopen(ctx, now, a.Job, part)
		if err != nil {
			return count, err
		}
		count += n
	}
	return count, nil
}

// notOK reads the entries of links that were not ok.
func (a *Again) notOK(ctx context.Context) (list []*store.Entry, err error) {
	err = each(ctx, a.Store, a.Job, notOK, func(e *store.Entry) error {
		entry := *e
		list = append(list, &entry)
		return nil
	})
	return list, err
}

// stale reads which URLs were ok, on the site itself or too long ago.
func (a *Again) stale(ctx context.Context, now time.Time) (list []weburl.URL, err error) {
	ok := []store.Ending{{Outcome: visit.Fetched}, {Outcome: visit.NotModified}, {Outcome: visit.Redirected}}
	err = each(ctx, a.Store, a.Job, ok, func(e *store.Entry) error {
		if now.Sub(e.EndedAt) >= a.Recheck || a.Own != nil && a.Own(e.Item.URL) {
			list = append(list, e.Item.URL)
		}
		return nil
	})
	return list, err
}
