package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// The metrics of an API server.
var (
	apiRequests = Metric{Name: "headway_api_requests_total", Kind: "counter", Label: "operation, status", Help: "API requests answered, by operation (none for an unknown path) and class of HTTP status"}
	apiSeconds  = Metric{Name: "headway_api_seconds", Kind: "histogram", Label: "le", Help: "response time of API requests, except event streams"}
)

// ServerMetrics lists the metrics of an API server, in the order of the reference.
func ServerMetrics() []Metric { return []Metric{apiRequests, apiSeconds} }

// Server counts the requests of an API server. It is a [prometheus.Collector].
type Server struct {
	requests *prometheus.CounterVec
	seconds  prometheus.Histogram
}

// NewServer returns a collector for an API server.
func NewServer() *Server {
	return &Server{
		prometheus.NewCounterVec(prometheus.CounterOpts{Name: apiRequests.Name, Help: apiRequests.Help}, []string{"operation", "status"}),
		prometheus.NewHistogram(prometheus.HistogramOpts{Name: apiSeconds.Name, Help: apiSeconds.Help, Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10}}),
	}
}

// Observe counts a request; a stream has no duration.
func (s *Server) Observe(operation string, status int, took time.Duration) {
	s.requests.WithLabelValues(operation, strconv.Itoa(status/100)+"xx").Inc()
	if took > 0 {
		s.seconds.Observe(took.Seconds())
	}
}

// Describe implements [prometheus.Collector].
func (s *Server) Describe(to chan<- *prometheus.Desc) {
	s.requests.Describe(to)
	s.seconds.Describe(to)
}

// Collect implements [prometheus.Collector].
func (s *Server) Collect(to chan<- prometheus.Metric) {
	s.requests.Collect(to)
	s.seconds.Collect(to)
}
