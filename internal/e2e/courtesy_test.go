package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http/httptrace"
	"slices"
	"strings"
	"testing"
	"time"

	"headway/answer"
	"headway/lab"
	"headway/lab/temper"
)

// mostLag is the bound for the median difference between both timestamps of a request
// on a host, without the time in which the machine stalled, and without the median of
// requests that the test sends meanwhile ([world.ownLag]). Single requests may differ
// more on a busy machine. Under the race detector at a load of 8 to 25 on two cores
// the medians were 0.1 to 10 ms and the longest 3 to 73 ms, and once 14 ms on a host with few
// requests: there the best of three crawls counts.
const mostLag = 10 * time.Millisecond

// ownLag sends requests to a lab of its own until it is stopped, and returns the median
// difference between both timestamps: it is what the machine adds.
func (w *world) ownLag() (stop func() time.Duration) {
	other := newWorld(w.T, lab.Config{Hosts: lab.Uniform(1, site(1))})
	ctx, cancel := context.WithCancel(w.Context())
	var sent []time.Time
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { sent = append(sent, time.Now()) }})
	ended := make(chan error, 1)
	go func() {
		for tick := time.NewTicker(50 * time.Millisecond); ; { // as often as the crawl sends
			select {
			case <-ctx.Done():
				ended <- nil
				return
			case <-tick.C:
			}
			if _, err := fetched(context.WithoutCancel(ctx), other.lab.Seeds()[0]); err != nil {
				ended <- err
				return
			}
		}
	}()
	return func() time.Duration {
		cancel()
		if err := <-ended; err != nil {
			w.Fatal(err)
		}
		log := other.lab.Log()
		if len(log) == 0 || len(log) != len(sent) {
			w.Fatalf("the test sent %d requests, the lab has %d", len(sent), len(log))
		}
		var lags []time.Duration
		for i, r := range log {
			early, late := sent[i], r.Start
			if early.After(late) {
				early, late = late, early
			}
			lags = append(lags, late.Sub(early)-w.stalls.Between(early, late))
		}
		slices.Sort(lags)
		return lags[len(lags)/2]
	}
}

// agrees compares a receipt with the requests of its host. A gap between two
// timestamps of the lab differs from that between the crawl's by the difference of two
// lags, in either direction, so gaps are compared on one clock. The concurrency is at
// least what both sides agree on, and the lab cannot have seen more than either side
// did. It returns by how much the timestamps of both sides differ in the median.
func (w *world) agrees(host string, r *answer.Receipt, list []exchange, seen int, own time.Duration) (lag time.Duration) {
	w.Helper()
	var sent []time.Time
	var lags []time.Duration
	var both, either, crawl []moments
	for _, x := range list {
		early, late := x.sent, x.start // of the two timestamps
		if early.After(late) {
			early, late = late, early
		}
		sent, lags = append(sent, x.sent), append(lags, late.Sub(early)-w.stalls.Between(early, late))
		both, either, crawl = append(both, moments{late, x.answer}), append(either, moments{x.left(), x.end}), append(crawl, moments{x.sent, x.end})
	}
	slices.SortFunc(sent, time.Time.Compare)
	gap := time.Duration(math.MaxInt64)
	for i := range sent[1:] {
		gap = min(gap, sent[i+1].Sub(sent[i]))
	}
	slices.Sort(lags)
	w.Logf("%s: lags of %v in the median, %v at most, %v of the test; at once %d by both, %d by the crawl, %d by either", host, lags[len(lags)/2], lags[len(lags)-1], own, atMost(both), atMost(crawl), atMost(either))
	if r.SmallestGap == nil || r.SmallestGap.Duration() != gap.Truncate(time.Millisecond) {
		w.Errorf("%s: a smallest gap of %v, the requests left %v apart", host, r.SmallestGap, gap)
	}
	if r.PeakConcurrency != atMost(crawl) || r.PeakConcurrency < atMost(both) || seen > atMost(either) {
		w.Errorf("%s: %d at once, the server saw %d; by both %d, by the crawl %d, by either %d", host, r.PeakConcurrency, seen, atMost(both), atMost(crawl), atMost(either))
	}
	return lags[len(lags)/2]
}

// TestCourtesyAgreesWithServer compares receipts with the lab's own counters: of a
// fast host that responds slowly, and of one that refuses. A busy machine may delay the
// requests of one crawl, but not those of three in a row.
func TestCourtesyAgreesWithServer(t *testing.T) {
	t.Parallel()
	for try := 1; ; try++ {
		lag, own := courtesyAgrees(t)
		if lag <= mostLag+own {
			return
		}
		t.Logf("crawl %d: the timestamps of both sides are %v apart in the median, those of the test %v", try, lag, own)
		if try == 3 {
			t.Errorf("the timestamps of both sides are too far apart, want %v more than those of the test", mostLag)
			return
		}
	}
}

