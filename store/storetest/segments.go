package storetest

import (
	"errors"
	"maps"
	"testing"

	"headway/job"
	"headway/store"
	"headway/visit"
)

// archived returns a visit whose response is in a segment.
func (w *world) archived(raw, segment string, offset, length int64) visit.Visit {
	w.t.Helper()
	v := w.visited(raw)
	v.Answer.Archived = visit.Archived{Segment: segment, Offset: offset, Length: length}
	return v
}

func testSegments(t *testing.T, open Open) {
	inWorlds(t, open, []scene{
		{"stored with their visits", keepsSegments},
		{"invalid", refusesSegments},
	})
}

func keepsSegments(t *testing.T, w *world) {
	const one, two, other = "http://a.example/1", "http://a.example/2", "http://b.example/"
	w.add(one, two, other)
	first := w.archived(one, "job/1.warc.gz", 100, 20)
	c := store.Commit{
		Visits:   []visit.Visit{first, w.archived(two, "job/1.warc.gz", 120, 30), w.visited(other)},
		Segments: []store.Segment{{Key: "job/1.warc.gz", Job: w.job, Bytes: 150}},
	}
	segments, ok := w.store.(store.Segments)
	if !ok {
		if _, err := w.w.commit(c); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("a store without segments took one: %v", err)
		}
		return
	}
	known := func(want ...string) {
		t.Helper()
		set := map[string]bool{}
		for _, k := range want {
			set[k] = true
		}
		if got, err := segments.KnownSegments(w.ctx, []string{"job/1.warc.gz", "job/2.warc.gz", "unknown"}); err != nil || !maps.Equal(got, set) {
			t.Errorf("known are %v, %v; want %v", got, err, want)
		}
	}
	known()
	w.w.must(c)
	known("job/1.warc.gz")
	e, err := w.store.Lookup(w.ctx, w.job, mustURL(t, one))
	w.check(err)
	if e.Visit.Answer.Archived != first.Answer.Archived {
		t.Errorf("archived at %+v", e.Visit.Answer.Archived)
	}
	if e, err = w.store.Lookup(w.ctx, w.job, mustURL(t, other)); err != nil || !e.Visit.Answer.Archived.IsZero() {
		t.Errorf("another page: %+v, %v", e.Visit.Answer.Archived, err)
	}

	// A repeated commit changes nothing, and a rejected one leaves no segment.
	if r, err := w.store.Commit(w.ctx, w.w.prepare(c)); err != nil || !r.Repeated {
		t.Errorf("%+v, %v", r, err)
	}
	_, err = w.w.commit(store.Commit{Visits: []visit.Visit{w.archived(one, "job/2.warc.gz", 0, 10)}, Segments: []store.Segment{{Key: "job/2.warc.gz", Job: w.job, Bytes: 10}}})
	if !errors.Is(err, store.ErrNotWaiting) {
		t.Errorf("a URL that does not wait: %v", err)
	}
	w.w.number--
	known("job/1.warc.gz")

	// They are dropped with their job, and no others.
	gone := w.job
	w.job = w.newJob(0)
	w.add(one)
	w.w.must(store.Commit{Visits: []visit.Visit{w.archived(one, "job/2.warc.gz", 0, 10)}, Segments: []store.Segment{{Key: "job/2.warc.gz", Job: w.job, Bytes: 10}}})
	known("job/1.warc.gz", "job/2.warc.gz")
	w.check(w.store.SetState(w.ctx, w.now, gone, job.Running, job.Complete, ""))
	w.check(w.store.Drop(w.ctx, gone))
	known("job/2.warc.gz")
}

func refusesSegments(t *testing.T, w *world) {
	const page = "http://a.example/1"
	w.add(page)
	other := w.newJob(0)
	segment := store.Segment{Key: "k", Job: w.job, Bytes: 10}
	retry := w.archived(page, "k", 0, 10)
	retry.Outcome, retry.Wait = visit.Pending, visit.WaitHold
	for name, c := range map[string]store.Commit{
		"no segment":      {Visits: []visit.Visit{w.archived(page, "k", 0, 10)}},
		"another segment": {Visits: []visit.Visit{w.archived(page, "other", 0, 10)}, Segments: []store.Segment{segment}},
		"another job":     {Visits: []visit.Visit{w.archived(page, "k", 0, 10)}, Segments: []store.Segment{{Key: "k", Job: other, Bytes: 10}}},
		"beyond its end":  {Visits: []visit.Visit{w.archived(page, "k", 1, 10)}, Segments: []store.Segment{segment}},
		"negative":        {Visits: []visit.Visit{w.archived(page, "k", -1, 5)}, Segments: []store.Segment{segment}},
		"empty":           {Visits: []visit.Visit{w.archived(page, "k", 5, 0)}, Segments: []store.Segment{segment}},
		"not referenced":  {Visits: []visit.Visit{w.visited(page)}, Segments: []store.Segment{segment}},
		"twice":           {Visits: []visit.Visit{w.archived(page, "k", 0, 10)}, Segments: []store.Segment{segment, segment}},
		"without a key":   {Visits: []visit.Visit{w.visited(page)}, Segments: []store.Segment{{Job: w.job, Bytes: 10}}},
		"of a retry":      {Retries: []store.Retry{{Visit: retry, Attempt: 1}}, Segments: []store.Segment{segment}},
	} {
		if _, err := w.w.commit(c); err == nil {
			t.Errorf("%s: accepted", name)
		}
		w.w.number--
	}
	w.expect("waiting 1")
}
