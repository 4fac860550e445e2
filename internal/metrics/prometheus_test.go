package metrics_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"headway/internal/cli"
	"headway/internal/metrics"
	"headway/internal/pgtest"
	"headway/lab"
	"headway/lab/labtest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"headway": func() { os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
	})
}

// The hosts of the test. Hosts that refuse every other page are soon crawled slowly:
// there are many of them, so that refusals stay a large part of all responses.
const (
	servingHosts  = 4
	refusingHosts = 20
	pagesEach     = 200 // more than the test waits for
)

// patience is how long to wait for anything, on a busy machine.
const patience = time.Minute

// scene is a running worker and a Prometheus that scrapes it.
type scene struct {
	*testing.T
	dir    string
	lab    *lab.Lab
	db     *pgtest.Cluster
	worker *exec.Cmd
	server *exec.Cmd
	prom   string // its address

	visits, commits atomic.Int64 // spans that the collector received
}

// collect starts an OpenTelemetry collector.
func (s *scene) collect() (endpoint string) {
	c := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			s.Error(err)
		}
		s.visits.Add(int64(bytes.Count(body, []byte(`"name":"visit"`))))
		s.commits.Add(int64(bytes.Count(body, []byte(`"name":"commit"`))))
	}))
	s.Cleanup(c.Close)
	return c.URL
}

// headway makes a command of headway.
func (s *scene) headway(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(context.Background(), "headway", args...)
	cmd.Dir = s.dir
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "HEADWAY_") })
	cmd.Env = append(cmd.Env, "XDG_STATE_HOME="+s.dir, "XDG_CONFIG_HOME="+s.dir, "HOME="+s.dir, "HEADWAY_FLEET_STORE="+s.db.DSN("postgres"))
	return cmd
}

// start runs a command until the test ends.
func (s *scene) start(cmd *exec.Cmd) {
	s.Helper()
	if err := cmd.Start(); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
	})
}

// startWorker starts a worker and returns where its metrics are.
func (s *scene) startWorker() (address string) {
	s.Helper()
	port := s.lab.Addr().(*net.TCPAddr).Port
	if out, err := s.headway("admin", "safety", "set", "--lease", "6s", "--max-pages", "0", "--max-concurrent", "0", "--max-time", "0s").CombinedOutput(); err != nil {
		s.Fatalf("%v: %s", err, out)
	}
	s.worker = s.headway("worker", "--listen", "127.0.0.1:0", "--log", "json", "--traces", s.collect(), "--lease", "6s", "--workers", "64", "--allow-private", fmt.Sprintf("127.0.0.0/8:%d", port))
	return s.says(s.worker, "metrics at http://")[0]
}

// startServer starts an API server and returns its address and that of its metrics.
func (s *scene) startServer() (api, address string) {
	s.Helper()
	s.server = s.headway("serve", "--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0", "--no-keys", "--log", "json")
	found := s.says(s.server, "metrics at http://", "serving the API at http://")
	return found[1], found[0]
}

// says starts a command and returns what it logs after each of the words. Every line
// must be JSON.
func (s *scene) says(cmd *exec.Cmd, words ...string) []string {
	s.Helper()
	errs, err := cmd.StderrPipe()
	if err != nil {
		s.Fatal(err)
	}
	s.start(cmd)
	type part struct {
		n    int
		text string
	}
	found := make(chan part, len(words))
	go func() {
		for lines := bufio.NewScanner(errs); lines.Scan(); {
			var record struct{ Level, Msg string }
			if err := json.Unmarshal(lines.Bytes(), &record); err != nil || record.Level == "" {
				s.Errorf("%s said %q: %v", cmd.Args[1], lines.Text(), err)
			}
			for n, w := range words {
				if _, at, ok := strings.Cut(record.Msg, w); ok {
					found <- part{n, strings.TrimSuffix(at, metrics.MetricsPath)}
				}
			}
		}
	}()
	list := make([]string, len(words))
	for range words {
		select {
		case p := <-found:
			list[p.n] = p.text
		case <-time.After(patience):
			s.Fatalf("%s does not listen", cmd.Args[1])
		}
	}
	return list
}

