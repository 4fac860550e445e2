package fleettest

import (
	"strings"
	"testing"
	"time"

	"headway/client"
)

// optOutBound is how long after the response to an opt-out a request to its host may
// still begin.
const optOutBound = 3 * time.Second

// TestOptOut: a host is opted out with the API while workers crawl it. No request to
// it begins later than a moment after the response, from any worker, and all its URLs
// get an outcome.
func TestOptOut(t *testing.T) {
	t.Parallel()
	hosts, pages := 4, 10
	if full {
		hosts, pages = 30, 120
	}
	f := newFleet(t, setup{hosts: hosts, pages: pages, pace: 500 * time.Millisecond})
	s := f.service("--no-keys")
	api := f.client(s.base, s.web, "")
	for range 3 {
		f.start()
	}
	f.awaitWorkers(3)
	first := f.submit()
	out := f.lab.Seeds()[1]
	name, _, _ := strings.Cut(strings.TrimPrefix(out, "http://"), ":")
	host := strings.TrimSuffix(out, "/")
	f.until(host+" is crawled", func() bool { return f.requestsTo(host) >= 3 })
	if _, err := api.AddOptOut(t.Context(), client.OptOutRequest{Host: name}); err != nil {
		t.Fatal(err)
	}
	answered := time.Now()
	before := f.requestsTo(host)
	j := f.await(first, f.long(), nil)
	f.judgeOptOut(j, "complete", host, answered)
	// The same after a restart, and for new jobs.
	f.kill(f.workers[0])
	f.leave(f.workers[0])
	f.start()
	j = f.await(f.submitFor(f.lab.Seeds()[1:2]), f.long(), nil)
	f.judgeOptOut(j, "blocked", host, answered)
	f.leaveAll()
	t.Logf("%d requests to %s, %d before the answer", f.requestsTo(host), host, before)
	log := all(f, api.AllOrders(t.Context(), client.ListOrdersParams{}))
	if len(log) != 2 || log[0].What != "set-safety" || log[1].What != "opt out" || log[1].Host != name || log[1].By != "anonymous" || log[1].Before == log[1].After {
		t.Errorf("the log says %+v", log)
	}
	f.polite()
}

// judgeOptOut checks that a job ended properly without the opted-out host.
func (f *fleet) judgeOptOut(j job, state, host string, answered time.Time) {
	f.Helper()
	if j.State != state || j.Waiting != 0 || j.Outcomes["skipped: opted_out"] == 0 {
		f.Errorf("the job is %+v", j)
	}
	for _, r := range f.lab.Log() {
		if late := r.Start.Sub(answered); r.Host == host && late > optOutBound {
			f.Errorf("a request for %s began %v after the answer", r.Target, late)
		}
	}
}
