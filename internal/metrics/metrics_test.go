package metrics_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"headway/frontier"
	"headway/gauge"
	"headway/internal/metrics"
	"headway/job"
	"headway/politeness"
	"headway/store"
	"headway/visit"
)

// busy is a reading in which all numbers are different.
func busy() gauge.Reading {
	r := gauge.Reading{
		At: time.Unix(1_700_000_000, 0), Life: 3, Slots: 512, Tenure: store.NewTenure(store.Terms{}, time.Now()),
		Jobs: map[job.State]int{job.Running: 4, job.Paused: 1}, Frontier: frontier.Stats{Working: 9, Ready: 2},
		Totals: gauge.Totals{
			Requests: map[frontier.Kind]int64{frontier.Page: 100, frontier.Robots: 9, frontier.Sitemap: 5}, Answers: 110, Unheard: 4,
			Refusals: map[int]int64{429: 7, 503: 2}, Retries: map[politeness.Charge]int64{politeness.ChargeRefusal: 6, politeness.ChargeFailure: 3},
			Pages: 88, Outcomes: map[visit.Outcome]int64{visit.Fetched: 80, visit.Dead: 8}, Bytes: 123456, Incidents: 5, Holds: 11, Slowed: 12, Quickened: 13,
			Cuts: 14, Opened: 15, Cancelled: 16, ShortGaps: 17, OverCap: 18, StoreErrors: 19,
			Segments: gauge.Segments{Written: 23, Bytes: 24, Failed: 25, Took: 26 * time.Second},
		},
		Layers: []gauge.Layer{{Name: "workers", Setting: "workers", Limit: 512, Use: 20, Waiting: 21, Waited: 22 * time.Second}},
		Hosts:  []gauge.HostTime{{State: frontier.Fetching, Hosts: 3, Spent: time.Minute}, {State: frontier.Waiting(visit.WaitPace), Hosts: 6, Spent: 3 * time.Minute}},
	}
	r.Commits.N, r.Commits.Sum, r.Commits.In[1], r.Commits.In[3] = 30, 2*time.Second, 20, 9
	return r
}

// TestWorker reads a gauge as Prometheus does.
func TestWorker(t *testing.T) {
	var g gauge.Gauge
	g.Set(busy())
	want := `
# HELP headway_archive_bytes_total bytes of the segments written to the archive
# TYPE headway_archive_bytes_total counter
headway_archive_bytes_total 24
# HELP headway_archive_errors_total failed attempts to write a segment, including those that were retried
# TYPE headway_archive_errors_total counter
headway_archive_errors_total 25
# HELP headway_archive_seconds_total time spent writing segments, summed over all attempts
# TYPE headway_archive_seconds_total counter
headway_archive_seconds_total 26
# HELP headway_archive_segments_total segments written to the archive: one for each job and commit with raw responses
# TYPE headway_archive_segments_total counter
headway_archive_segments_total 23
# HELP headway_commit_seconds duration of commits, including retries
# TYPE headway_commit_seconds histogram
headway_commit_seconds_bucket{le="0.005"} 0
headway_commit_seconds_bucket{le="0.01"} 20
headway_commit_seconds_bucket{le="0.025"} 20
headway_commit_seconds_bucket{le="0.05"} 29
headway_commit_seconds_bucket{le="0.1"} 29
headway_commit_seconds_bucket{le="0.25"} 29
headway_commit_seconds_bucket{le="0.5"} 29
headway_commit_seconds_bucket{le="1"} 29
headway_commit_seconds_bucket{le="2.5"} 29
headway_commit_seconds_bucket{le="5"} 29
headway_commit_seconds_bucket{le="10"} 29
headway_commit_seconds_bucket{le="30"} 29
headway_commit_seconds_bucket{le="+Inf"} 30
headway_commit_seconds_sum 2
headway_commit_seconds_count 30
# HELP headway_host_seconds_total time that hosts with work spent in each state; a host is in one state at a time, so the shares add up to 1
# TYPE headway_host_seconds_total counter
headway_host_seconds_total{state="fetching"} 60
headway_host_seconds_total{state="pace"} 180
# HELP headway_layer_waited_seconds_total total time spent waiting for a layer, summed over everything that waited
# TYPE headway_layer_waited_seconds_total counter
headway_layer_waited_seconds_total{layer="workers"} 22
# HELP headway_lease_valid 1 while the lease is valid and requests may start
# TYPE headway_lease_valid gauge
headway_lease_valid 1
# HELP headway_refusals_total refusals: responses 429 and 503, in preset warm also 403
# TYPE headway_refusals_total counter
headway_refusals_total{status="403"} 0
headway_refusals_total{status="429"} 7
headway_refusals_total{status="503"} 2
# HELP headway_rejoins_total times the worker lost its lease or its database and rejoined the fleet
# TYPE headway_rejoins_total counter
headway_rejoins_total 2
# HELP headway_retries_total attempts after which a URL is retried, by what the attempt counts against
# TYPE headway_retries_total counter
headway_retries_total{cause="failure"} 3
headway_retries_total{cause="refusal"} 6
headway_retries_total{cause="uncharged"} 0
`
	names := []string{
		"headway_archive_bytes_total", "headway_archive_errors_total", "headway_archive_seconds_total", "headway_archive_segments_total",
		"headway_commit_seconds", "headway_host_seconds_total", "headway_layer_waited_seconds_total", "headway_lease_valid", "headway_refusals_total", "headway_rejoins_total",
		"headway_retries_total",
	}
	if err := testutil.CollectAndCompare(metrics.NewWorker(&g), strings.NewReader(want), names...); err != nil {
		t.Error(err)
	}
	problems, err := testutil.CollectAndLint(metrics.NewWorker(&g))
	if err != nil || len(problems) > 0 {
		t.Errorf("%v %+v", err, problems)
	}
}

