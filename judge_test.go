package headway_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"headway"
	"headway/fetch"
	"headway/job"
	"headway/store"
	"headway/store/memory"
	"headway/visit"
	"headway/weburl"
)

// fenced is a web whose home pages link to pages that robots.txt forbids, and to some that
// it allows.
type fenced struct {
	yes, no int    // links to pages of each kind
	late    string // a link on the last allowed page of a host
	more    bool   // each allowed page links to another forbidden one

	mu       sync.Mutex
	last     time.Time // when the last page was requested
	asked    int       // requests
	trespass []string  // forbidden pages that were requested
}

// Do implements [fetch.Fetcher].
func (w *fenced) Do(_ context.Context, req fetch.Request) (*fetch.Result, error) {
	time.Sleep(10 * time.Millisecond)
	res := &fetch.Result{URL: req.URL, Status: http.StatusOK, Header: http.Header{}, Owned: true, Timing: fetch.Timing{Sent: time.Now(), FirstByte: 1, Total: 1}}
	res.Header.Set("Content-Type", "text/html")
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = res.Timing.Sent
	w.asked++
	switch path := strings.TrimPrefix(req.URL.String(), req.URL.Host()); {
	case strings.HasPrefix(path, "/no/"):
		w.trespass = append(w.trespass, req.URL.String())
	case path == "/":
		var page strings.Builder
		for i := range max(w.yes, w.no) {
			if i < w.no {
				fmt.Fprintf(&page, `<a href="/no/%d">x</a>`, i)
			}
			if i < w.yes {
				fmt.Fprintf(&page, `<a href="/yes/%d">x</a>`, i)
			}
		}
		res.Body = []byte(page.String())
	case w.late != "" && path == fmt.Sprintf("/yes/%d", w.yes-1):
		res.Body = fmt.Appendf(nil, `<a href="%s">x</a>`, w.late)
	case w.more:
		res.Body = fmt.Appendf(nil, `<a href="/no%s"></a>`, path) // without text: pages with the same one are duplicates
	}
	if req.Sent != nil {
		req.Sent(res.Timing.Sent)
	}
	return res, nil
}

// Robots implements [fetch.Fetcher].
func (w *fenced) Robots(_ context.Context, req fetch.Request) (*fetch.Result, []weburl.URL, error) {
	w.mu.Lock()
	w.asked++
	w.mu.Unlock()
	return &fetch.Result{
		URL: req.URL, Status: http.StatusOK, Header: http.Header{}, Owned: true, Timing: fetch.Timing{Sent: time.Now()}, Body: []byte("User-agent: *\nDisallow: /no/\n"),
	}, []weburl.URL{req.URL}, nil
}

// TestFleetForbiddenEndsWithLastPage has two workers, many forbidden URLs and few pages:
// the job ends with its last page, and every URL has its outcome.
func TestFleetForbiddenEndsWithLastPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const hosts, yes, no = 4, 20, 15
		web := &fenced{yes: yes, no: no}
		f := &fleet{simulated: newSimulated(t, 1, small(1))}
		f.cfg.Seeds, f.cfg.Fetcher = nil, web
		for i := range hosts {
			f.cfg.Seeds = append(f.cfg.Seeds, mustURL(fmt.Sprintf("http://a%d.example/", i)))
		}
		workers := f.startAll(2)
		time.Sleep(10 * time.Second)
		id := f.submit(0)
		j, counts := f.await(id, 10*time.Minute)
		ended := time.Now()
		f.drain(workers)
		forbidden := counts.Ended[store.Ending{Outcome: visit.Skipped, Reason: visit.RobotsDisallow}]
		if j.State != job.Complete || counts.Pages() != hosts*(yes+1) || forbidden != hosts*no || counts.Waiting != 0 || len(web.trespass) > 0 {
			t.Errorf("%s (%s): %+v; requested %v", j.State, j.Reason, counts, web.trespass)
		}
		if after := ended.Sub(web.last); after > 15*time.Second {
			t.Errorf("ended %v after the last page", after)
		}
		page, err := f.st.List(t.Context(), store.Query{Job: id, Outcome: visit.Skipped, Max: store.MaxPage})
		if err != nil {
			t.Fatal(err)
		}
		for i := range page.Entries {
			e := &page.Entries[i]
			if e.Visit == nil || len(e.Visit.Evidence) != 1 || e.Visit.Evidence[0].Kind != visit.BlockedByRobots || e.Visit.Evidence[0].Line != 2 {
				t.Fatalf("%s ended without evidence: %+v", e.Item.URL, e.Visit)
			}
		}
	})
}