// Durations of the alert rules, shortened: their range, and how long they wait before
// they fire.
const (
	lookBack = 60
	waitFor  = 120
)

// shortened divides the durations of the rules.
func shortened(rules string) string {
	divide := func(by time.Duration) func(string) string {
		return func(text string) string {
			return regexp.MustCompile(`\d+m`).ReplaceAllStringFunc(text, func(d string) string {
				n, err := strconv.Atoi(strings.TrimSuffix(d, "m"))
				if err != nil {
					panic(err)
				}
				return fmt.Sprintf("%dms", (time.Duration(n) * time.Minute / by).Milliseconds())
			})
		}
	}
	rules = regexp.MustCompile(`\[\d+m\]`).ReplaceAllStringFunc(rules, divide(lookBack))
	return regexp.MustCompile(`for: \d+m`).ReplaceAllStringFunc(rules, divide(waitFor))
}

// startPrometheus starts a Prometheus that scrapes a worker and a server with our
// rules.
func (s *scene) startPrometheus(worker, server string) {
	s.Helper()
	l, err := (&net.ListenConfig{}).Listen(s.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		s.Fatal(err)
	}
	s.prom = l.Addr().String()
	if err := l.Close(); err != nil {
		s.Fatal(err)
	}
	s.write("headway.rules.yml", shortened(read(s.T, rulesFile)))
	s.write("prometheus.yml", fmt.Sprintf(`
global: {scrape_interval: 500ms, scrape_timeout: 500ms, evaluation_interval: 500ms}
rule_files: [headway.rules.yml]
scrape_configs:
  - {job_name: headway, static_configs: [{targets: ["%s"]}]}
  - {job_name: headway-serve, static_configs: [{targets: ["%s"]}]}
`, worker, server))
	var said bytes.Buffer
	cmd := exec.CommandContext(context.Background(), installed(s.T, "prometheus"), "--config.file=prometheus.yml", "--storage.tsdb.path=data", "--web.listen-address="+s.prom, "--log.level=warn")
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, &said, &said
	s.Cleanup(func() { // after it has ended
		if s.Failed() {
			s.Logf("Prometheus said:\n%s", &said)
		}
	})
	s.start(cmd)
}

func (s *scene) write(name, text string) {
	s.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
}

// sample is one result of a query.
type sample struct {
	Metric map[string]string
	Value  [2]any
}

// get sends a request to the API of Prometheus.
func (s *scene) get(path string, into any) error {
	req, err := http.NewRequestWithContext(s.Context(), http.MethodGet, "http://"+s.prom+path, nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", res.Status, body)
	}
	return json.Unmarshal(body, into)
}

// query returns the values of an expression.
func (s *scene) query(expr string) ([]float64, error) {
	var answer struct{ Data struct{ Result []sample } }
	if err := s.get("/api/v1/query?query="+url.QueryEscape(expr), &answer); err != nil {
		return nil, err
	}
	var list []float64
	for _, r := range answer.Data.Result {
		text, ok := r.Value[1].(string)
		v, err := strconv.ParseFloat(text, 64)
		if !ok || err != nil {
			return nil, fmt.Errorf("%s: %v", expr, r.Value)
		}
		list = append(list, v)
	}
	return list, nil
}

// wait queries an expression until its values are as expected: a late scrape on a busy
// machine leaves Prometheus without a value until the next one.
func (s *scene) wait(expr string, ok func([]float64) bool) []float64 {
	s.Helper()
	var last []float64
	var err error
	// Prometheus scrapes at its own times and reports none, so it is polled.
	for began := time.Now(); time.Since(began) < patience; time.Sleep(100 * time.Millisecond) {
		if last, err = s.query(expr); err == nil && ok(last) {
			return last
		}
	}
	s.Fatalf("%s: %v, %v", expr, last, err)
	return nil
}

