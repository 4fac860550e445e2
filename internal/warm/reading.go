package warm

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"headway/job"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// Unknown is the verdict if no cache said anything.
const Unknown visit.CacheVerdict = "unknown"

// Reading is what a crawl learned about the caches in front of a site.
type Reading struct {
	Pages    int64   `json:"pages"` // with a final response; the rows add up to it
	Rows     []Row   `json:"rows"`  // by verdict, in the order of the closed set
	Latency  Latency `json:"latency"`
	Cold     Latency `json:"cold"`             // of pages worth another request
	Again    Latency `json:"again"`            // of pages requested again
	Barred   []Bar   `json:"barred,omitempty"` // headers that prevent caching, the most frequent first
	Sitemaps int64   `json:"from_sitemaps"`    // pages listed in a sitemap
}

// Row is the pages of one verdict.
type Row struct {
	Verdict visit.CacheVerdict `json:"verdict"`
	Share   float64            `json:"share"` // of all pages
	Latency
}

// Latency is the time to first byte of some pages.
type Latency struct {
	Pages  int64 `json:"pages"`
	Median int64 `json:"median_ms"`
	P95    int64 `json:"p95_ms"`
}

// Bar is a header that prevents caching.
type Bar struct {
	Header  string `json:"header"`
	Pages   int64  `json:"pages"`
	Example string `json:"example"` // one of them
}

// maxBars bounds the different headers: some sites put a date into theirs.
const maxBars = 1000

// otherHeaders replaces those beyond maxBars.
const otherHeaders = "other headers"

// Read counts the fetched pages of a job. Those sent at since or later belong to the
// second pass; the zero time means that there was none.
func Read(ctx context.Context, st store.URLs, id job.ID, since time.Time) (*Reading, error) {
	rows := map[visit.CacheVerdict][]time.Duration{}
	bars := map[string]*Bar{}
	var all, cold, again []time.Duration
	r := &Reading{}
	err := each(ctx, st, id, func(e *store.Entry) error {
		r.Pages++
		if e.Item.Found == visit.FoundSitemap {
			r.Sitemaps++
		}
		cache, took := e.Visit.Answer.Cache, e.Visit.Timing.FirstByte
		verdict := cmp.Or(cache.Verdict, Unknown)
		rows[verdict] = append(rows[verdict], took)
		all = append(all, took)
		if worthRefetching(cache) {
			cold = append(cold, took)
		}
		if !since.IsZero() && !e.Visit.Timing.Sent.Before(since) {
			again = append(again, took)
		}
		if cache.Barred != "" {
			count(bars, cache.Barred, e.Item.URL)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, v := range append(slices.Clone(visit.CacheVerdicts), Unknown) {
		if list := rows[v]; len(list) > 0 {
			r.Rows = append(r.Rows, Row{Verdict: v, Share: float64(len(list)) / float64(r.Pages), Latency: latency(list)})
		}
	}
	r.Latency, r.Cold, r.Again = latency(all), latency(cold), latency(again)
	for _, b := range bars {
		r.Barred = append(r.Barred, *b)
	}
	slices.SortFunc(r.Barred, func(a, b Bar) int {
		return cmp.Or(cmp.Compare(b.Pages, a.Pages), cmp.Compare(a.Header, b.Header))
	})
	return r, nil
}

// Row is the row of a verdict, empty if no page has it.
func (r *Reading) Row(v visit.CacheVerdict) Row {
	for _, row := range r.Rows {
		if row.Verdict == v {
			return row
		}
	}
	return Row{Verdict: v}
}

// worthRefetching reports whether another request for a page may be a cache hit: it
// was a miss, and nothing prevents caching.
func worthRefetching(c visit.Cache) bool { return c.Verdict.Cold() && c.Barred == "" }

func count(bars map[string]*Bar, header string, u weburl.URL) {
	b := bars[header]
	if b == nil {
		if len(bars) >= maxBars {
			header = otherHeaders
		}
		if b = bars[header]; b == nil {
			b = &Bar{Header: header, Example: visit.Redact(u)}
			bars[header] = b
		}
	}
	b.Pages++
}

// Cold calls do with the pages worth another request, in parts.
func Cold(ctx context.Context, st store.URLs, id job.ID, do func([]weburl.URL) error) error {
	return parts(ctx, st, id, worthRefetching, do)
}

// Pages calls do with all pages, in parts.
func Pages(ctx context.Context, st store.URLs, id job.ID, do func([]weburl.URL) error) error {
	return parts(ctx, st, id, func(visit.Cache) bool { return true }, do)
}

// parts calls do with the pages whose cache result is wanted.
func parts(ctx context.Context, st store.URLs, id job.ID, want func(visit.Cache) bool, do func([]weburl.URL) error) error {
	var list []weburl.URL
	err := each(ctx, st, id, func(e *store.Entry) error {
		if want(e.Visit.Answer.Cache) {
			list = append(list, e.Item.URL)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for part := range slices.Chunk(list, store.MaxPage) {
		if err := do(part); err != nil {
			return err
		}
	}
	return nil
}

// each calls do with every fetched page of a job.
func each(ctx context.Context, st store.URLs, id job.ID, do func(e *store.Entry) error) error {
	for _, o := range []visit.Outcome{visit.Fetched, visit.NotModified} {
		for q := (store.Query{Job: id, Outcome: o, Max: store.MaxPage}); ; {
			page, err := st.List(ctx, q)
			if err != nil {
				return fmt.Errorf("list pages: %w", err)
			}
			for i := range page.Entries {
				if e := &page.Entries[i]; e.Visit != nil {
					if err := do(e); err != nil {
						return err
					}
				}
			}
			if q.After = page.Next; q.After == "" {
				break
			}
		}
	}
	return nil
}

// latency summarises response times. It sorts them.
func latency(list []time.Duration) Latency {
	if len(list) == 0 {
		return Latency{}
	}
	slices.Sort(list)
	return Latency{
		Pages: int64(len(list)), Median: list[len(list)/2].Round(time.Millisecond).Milliseconds(), P95: list[len(list)*95/100].Round(time.Millisecond).Milliseconds(),
	}
}
