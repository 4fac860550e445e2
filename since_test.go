package headway_test

import (
	"context"
	"iter"
	"testing"
	"testing/synctest"

	"headway/job"
	"headway/store"
	"headway/store/memory"
	"headway/visit"
)

// urlsOf are the URLs of a crawl that ended, with their validators.
func urlsOf(ctx context.Context, st store.Store, id job.ID) iter.Seq2[visit.Item, error] {
	return func(yield func(visit.Item, error) bool) {
		page, err := st.List(ctx, store.Query{Job: id, Max: store.MaxPage})
		if err != nil {
			yield(visit.Item{}, err)
			return
		}
		for _, e := range page.Entries {
			if e.Outcome == visit.Skipped {
				continue
			}
			it := e.Item
			if e.Visit != nil {
				it.Validators = e.Visit.Answer.Validators
			}
			if !yield(it, nil) {
				return
			}
		}
	}
}

// TestSince crawls a site again with conditional requests. Unchanged pages are not sent
// again, changed ones are, and no page is missed although 304 responses have no links.
func TestSince(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const pages = 60
		temper := small(pages)
		temper.Site.ChangeRate = 0.2
		s := newSimulated(t, 1, temper)
		first := s.run()
		s.fetched(first, pages)

		again := func(from store.Store, id job.ID) map[visit.Outcome]int64 {
			s.cfg.Store, s.cfg.Since = memory.Open(memory.Config{}), urlsOf(t.Context(), from, id)
			r := s.run()
			ended := map[visit.Outcome]int64{}
			for e, n := range r.Counts.Ended {
				ended[e.Outcome] += n
			}
			if r.State != job.Complete || ended[visit.Fetched]+ended[visit.NotModified] != pages {
				t.Errorf("ended %s: %v", r.State, ended)
			}
			return ended
		}
		if ended := again(s.st, first.Job); ended[visit.NotModified] != pages {
			t.Errorf("nothing changed, and it ended %v", ended)
		}
		s.web.NextEpoch()
		ended := again(s.st, first.Job)
		if n := ended[visit.Fetched]; n < pages/20 || n > pages/2 {
			t.Errorf("a fifth changed, and it ended %v", ended)
		}
	})
}
