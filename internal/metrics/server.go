package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// The metrics of a server of the API.
var (
	apiRequests = Metric{Name: "headway_api_requests_total", Kind: "counter", Label: "operation, status", Help: "requests that were answered, by operation of the API (none where there is no such thing) and class of status"}
	apiSeconds  = Metric{Name: "headway_api_seconds", Kind: "histogram", Label: "le", Help: "how long answers took, but for streams of events"}
)

// ServerMetrics lists the metrics of a server of the API, in the order of the
// reference.
func ServerMetrics() []Metric { return []Metric{apiRequests, apiSeconds} }

// Server shows what a server of the API was asked. It is a [prometheus.Collector].
type Server struct {
	requests *prometheus.CounterVec
	seconds  prometheus.Histogram
}

// NewServer returns what shows a server.
func NewServer() *Server {
	return &Server{
		prometheus.NewCounterVec(prometheus.CounterOpts{Name: apiRequests.Name, Help: apiRequests.Help}, []string{"operation", "status"}),
		prometheus.NewHistogram(prometheus.HistogramOpts{Name: apiSeconds.Name, Help: apiSeconds.Help, Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10}}),
	}
}

// Observe counts a request. A stream takes no time.
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
