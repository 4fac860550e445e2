package fleettest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// optOutBound is how long after the answer to an order a request to a host that
// opted out may begin.
const optOutBound = 3 * time.Second

// serveAPI starts a server that asks for no keys, and returns where it listens.
func (f *fleet) serveAPI(args ...string) string {
	f.Helper()
	said := &journal{}
	cmd := f.command([]int{f.db.Port}, append([]string{"serve", "--no-keys", "--listen", "127.0.0.1:0"}, args...)...)
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		f.Fatal(err)
	}
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait() // it is killed
		close(exited)
	}()
	f.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		<-exited
	})
	for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(20 * time.Millisecond) {
		if _, at, ok := strings.Cut(said.String(), "serving the API at "); ok {
			if at, _, whole := strings.Cut(at, "\n"); whole {
				return at
			}
		}
	}
	f.Fatalf("no server after a minute:\n%s", said)
	return ""
}

// ask sends a request to the API that must be answered with a status, and reads the
// answer into a value.
func (f *fleet) ask(want int, method, url string, body, into any) {
	f.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		f.Fatal(err)
	}
	r, err := http.NewRequestWithContext(f.Context(), method, url, bytes.NewReader(text))
	if err != nil {
		f.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		f.Fatal(err)
	}
	defer a.Body.Close()
	if text, err = io.ReadAll(a.Body); err != nil {
		f.Fatal(err)
	}
	if a.StatusCode != want {
		f.Fatalf("%s %s: %d, want %d: %s", method, url, a.StatusCode, want, text)
	}
	if into != nil {
		if err := json.Unmarshal(text, into); err != nil {
			f.Fatal(err)
		}
	}
}

// TestOptOut: a host opts out by the API while workers crawl it. No request to it
// begins later than a moment after the answer, whoever owns it and whoever starts
// later, and none of its URLs is left without an outcome.
func TestOptOut(t *testing.T) {
	t.Parallel()
	hosts, pages := 4, 10
	if full {
		hosts, pages = 30, 120
	}
	f := newFleet(t, setup{hosts: hosts, pages: pages, pace: 500 * time.Millisecond})
	api := f.serveAPI()
	for range 3 {
		f.start()
	}
	f.awaitWorkers(3)
	first := f.submit()
	out := f.lab.Seeds()[1]
	name, _, _ := strings.Cut(strings.TrimPrefix(out, "http://"), ":")
	host := strings.TrimSuffix(out, "/")
	for began := time.Now(); f.requestsTo(host) < 3; time.Sleep(50 * time.Millisecond) {
		if time.Since(began) > time.Minute {
			t.Fatalf("%s is not crawled", host)
		}
	}
	f.ask(http.StatusOK, http.MethodPost, api+"/v1/opt-outs", map[string]string{"host": name}, nil)
	answered := time.Now()
	before := f.requestsTo(host)
	j := f.await(first, f.long(), nil)
	f.judgeOptOut(j, "complete", host, answered)
	// The same after a restart, and for whoever asks next.
	f.kill(f.workers[0])
	f.leave(f.workers[0])
	f.start()
	j = f.await(f.submitFor(f.lab.Seeds()[1:2]), f.long(), nil)
	f.judgeOptOut(j, "blocked", host, answered)
	f.leaveAll()
	t.Logf("%d requests to %s, %d before the answer", f.requestsTo(host), host, before)
	var log struct {
		Orders []struct{ By, What, Host, Before, After string }
	}
	f.ask(http.StatusOK, http.MethodGet, api+"/v1/orders", nil, &log)
	if len(log.Orders) != 1 || log.Orders[0].What != "opt out" || log.Orders[0].Host != name || log.Orders[0].By != "anonymous" || log.Orders[0].Before == log.Orders[0].After {
		t.Errorf("the log says %+v", log.Orders)
	}
	f.polite()
}

// judgeOptOut wants a job to have ended in order without what opted out.
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