// courtesyAgrees compares the receipts of one crawl. It returns by how much the timestamps of
// both sides, and those of the test, differ on the host where they differ most.
func courtesyAgrees(t *testing.T) (lag, own time.Duration) {
	t.Helper()
	slow := site(60, func(t *lab.Temper) { t.Rules.Latency = temper.Constant(120 * time.Millisecond) })
	limited := site(25, func(t *lab.Temper) { t.Rules.Limits = []temper.Limit{{Rate: 4, Burst: 2}} })
	w := newWorld(t, lab.Config{Hosts: []lab.HostSpec{{Name: "slow.test", Temper: slow}, {Name: "limited.test", Temper: limited}}})
	measured := w.ownLag()
	w.run(w.crawl("one", "--preset", "owned", "--delay", "50ms", "--sitemaps", "off"), 0)
	own = measured()
	w.complete()
	w.honouredRefusals("one")
	exchanges := w.exchanges("one")
	for _, s := range w.lab.Stats().PerHost {
		host := strings.TrimSuffix(s.Host, "/")
		var r answer.Receipt
		if err := json.Unmarshal([]byte(w.run(w.command("courtesy", host, "--dir", "one", "--json"), 0)), &r); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: receipt %d requests, %d pages, peak %d, gap %v ms, %d refusals in %d incidents, %d inside Retry-After; server %d+%d requests, %d pages, peak %d, gap %.1f ms (%.1f with robots.txt), %d refusals",
			host, r.Requests, r.Pages, r.PeakConcurrency, r.SmallestGap.Duration().Milliseconds(), r.Refusals, len(r.Incidents), r.SentInside,
			s.Requests-s.RobotsFetches, s.RobotsFetches, s.PageAnswers, s.MaxConcurrent, s.MinGapMS, s.MinGapAnyMS, s.Refusals)
		if want := s.Requests - s.RobotsFetches - s.SitemapFetches; r.Requests != want {
			t.Errorf("%s: %d requests, the server counted %d", host, r.Requests, want)
		}
		if r.Pages != s.PageAnswers || r.Refusals != s.Refusals {
			t.Errorf("%s: %d pages and %d refusals, the server counted %d and %d", host, r.Pages, r.Refusals, s.PageAnswers, s.Refusals)
		}
		if r.AllSent < s.Requests {
			t.Errorf("%s: %d requests in all, the server counted %d", host, r.AllSent, s.Requests)
		}
		lag = max(lag, w.agrees(host, &r, exchanges[host], s.MaxConcurrent, own))
		// Those that crossed a refusal, as honouredRefusals has checked.
		if int64(r.SentInside) > s.InsideRetryAfter || int64(len(r.Incidents)) > r.Refusals {
			t.Errorf("%s: %d requests inside a Retry-After, the server counted %d; %d incidents", host, r.SentInside, s.InsideRetryAfter, len(r.Incidents))
		}
		if len(r.Robots) != 1 || r.Robots[0].Bytes <= 0 || !strings.HasPrefix(r.Who.UserAgent, "headway/") {
			t.Errorf("%s: robots %+v, who %+v", host, r.Robots, r.Who)
		}
		if s.Refusals > 0 && (len(r.PaceChanges) == 0 || r.Now == nil || r.Now.Source != "learned") {
			t.Errorf("%s: refused %d times, and the pace: %+v, %+v", host, s.Refusals, r.PaceChanges, r.Now)
		}
		for _, format := range []string{"text", "html"} {
			text := w.run(w.command("courtesy", host, "--dir", "one", "--format", format), 0)
			for _, want := range []string{host, fmt.Sprint(r.Requests), "Retry-After", "robots.txt"} {
				if !strings.Contains(text, want) {
					t.Errorf("%s: the %s does not say %q:\n%s", host, format, want, text)
				}
			}
		}
	}
	if s := w.lab.Stats().PerHost; s[1].Refusals == 0 || s[0].MaxConcurrent < 2 {
		t.Errorf("nothing to compare: %d refusals, %d at once", s[1].Refusals, s[0].MaxConcurrent)
	}
	return lag, own
}

// TestHostsAndCourtesyWhileItRuns queries a running crawl.
func TestHostsAndCourtesyWhileItRuns(t *testing.T) {
	t.Parallel()
	const delay = time.Second
	w := newWorld(t, lab.Config{Hosts: lab.Uniform(2, site(50, func(t *lab.Temper) { t.Site.CrawlDelay = delay }))})
	cmd := w.crawl("one", "--preset", "owned")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait() // it was killed
	}()
	w.eventually(func() bool { return w.lab.Stats().Total.PageAnswers >= 4 })
	var list answer.Hosts
	if err := json.Unmarshal([]byte(w.run(w.command("hosts", "--dir", "one", "--json"), 0)), &list); err != nil {
		t.Fatal(err)
	}
	if !list.Running || list.Total != 2 || len(list.Hosts) != 2 {
		t.Fatalf("hosts %+v", list)
	}
	for _, h := range list.Hosts {
		if h.Pace.Duration() != delay || h.Source != "crawl_delay" || h.State == "" || h.Waiting < 1 || h.ETA.Duration() < delay {
			t.Errorf("host %+v", h)
		}
	}
	var r answer.Receipt
	if err := json.Unmarshal([]byte(w.run(w.command("courtesy", list.Hosts[0].Host.Host, "--dir", "one", "--json"), 0)), &r); err != nil {
		t.Fatal(err)
	}
	if !r.Running || r.Requests < 1 || r.PeakConcurrency != 1 || r.SmallestGap != nil && r.SmallestGap.Duration() < delay {
		t.Errorf("receipt %+v", r)
	}
	var runs struct {
		Runs []struct {
			Dir     string `json:"dir"`
			Running bool   `json:"running"`
		} `json:"runs"`
	}
	if err := json.Unmarshal([]byte(w.run(w.command("runs", "--json"), 0)), &runs); err != nil {
		t.Fatal(err)
	}
	if len(runs.Runs) != 1 || runs.Runs[0].Dir != "one" || !runs.Runs[0].Running {
		t.Errorf("runs %+v", runs)
	}
	w.run(w.command("rm", "one", "--yes"), 5)
}
