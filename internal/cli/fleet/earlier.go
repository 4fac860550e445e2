package fleet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"

	"headway/internal/cli/crawl"
	"headway/job"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// earlier is the previous run of a schedule ([store.Job.Since]): its URLs are requested again,
// and what it kept of pages that have not changed is copied.
type earlier struct {
	reader store.Reader
	job    job.ID
	spec   []byte // of the new run

	mu   sync.Mutex
	read bool
	same bool // both have the same specification
}

// conditional reports whether unchanged pages need not be sent: the job exists and has the
// same specification, so that it followed the same links and kept the same of its pages.
func (e *earlier) conditional(ctx context.Context) (bool, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.read {
		return e.same, nil
	}
	was, err := e.reader.Job(ctx, e.job)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return false, err
	}
	e.read, e.same = true, err == nil && bytes.Equal(was.Spec, e.spec)
	return e.same, nil
}

// urls are the URLs of the job with their validators, or none if its pages are of no use.
func (e *earlier) urls(ctx context.Context) iter.Seq2[visit.Item, error] {
	return func(yield func(visit.Item, error) bool) {
		same, err := e.conditional(ctx)
		if err != nil {
			yield(visit.Item{}, err)
			return
		}
		if same {
			crawl.KnownURLs(ctx, e.reader, e.job, true)(yield)
		}
	}
}

// visit returns what the job recorded about a URL: a page that can be requested conditionally
// with all that was kept of it, nil for any other.
func (e *earlier) visit(ctx context.Context, u weburl.URL) (*visit.Visit, error) {
	same, err := e.conditional(ctx)
	if err != nil || !same {
		return nil, err
	}
	was, err := e.reader.Lookup(ctx, e.job, u)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	fetched := was.Outcome == visit.Fetched || was.Outcome == visit.NotModified
	if err != nil || was.Visit == nil || !fetched || was.Visit.Answer.Validators == (visit.Validators{}) {
		return nil, err
	}
	v := was.Visit
	if v.Page.Content != nil {
		if v.Page.Content, err = e.reader.Content(ctx, e.job, u); err != nil {
			return nil, fmt.Errorf("read the content of the earlier job: %w", err)
		}
	}
	if v.Page.Links != nil {
		if err = crawl.KnownLinks(ctx, e.reader, e.job, v); err != nil {
			return nil, fmt.Errorf("read the links of the earlier job: %w", err)
		}
	}
	return v, nil
}
