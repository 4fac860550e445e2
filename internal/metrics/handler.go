package metrics

import (
	"fmt"
	"net/http"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Paths that [Handler] serves.
const (
	MetricsPath = "/metrics"
	LivePath    = "/livez"
	ReadyPath   = "/readyz"
)

// Bounds of a scrape.
const (
	maxScrapes    = 4 // concurrent; more get 503
	scrapeTimeout = 10 * time.Second
)

// Probe is a health check: nil for healthy, or what is wrong.
type Probe func() error

// Handler serves the metrics of the collectors, with the process's own use of memory,
// processor and files, and two health checks. Live is whether
// the process should keep running, ready whether it does its work; a nil probe always succeeds.
func Handler(version string, live, ready Probe, shown ...prometheus.Collector) (http.Handler, error) {
	registry := prometheus.NewRegistry()
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "headway_build_info", Help: "1; the labels give the version of headway and Go",
		ConstLabels: prometheus.Labels{"version": version, "go": runtime.Version()},
	})
	build.Set(1)
	for _, c := range append(shown, build, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})) {
		if err := registry.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	mux := http.NewServeMux()
	mux.Handle("GET "+MetricsPath, promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: maxScrapes, Timeout: scrapeTimeout}))
	mux.Handle("GET "+LivePath, live)
	mux.Handle("GET "+ReadyPath, ready)
	return mux, nil
}

// ServeHTTP answers 200, or 503 with the reason.
func (p Probe) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	if p != nil {
		if err := p(); err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprintln(w, err)
			return
		}
	}
	fmt.Fprintln(w, "ok")
}