// eventually waits until an expression has an expected value.
func (s *scene) eventually(expr string, ok func(float64) bool) {
	s.Helper()
	s.wait(expr, func(list []float64) bool { return len(list) == 1 && ok(list[0]) })
}

// one is the single value of an expression.
func (s *scene) one(expr string) float64 {
	s.Helper()
	return s.wait(expr, func(list []float64) bool { return len(list) == 1 })[0]
}

// fires waits for an alert.
func (s *scene) fires(alert string) {
	s.Helper()
	began := time.Now()
	s.eventually(fmt.Sprintf(`count(ALERTS{alertname=%q, alertstate="firing"})`, alert), func(v float64) bool { return v > 0 })
	s.Logf("%s fires after %v", alert, time.Since(began).Round(100*time.Millisecond))
}

func some(list []float64) bool { return len(list) > 0 }

func is(want float64) func(float64) bool { return func(v float64) bool { return v == want } }

// TestPrometheus scrapes a worker that crawls a lab that mostly refuses: all metrics
// are there, add up and match the lab's counters; every query of the dashboard has a
// result; alerts fire for refusals, for an unreachable store (no valid lease, failing
// commits, slots without owner, failing API) and for a killed worker and server.
func TestPrometheus(t *testing.T) {
	if testing.Short() {
		t.Skip("starts Prometheus, PostgreSQL, a server and workers, and waits for scrapes and alerts")
	}
	t.Parallel()
	installed(t, "prometheus")
	site := lab.DefaultSite()
	site.Pages, site.MinKB, site.MaxKB = pagesEach, 2, 6
	serving, refusing := lab.Temper{Site: site}, lab.Temper{Site: site}
	refusing.Rules.ErrorRate = 0.5
	s := &scene{T: t, dir: t.TempDir()}
	specs := lab.Uniform(servingHosts+refusingHosts, serving)
	for i := range refusingHosts {
		specs[i].Temper = refusing
	}
	s.lab = labtest.Serve(t, lab.Config{Hosts: specs})
	s.db = pgtest.StartFor(t, pgtest.Config{})
	address := s.startWorker()
	api, server := s.startServer()
	s.startPrometheus(address, server)
	s.useAPI(api)
	if out, err := s.headway(append([]string{"job", "submit", "--delay", "500ms"}, s.lab.Seeds()...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	// Every host has work, and every second of each is charged to one state.
	const hosts = servingHosts + refusingHosts
	s.eventually(`min_over_time(sum(headway_hosts)[5s:500ms]) and count_over_time(sum(headway_hosts)[5s:500ms]) > 8`, is(hosts))
	since := func(metric string) string { return fmt.Sprintf("(sum(%s) - sum(%s offset 3s))", metric, metric) }
	if got := s.one(since("headway_host_seconds_total") + "/" + since("headway_last_reading_timestamp_seconds")); math.Abs(got-hosts) > 0.01*hosts {
		t.Errorf("%d hosts with work spent %.3f seconds a second", hosts, got)
	}
	s.eventually("sum(headway:host_seconds:share5m)", func(v float64) bool { return math.Abs(v-1) < 1e-9 })
	s.eventually(`sum(rate(headway_api_seconds_count[5s]))`, func(v float64) bool { return v > 0 })
	for _, m := range slices.Concat(metrics.Metrics(), metrics.ServerMetrics()) {
		name := m.Name
		if m.Kind == "histogram" {
			name += "_count"
		}
		if list := s.wait(name, some); len(m.Values) > 0 && len(list) != len(m.Values) {
			t.Errorf("%s: %v; labels %v", name, list, m.Values)
		}
	}
	if n := s.one("count(headway_layer_use)"); n != 15 {
		t.Errorf("%v layers", n)
	}

	// The lab refuses: only this alert fires.
	s.fires("HeadwayRefusals")
	for _, p := range board(t) {
		for _, q := range p.Targets {
			expr := strings.NewReplacer("$job", ".+", "$__rate_interval", "5s").Replace(q.Expr)
			s.wait(expr, some)
		}
	}
	// Durations are shortened here, so on a busy machine a worker is rightly taken for
	// gone, or it and its store for slow.
	if list, err := s.query(`ALERTS{alertstate="firing", alertname!~"HeadwayRefusals|HeadwayAPIGone|HeadwayWorkerGone|HeadwayNoWorkers|HeadwaySlotsUnowned|HeadwayNoProgress|HeadwayLoopStuck|HeadwayStoreSlow"}`); err != nil || len(list) > 0 {
		t.Errorf("other alerts fire: %v, %v", list, err)
	}

	// The metrics match the lab's counters.
	if out, err := s.headway("job", "pause", "1").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s.eventually(`sum(headway_jobs{state="paused"}) + sum(headway_hosts{state="fetching"}) + sum(headway_layer_use{layer="workers"})`, is(1))
	saw := s.lab.Stats().Total
	s.eventually("sum(headway_requests_total)", is(float64(saw.Requests)))
	for expr, want := range map[string]int64{
		`headway_requests_total{kind="robots"}`: saw.RobotsFetches, "sum(headway_refusals_total)": saw.Refusals, "headway_received_bytes_total": saw.BytesOut,
		"headway_gap_violations_total": 0, "headway_in_flight_over_cap_total": 0, "headway_rejoins_total": 0, "headway_slots": 1024, "headway_lease_valid": 1,
	} {
		if got := s.one(expr); got != float64(want) {
			t.Errorf("%s is %v, the lab says %d", expr, got, want)
		}
	}

	// There is a span for each stored page, as far as they were sent by now.
	for began := time.Now(); s.visits.Load() == 0 || s.commits.Load() == 0; time.Sleep(100 * time.Millisecond) {
		if time.Since(began) > patience {
			t.Fatalf("%d visits and %d commits were traced", s.visits.Load(), s.commits.Load())
		}
	}
	if n := s.visits.Load(); float64(n) > s.one("sum(headway_urls_ended_total)") {
		t.Errorf("%d visits were traced, more than there were", n)
	}

	// The store is stopped: the worker is live but not ready.
	s.probe(address, metrics.ReadyPath, http.StatusOK)
	if err := s.db.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.fires("HeadwayNoWorkers")
	s.fires("HeadwayStoreErrors")
	s.fires("HeadwaySlotsUnowned")
	s.fires("HeadwayAPIFails")
	s.probe(address, metrics.ReadyPath, http.StatusServiceUnavailable)
	s.probe(address, metrics.LivePath, http.StatusOK)

	for _, cmd := range []*exec.Cmd{s.worker, s.server} {
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	s.fires("HeadwayWorkerGone")
	s.fires("HeadwayAPIGone")
}

// useAPI requests the jobs of a server repeatedly until the test ends.
func (s *scene) useAPI(address string) {
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		for ctx.Err() == nil {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/v1/jobs", nil)
			if err != nil {
				s.Error(err)
				return
			}
			if res, err := http.DefaultClient.Do(req); err == nil {
				_ = res.Body.Close() // the server counts its status
			}
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond): // real time: requests of a client
			}
		}
	})
	s.Cleanup(func() { stop(); wg.Wait() })
}

// probe checks the health of the worker.
func (s *scene) probe(address, path string, want int) {
	s.Helper()
	req, err := http.NewRequestWithContext(s.Context(), http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		s.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.Fatal(err)
	}
	body, err := io.ReadAll(res.Body)
	if err := errors.Join(err, res.Body.Close()); err != nil || res.StatusCode != want {
		s.Errorf("%s: %s %q, want %d (%v)", path, res.Status, body, want, err)
	}
}
