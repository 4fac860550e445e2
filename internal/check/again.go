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

// Rerun selects what a finished check requests once more.
type Rerun struct {
	Store   store.Store
	Job     job.ID
	Log     string        // path of the link log
	Recheck time.Duration // links to other sites that were ok longer ago are checked again
	// Own reports whether a URL belongs to the checked site: its pages are always read
	// again, because only they say which links there are.
	Own func(u weburl.URL) bool
	// NoSuchHost reports whether the host of a URL still does not exist in DNS; nil
	// never does. Such a host gets no retries: waiting for it, as for one that fails,
	// would take longer each time.
	NoSuchHost func(ctx context.Context, u weburl.URL) bool
}

// Reopen puts back in the queue the links that were not ok, the pages with dead and
// broken links, because only they can say whether the link is still there, all URLs of
// the site itself, and links that were ok elsewhere but too long ago. It returns how
// many URLs these are.
func (a *Rerun) Reopen(ctx context.Context, now time.Time) (int, error) {
	entries, err := a.notOK(ctx)
	if err != nil {
		return 0, err
	}
	from, err := readSources(a.Log, entries, lookup(ctx, a.Store, a.Job))
	if err != nil {
		return 0, err
	}
	// Nothing is changed while it is read.
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
		if host := e.Item.URL.Host(); v == Dead && e.Reason == visit.DNS && a.NoSuchHost != nil {
			if _, known := nameless[host]; !known {
				nameless[host] = a.NoSuchHost(ctx, e.Item.URL)
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
			if u, err := weburl.Parse(raw); err == nil { // a URL that cannot be parsed cannot be requested
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
func (a *Rerun) notOK(ctx context.Context) (list []*store.Entry, err error) {
	err = each(ctx, a.Store, a.Job, notOK, func(e *store.Entry) error {
		entry := *e
		list = append(list, &entry)
		return nil
	})
	return list, err
}

// stale reads the URLs that were ok, on the site itself or too long ago.
func (a *Rerun) stale(ctx context.Context, now time.Time) (list []weburl.URL, err error) {
	ok := []store.Ending{{Outcome: visit.Fetched}, {Outcome: visit.NotModified}, {Outcome: visit.Redirected}}
	err = each(ctx, a.Store, a.Job, ok, func(e *store.Entry) error {
		if now.Sub(e.EndedAt) >= a.Recheck || a.Own != nil && a.Own(e.Item.URL) {
			list = append(list, e.Item.URL)
		}
		return nil
	})
	return list, err
}
