package headway_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
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

// leading is a web of redirects, by URL. All other URLs are pages.
type leading map[string]string

// Do implements [fetch.Fetcher].
func (l leading) Do(_ context.Context, req fetch.Request) (*fetch.Result, error) {
	time.Sleep(10 * time.Millisecond)
	res := &fetch.Result{URL: req.URL, Status: http.StatusOK, Header: http.Header{}, Owned: true, Timing: fetch.Timing{Sent: time.Now(), FirstByte: 1, Total: 1}}
	if to, ok := l[req.URL.String()]; ok {
		res.Status = http.StatusFound
		res.Header.Set("Location", to)
	}
	if req.Sent != nil {
		req.Sent(res.Timing.Sent)
	}
	return res, nil
}

// Robots implements [fetch.Fetcher].
func (l leading) Robots(_ context.Context, req fetch.Request) (*fetch.Result, []weburl.URL, error) {
	return &fetch.Result{URL: req.URL, Status: http.StatusNotFound, Header: http.Header{}, Owned: true, Timing: fetch.Timing{Sent: time.Now()}}, []weburl.URL{req.URL}, nil
}

// loops is how many URLs ended as a redirect loop or with too many redirects.
func loops(c store.Counts) int64 {
	return c.Ended[store.Ending{Outcome: visit.Failed, Reason: visit.RedirectLoop}]
}

// TestLongRedirectChainFromItsBeginning has a chain of more redirects than allowed:
// followed from the first, and with all of them known before.
func TestLongRedirectChainFromItsBeginning(t *testing.T) {
	web, all := leading{}, []weburl.URL{}
	for i := range visit.MaxHops + 2 {
		web[fmt.Sprintf("http://a.example/%02d", i)] = fmt.Sprintf("http://a.example/%02d", i+1)
		all = append(all, mustURL(fmt.Sprintf("http://a.example/%02d", i)))
	}
	backwards := slices.Clone(all)
	slices.Reverse(backwards)
	for name, seeds := range map[string][]weburl.URL{"from the first": all[:1], "all known": backwards} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				report, err := headway.Run(t.Context(), headway.Worker{Store: memory.Open(memory.Config{}), Fetcher: web},
					headway.Job{Seeds: seeds, Policy: preset("polite"), Sitemaps: headway.SitemapsOff})
				if err != nil || loops(report.Counts) != 1 || report.Counts.Waiting != 0 {
					t.Errorf("%v, %+v", err, report.Counts)
				}
			})
		})
	}
}

// TestFleetRedirectLoopStoredByTwo lets two workers store the two ends of a loop at the
// same time.
func TestFleetRedirectLoopStoredByTwo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fleet{simulated: newSimulated(t, 1, small(1))}
		web := leading{}
		f.cfg.Seeds = nil
		for i := range 16 { // most of them belong to different workers
			a, b := fmt.Sprintf("http://a%d.example/", i), fmt.Sprintf("http://b%d.example/", i)
			web[a], web[b] = b, a
			f.cfg.Seeds = append(f.cfg.Seeds, mustURL(a), mustURL(b))
		}
		f.cfg.Fetcher = web
		workers := f.startAll(2)
		time.Sleep(10 * time.Second)
		id := f.submit(0)
		j, counts := f.await(id, 10*time.Minute)
		f.drain(workers)
		if j.State != job.Failed || loops(counts) < 16 || counts.Waiting != 0 {
			t.Errorf("%s (%s), %d circles found of 16: %+v", j.State, j.Reason, loops(counts), counts)
		}
	})
}
