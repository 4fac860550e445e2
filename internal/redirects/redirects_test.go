package redirects_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"headway/internal/redirects"
	"headway/job"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// web is a store in which page i redirects to another one.
type web struct {
	t        *testing.T
	leads    map[int]int
	reopened []weburl.URL
}

func (w *web) url(i int) weburl.URL {
	u, err := weburl.Parse(fmt.Sprintf("http://a.example/%d", i))
	if err != nil {
		w.t.Fatal(err)
	}
	return u
}

func (w *web) Lookup(_ context.Context, _ job.ID, u weburl.URL) (store.Entry, error) {
	var i int
	if _, err := fmt.Sscanf(u.Path(), "/%d", &i); err != nil {
		w.t.Fatal(err)
	}
	to, ok := w.leads[i]
	if !ok {
		return store.Entry{}, store.ErrNotFound
	}
	return store.Entry{Outcome: visit.Redirected, Visit: &visit.Visit{Answer: visit.Answer{Location: w.url(to)}}}, nil
}

func (w *web) Reopen(_ context.Context, _ time.Time, _ job.ID, urls []weburl.URL) (int, error) {
	w.reopened = append(w.reopened, urls...)
	return len(urls), nil
}

func once(_ context.Context, do func() error) error { return do() }

// visit returns the visit of a page that redirects.
func (w *web) visit(from, to, hops int) *visit.Visit {
	u := w.url(to)
	return &visit.Visit{
		Item: visit.Item{Job: 1, URL: w.url(from), Hops: hops}, Outcome: visit.Redirected,
		Answer: visit.Answer{Location: u}, Links: []visit.Link{{URL: u}},
	}
}

// TestEndLoop ends the URL that closes a loop, and one with too many redirects.
func TestEndLoop(t *testing.T) {
	long := map[int]int{}
	for i := 1; i < 2*visit.MaxHops; i++ {
		long[i] = i + 1
	}
	for name, tt := range map[string]struct {
		leads    map[int]int
		from, to int
		hops     int
		ends     bool
	}{
		"to an unknown URL":          {nil, 0, 1, 0, false},
		"to a page":                  {map[int]int{1: 2, 2: 3}, 0, 1, 0, false},
		"to itself":                  {nil, 0, 0, 0, true},
		"loop":                       {map[int]int{1: 2, 2: 0}, 0, 1, 0, true},
		"into another loop":          {map[int]int{1: 2, 2: 1}, 0, 1, 0, false},
		"too many redirects":         {long, 0, 1, 0, true},
		"too many with earlier hops": {map[int]int{1: 2, 2: 3, 3: 4}, 0, 1, visit.MaxHops - 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := &web{t: t, leads: tt.leads}
			v := w.visit(tt.from, tt.to, tt.hops)
			if err := redirects.New(w, once).EndLoop(t.Context(), v); err != nil {
				t.Fatal(err)
			}
			if ended := v.Reason == visit.RedirectLoop; ended != tt.ends || ended != (v.Links == nil) {
				t.Errorf("%s %s, %d links", v.Outcome, v.Reason, len(v.Links))
			}
		})
	}
}

// TestNoted sees redirects that are not stored yet, until they are dropped: of two that
// close a loop the later one ends.
func TestNoted(t *testing.T) {
	w := &web{t: t}
	r := redirects.New(w, once)
	there, back := w.visit(0, 1, 0), w.visit(1, 0, 0)
	for _, v := range []*visit.Visit{there, back} {
		if err := r.EndLoop(t.Context(), v); err != nil {
			t.Fatal(err)
		}
	}
	if there.Reason == visit.RedirectLoop || back.Reason != visit.RedirectLoop {
		t.Errorf("there %s, back %s", there.Reason, back.Reason)
	}
	r.Drop(&there.Item)
	again := w.visit(1, 0, 0)
	if err := r.EndLoop(t.Context(), again); err != nil || again.Reason == visit.RedirectLoop {
		t.Errorf("of what was dropped: %s, %v", again.Reason, err)
	}
}

// TestBreak reopens one URL of a stored loop, the same for every worker.
func TestBreak(t *testing.T) {
	for from := range 3 {
		w := &web{t: t, leads: map[int]int{0: 1, 1: 2, 2: 0, 5: 6}}
		visits := []visit.Visit{*w.visit(5, 6, 0), *w.visit(from, (from+1)%3, 0)}
		if err := redirects.New(w, once).Break(t.Context(), time.Now, visits); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(w.reopened, []weburl.URL{w.url(0)}) {
			t.Errorf("seen from %d: %v are reopened", from, w.reopened)
		}
	}
}
