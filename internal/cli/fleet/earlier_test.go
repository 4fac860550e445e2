package fleet

import (
	"context"
	"errors"
	"testing"

	"headway/job"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// finishedJob is a store with one job, which has one page.
type finishedJob struct {
	store.Reader
	job  store.Job
	err  error // of reading the job, once
	page visit.Visit
}

func (f *finishedJob) Job(_ context.Context, id job.ID) (store.Job, error) {
	if err := f.err; err != nil {
		f.err = nil
		return store.Job{}, err
	}
	if id != f.job.ID {
		return store.Job{}, store.ErrNotFound
	}
	return f.job, nil
}

func (f *finishedJob) List(context.Context, store.Query) (store.Page, error) {
	v := f.page
	return store.Page{Entries: []store.Entry{{Item: v.Item, Outcome: v.Outcome, Visit: &v}}}, nil
}

func (f *finishedJob) Lookup(_ context.Context, _ job.ID, u weburl.URL) (store.Entry, error) {
	if u != f.page.Item.URL {
		return store.Entry{}, store.ErrNotFound
	}
	v := f.page
	return store.Entry{Item: v.Item, Outcome: v.Outcome, Visit: &v}, nil
}

// TestEarlier: only a job with the same specification is asked for its pages, and only pages
// with validators are of use. A failed read is repeated.
func TestEarlier(t *testing.T) {
	u, err := weburl.Parse("https://example.com/")
	if err != nil {
		t.Fatal(err)
	}
	other, err := weburl.Parse("https://example.com/other")
	if err != nil {
		t.Fatal(err)
	}
	tagged := visit.Answer{Validators: visit.Validators{ETag: `"1"`}}
	for name, tc := range map[string]struct {
		job       store.Job
		page      visit.Visit
		urls      int
		validated bool
	}{
		"same":             {store.Job{ID: 1, Spec: []byte("a")}, visit.Visit{Outcome: visit.Fetched, Answer: tagged}, 1, true},
		"other settings":   {store.Job{ID: 1, Spec: []byte("b")}, visit.Visit{Outcome: visit.Fetched, Answer: tagged}, 0, false},
		"dropped":          {store.Job{ID: 2, Spec: []byte("a")}, visit.Visit{Outcome: visit.Fetched, Answer: tagged}, 0, false},
		"no validators":    {store.Job{ID: 1, Spec: []byte("a")}, visit.Visit{Outcome: visit.Fetched}, 1, false},
		"a dead page":      {store.Job{ID: 1, Spec: []byte("a")}, visit.Visit{Outcome: visit.Dead}, 1, false},
		"out of scope":     {store.Job{ID: 1, Spec: []byte("a")}, visit.Visit{Outcome: visit.Skipped, Reason: visit.Excluded}, 0, false},
		"not modified":     {store.Job{ID: 1, Spec: []byte("a")}, visit.Visit{Outcome: visit.NotModified, Answer: tagged}, 1, true},
		"error with a tag": {store.Job{ID: 1, Spec: []byte("a")}, visit.Visit{Outcome: visit.ServerError, Answer: tagged}, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			broken := errors.New("broken")
			tc.page.Item.URL = u
			e := &earlier{reader: &finishedJob{job: tc.job, page: tc.page, err: broken}, job: 1, spec: []byte("a")}
			if _, err := e.visit(t.Context(), u); !errors.Is(err, broken) {
				t.Errorf("the store failed, and the error is %v", err)
			}
			urls, validated := 0, false
			for it, err := range e.urls(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				urls++
				validated = it.Validators == tagged.Validators
			}
			if urls != tc.urls || validated != tc.validated {
				t.Errorf("%d URLs, with validators: %v", urls, validated)
			}
			if v, err := e.visit(t.Context(), u); err != nil || (v != nil) != tc.validated {
				t.Errorf("the page is %+v, %v", v, err)
			}
			if v, err := e.visit(t.Context(), other); err != nil || v != nil {
				t.Errorf("an unknown page is %+v, %v", v, err)
			}
		})
	}
}

// Links implements [store.Reader]: the page was opened again, and its links are gone.
func (f *finishedJob) Links(context.Context, job.ID, weburl.URL) ([]visit.Link, error) {
	return nil, nil
}

// TestEarlierReopened: of a page that the earlier job has opened again no links are copied.
func TestEarlierReopened(t *testing.T) {
	u, err := weburl.Parse("https://example.com/")
	if err != nil {
		t.Fatal(err)
	}
	page := visit.Visit{Item: visit.Item{URL: u}, Outcome: visit.Fetched, Answer: visit.Answer{Validators: visit.Validators{ETag: `"1"`}}}
	page.Page.Links = &visit.KeptLinks{Count: 2}
	e := &earlier{reader: &finishedJob{job: store.Job{ID: 1}, page: page}, job: 1}
	v, err := e.visit(t.Context(), u)
	if err != nil || v == nil {
		t.Fatalf("%+v, %v", v, err)
	}
	if v.Page.Links != nil || v.CheckLinks() != nil {
		t.Errorf("links %+v, which cannot be stored: %v", v.Page.Links, v.CheckLinks())
	}
}
