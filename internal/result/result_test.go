package result_test

import (
	"context"
	"fmt"
	"testing"

	"headway/internal/result"
	"headway/job"
	"headway/output"
	"headway/store"
	"headway/visit"
)

// crawl lists three fetched URLs in pages of two, of which two are counted.
type crawl struct{ counted int }

func (c *crawl) Counts(context.Context, job.ID) (store.Counts, error) {
	c.counted++
	return store.Counts{Ended: map[store.Ending]int64{
		{Outcome: visit.Fetched}: 2, {Outcome: visit.Deferred}: 4, {Outcome: visit.Skipped, Reason: visit.OutOfScope}: 8,
	}}, nil
}

func (c *crawl) List(_ context.Context, q store.Query) (store.Page, error) {
	one := store.Entry{Outcome: q.Outcome, Reason: q.Reason}
	if q.After == "" {
		return store.Page{Entries: []store.Entry{one, one}, Next: "2"}, nil
	}
	return store.Page{Entries: []store.Entry{one}}, nil
}

func TestLedger(t *testing.T) {
	for name, tc := range map[string]struct {
		running, strict bool
		want            string
	}{
		"one that does not run": {false, false, "6 counted, 2 listed"}, // it was resumed since
		"its own":               {false, true, "6 counted, 3 listed"},  // an output refuses the third
		"one that runs":         {true, false, "2 counted, 2 listed"},  // deferred URLs may wait again; the third ended since
	} {
		t.Run(name, func(t *testing.T) {
			seen, c := 0, &crawl{}
			l := &result.Ledger{Reader: c, Job: 1, Running: tc.running, Strict: tc.strict, Seen: func() { seen++ }}
			listed := 0
			err := l.Each(t.Context(), output.Ending{Outcome: visit.Fetched}, func(v *visit.Visit) error {
				listed++
				if v.Outcome != visit.Fetched {
					t.Errorf("a URL ended %s", v.Outcome)
				}
				return nil
			})
			if err != nil || seen != listed {
				t.Errorf("%d listed, %d seen, %v", listed, seen, err)
			}
			n, err := l.Total(t.Context())
			if got := fmt.Sprintf("%d counted, %d listed", n, listed); err != nil || got != tc.want || c.counted != 1 {
				t.Errorf("%s, want %s; counted %d times, %v", got, tc.want, c.counted, err)
			}
		})
	}
}
