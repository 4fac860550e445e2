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

// Unknown stands for the verdict of caches that said nothing.
const Unknown visit.CacheVerdict = "unknown"

// Reading is what a crawl knows of the caches in front of a site.
type Reading struct {
	Pages    int64   `json:"pages"` // with a final answer, which the rows add up to
	Rows     []Row   `json:"rows"`  // by verdict, in the order of the closed set
	Latency  Latency `json:"latency"`
	Cold     Latency `json:"cold"`             // of pages worth asking again
	Again    Latency `json:"again"`            // of pages asked again
	Barred   []Bar   `json:"barred,omitempty"` // what is never kept, the most frequent header first
	Sitemaps int64   `json:"from_sitemaps"`    // pages that a sitemap named
}

// Row is the pages of one verdict.
type Row struct {
	Verdict visit.CacheVerdict `json:"verdict"`
	Share   float64            `json:"share"` // of all pages
	Latency
}

// Latency is how long the first byte of some pages took.
type Latency struct {
	Pages  int64 `json:"pages"`
	Median int64 `json:"median_ms"`
	P95    int64 `json:"p95_ms"`
}

// Bar is a header that keeps caches from keeping pages.
type Bar struct {
	Header  string `json:"header"`
	Pages   int64  `json:"pages"`
	Example string `json:"example"` // one of them
}

// maxBars bounds the different headers that are told apart: some sites put a
// date into theirs.
const maxBars = 1000

// otherHeaders stands for those beyond maxBars.
const otherHeaders = "other headers"

// Read counts the pages of a job that were fetched. Those sent at since or later
// were asked again; the zero time means that none was.
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
		if worthAsking(cache) {
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

// worthAsking tells whether asking for a page again may be answered by a cache:
// it was not there, and nothing keeps it from being there now.
func worthAsking(c visit.Cache) bool { return c.Verdict.Cold() && c.Barred == "" }

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

// Cold calls do with the pages worth asking again, a part at a time.
func Cold(ctx context.Context, st store.URLs, id job.ID, do func([]weburl.URL) error) error {
	return parts(ctx, st, id, worthAsking, do)
}

// Pages calls do with all pages, a part at a time.
func Pages(ctx context.Context, st store.URLs, id job.ID, do func([]weburl.URL) error) error {
	return parts(ctx, st, id, func(visit.Cache) bool { return true }, do)
}

// parts calls do with the pages of which the caches said what is wanted.
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

// each calls do with every page of a job that got a page.
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

// latency sums some response times up. It sorts them.
func latency(list []time.Duration) Latency {
	if len(list) == 0 {
		return Latency{}
	}
	slices.Sort(list)
	return Latency{
		Pages: int64(len(list)), Median: list[len(list)/2].Round(time.Millisecond).Milliseconds(), P95: list[len(list)*95/100].Round(time.Millisecond).Milliseconds(),
	}
}