// TestEveryMetricIsShown: each metric of the reference is in the first scrape, with
// its documented labels only.
func TestEveryMetricIsShown(t *testing.T) {
	for name, r := range map[string]gauge.Reading{"before the first reading": {}, "at work": busy()} {
		t.Run(name, func(t *testing.T) {
			var g gauge.Gauge
			if !r.At.IsZero() {
				g.Set(r)
			}
			registry := prometheus.NewPedanticRegistry()
			registry.MustRegister(metrics.NewWorker(&g))
			families, err := registry.Gather()
			if err != nil {
				t.Fatal(err)
			}
			shown := map[string]bool{}
			for _, f := range families {
				shown[f.GetName()] = true
				i := slices.IndexFunc(metrics.Metrics(), func(m metrics.Metric) bool { return m.Name == f.GetName() })
				for _, m := range f.GetMetric() {
					for _, l := range m.GetLabel() {
						if l.GetName() != metrics.Metrics()[i].Label {
							t.Errorf("%s has label %s", f.GetName(), l.GetName())
						}
					}
				}
			}
			for _, m := range metrics.Metrics() {
				late := m.Label == "layer" || m.Name == "headway_hosts" || m.Name == "headway_host_seconds_total"
				if !shown[m.Name] && !(r.At.IsZero() && late) {
					t.Errorf("%s is not shown", m.Name)
				}
			}
		})
	}
}

// TestProbes checks the health of a worker in each phase of its life.
func TestProbes(t *testing.T) {
	terms := store.Terms{}.WithDefaults()
	for name, tc := range map[string]struct {
		show        func(*gauge.Reading) // nil: nothing yet
		later       time.Duration
		live, ready string // empty: yes
	}{
		"before it has joined": {nil, 0, "", "has not joined"},
		"at work":              {func(*gauge.Reading) {}, 0, "", ""},
		"left":                 {func(r *gauge.Reading) { r.Over = true }, 0, "", "has left"},
		"left long ago":        {func(r *gauge.Reading) { r.Over = true }, time.Hour, "", "has left"},
		"no store":             {func(*gauge.Reading) {}, terms.Start, "", "was not renewed"},
		"stuck":                {func(*gauge.Reading) {}, time.Hour, "stuck for 1h0m0s", "was not renewed"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var g gauge.Gauge
				if tc.show != nil {
					r := gauge.Reading{At: time.Now(), Life: 1, Tenure: store.NewTenure(terms, time.Now())}
					tc.show(&r)
					g.Set(r)
				}
				time.Sleep(tc.later)
				w := metrics.NewWorker(&g)
				h, err := metrics.Handler("v1", w.Live, w.Ready, w)
				if err != nil {
					t.Fatal(err)
				}
				for path, want := range map[string]string{metrics.LivePath: tc.live, metrics.ReadyPath: tc.ready} {
					status, body := get(h, path)
					if want == "" && (status != http.StatusOK || body != "ok\n") || want != "" && (status != http.StatusServiceUnavailable || !strings.Contains(body, want)) {
						t.Errorf("%s: %d %q, want %q", path, status, body, want)
					}
				}
			})
		})
	}
}

// TestHandler serves each collector once.
func TestHandler(t *testing.T) {
	var g gauge.Gauge
	g.Set(busy())
	w := metrics.NewWorker(&g)
	h, err := metrics.Handler("v1.2", nil, nil, w)
	if err != nil {
		t.Fatal(err)
	}
	_, body := get(h, metrics.MetricsPath)
	for _, line := range []string{`headway_build_info{go="go`, `version="v1.2"} 1`, "\nheadway_pages_total 88\n", "\ngo_goroutines ", "\nheadway_slots 512\n"} {
		if !strings.Contains(body, line) {
			t.Errorf("no %q in\n%s", line, body)
		}
	}
	for path, want := range map[string]int{metrics.LivePath: 200, metrics.ReadyPath: 200, "/": 404, "/debug/pprof/": 404} {
		if status, _ := get(h, path); status != want {
			t.Errorf("%s: %d, want %d", path, status, want)
		}
	}
	if _, err := metrics.Handler("v1.2", nil, nil, w, w); err == nil {
		t.Error("one worker was shown twice")
	}
}

func get(h http.Handler, path string) (status int, body string) {
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, path, nil))
	b, err := io.ReadAll(rec.Result().Body)
	if err != nil {
		panic(err)
	}
	return rec.Code, string(b)
}

// BenchmarkScrape measures a scrape, which costs the main loop nothing.
func BenchmarkScrape(b *testing.B) {
	var g gauge.Gauge
	g.Set(busy())
	w := metrics.NewWorker(&g)
	h, err := metrics.Handler("v1", nil, nil, w)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		get(h, metrics.MetricsPath)
	}
}
