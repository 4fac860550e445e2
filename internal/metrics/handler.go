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
	maxScrapes    = 4 // at once; more are turned away with 503
	scrapeTimeout = 10 * time.Second
)

// Probe answers yes with nil, or says what is wrong.
type Probe func() error

// Handler serves what the collectors show, with the process's own use of memory,
// processor and files, and the two questions of whoever runs it. Live is whether
// the process should go on, ready whether it does its work; a nil probe says yes.
func Handler(version string, live, ready Probe, shown ...prometheus.Collector) (http.Handler, error) {
	registry := prometheus.NewRegistry()
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "headway_build_info", Help: "1; the labels say what runs",
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

// ServeHTTP answers 200 for yes and 503 with the reason for no.
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