// farStore takes half a second for a commit of any size.
type farStore struct{ *memory.Store }

func (s farStore) Commit(ctx context.Context, c store.Commit) (store.Receipt, error) {
	time.Sleep(500 * time.Millisecond) // virtual time
	return s.Store.Commit(ctx, c)
}

// TestFleetForbiddenEndsBehindAFarStore has a thousand forbidden URLs and a distant store:
// they do not delay the end of the job by minutes.
func TestFleetForbiddenEndsBehindAFarStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const yes, no = 20, 1000
		web := &fenced{yes: yes, no: no}
		f := &fleet{simulated: newSimulated(t, 1, small(1))}
		f.worker = func(c *headway.Worker) { c.Store = farStore{f.st.(*memory.Store)} }
		f.cfg.Seeds, f.cfg.Fetcher = []weburl.URL{mustURL("http://a.example/")}, web
		workers := f.startAll(1)
		id := f.submit(0)
		j, counts := f.await(id, 10*time.Minute)
		ended := time.Now()
		f.drain(workers)
		forbidden := counts.Ended[store.Ending{Outcome: visit.Skipped, Reason: visit.RobotsDisallow}]
		if j.State != job.Complete || counts.Pages() != yes+1 || forbidden != no || counts.Waiting != 0 || len(web.trespass) > 0 {
			t.Errorf("%s (%s): %+v; requested %v", j.State, j.Reason, counts, web.trespass)
		}
		if after := ended.Sub(web.last); after > 15*time.Second {
			t.Errorf("ended %v after the last page", after)
		}
	})
}

// diskStore takes 10 ms for a commit, and 50 µs for each visit.
type diskStore struct{ store.Store }

func (s diskStore) Commit(ctx context.Context, c store.Commit) (store.Receipt, error) {
	time.Sleep(10*time.Millisecond + time.Duration(len(c.Visits))*50*time.Microsecond) // virtual time
	return s.Store.Commit(ctx, c)
}

// TestForbiddenEndsWithLastPage has as many forbidden URLs as pages, on one machine: they are
// stored while pages are, and the crawl ends with its last page.
func TestForbiddenEndsWithLastPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const hosts, yes = 20, 300
		web := &fenced{yes: yes, more: true}
		s := newSimulated(t, 1, small(1))
		s.owned()
		s.cfg.Seeds, s.cfg.Fetcher, s.cfg.Store, s.cfg.Workers = nil, web, diskStore{s.st}, 64
		for i := range hosts {
			s.cfg.Seeds = append(s.cfg.Seeds, mustURL(fmt.Sprintf("http://a%d.example/", i)))
		}
		r := s.run()
		ended := time.Now()
		forbidden := r.Counts.Ended[store.Ending{Outcome: visit.Skipped, Reason: visit.RobotsDisallow}]
		if r.State != job.Complete || r.Counts.Pages() != hosts*(yes+1) || forbidden != hosts*yes || len(web.trespass) > 0 {
			t.Errorf("%s (%s): %+v; requested %v", r.State, r.Reason, r.Counts, web.trespass)
		}
		if after := ended.Sub(web.last); after > 300*time.Millisecond {
			t.Errorf("ended %v after the last page", after)
		}
	})
}
