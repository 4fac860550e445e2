package api

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// longList is a store with a job of many URLs, some of which are 404s. It counts
// queries.
type longList struct {
	Store
	urls, dead int
	asked      int
}

func (*longList) Key() (key weburl.Key) { return key }

func (*longList) Job(_ context.Context, id jobID) (store.Job, error) { return store.Job{ID: id}, nil }

func (l *longList) List(_ context.Context, q store.Query) (page store.Page, err error) {
	l.asked++
	at := 0
	if q.After != "" {
		if at, err = strconv.Atoi(string(q.After)); err != nil {
			return page, err
		}
	}
	for ; at < l.urls && len(page.Entries) < q.Max; at++ {
		u, err := weburl.Parse(fmt.Sprintf("https://shop.example/%d", at))
		if err != nil {
			return page, err
		}
		v := &visit.Visit{Answer: visit.Answer{Status: 200}}
		if at%l.dead == l.dead-1 {
			v.Answer.Status = 404
		}
		page.Entries = append(page.Entries, store.Entry{Item: visit.Item{URL: u}, Visit: v})
	}
	if at < l.urls {
		page.Next = store.Cursor(strconv.Itoa(at))
	}
	return page, nil
}

// TestRarePages: a filter that few URLs match finds each of them, once and in order,
// and does not read the store in small pages.
func TestRarePages(t *testing.T) {
	ctx := context.WithValue(t.Context(), callerKey{}, &caller{anonymous: true})
	for _, c := range []struct{ limit, dead, most int }{
		{1, 100_000, 16}, {1, 700, 320}, {10, 700, 65}, {100, 700, 40}, {1000, 3, 55}, {7, 1, 4300},
	} {
		l := &longList{urls: 30_000, dead: c.dead}
		a := &API{store: l}
		in := &pagesInput{OneJob: OneJob{1}, PageFilter: PageFilter{Status: 404}, Paging: Paging{Limit: c.limit}}
		found := 0
		for pages := 0; ; pages++ {
			out, err := a.listPages(ctx, in)
			if err != nil {
				t.Fatal(err)
			}
			if len(out.Body.Pages) > c.limit {
				t.Fatalf("%d rows where %d were requested", len(out.Body.Pages), c.limit)
			}
			for _, row := range out.Body.Pages {
				if want := fmt.Sprintf("https://shop.example/%d", (found+1)*c.dead-1); row.URL != want {
					t.Fatalf("%s comes in place of %s", row.URL, want)
				}
				found++
			}
			if in.Cursor = out.Body.NextCursor; in.Cursor == "" || pages == 0 && c.dead == 100_000 {
				break
			}
		}
		if want := l.urls / c.dead; found != want {
			t.Errorf("of %+v %d were found, want %d", c, found, want)
		}
		if l.asked > c.most {
			t.Errorf("for %+v the store was queried %d times", c, l.asked)
		}
	}
}
