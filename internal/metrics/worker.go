package metrics

import (
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"headway/gauge"
)

// Worker exposes the gauge of a worker as metrics. It is a [prometheus.Collector].
type Worker struct {
	gauge  *gauge.Gauge
	descs  []*prometheus.Desc // of the table
	commit *prometheus.Desc
}

// NewWorker returns a collector for a gauge.
func NewWorker(g *gauge.Gauge) *Worker {
	w := &Worker{gauge: g, commit: prometheus.NewDesc(commitSeconds, commitHelp, nil, nil)}
	for _, m := range table {
		var labels []string
		if m.label != "" {
			labels = []string{m.label}
		}
		w.descs = append(w.descs, prometheus.NewDesc(m.name, m.help, labels, nil))
	}
	return w
}

// Describe implements [prometheus.Collector].
func (w *Worker) Describe(to chan<- *prometheus.Desc) {
	for _, d := range w.descs {
		to <- d
	}
	to <- w.commit
}

// Collect implements [prometheus.Collector]. All values are of one reading.
func (w *Worker) Collect(to chan<- prometheus.Metric) {
	r := w.gauge.Read()
	for i, m := range table {
		m.read(&r, func(value float64, label ...string) {
			to <- prometheus.MustNewConstMetric(w.descs[i], m.kind, value, label...)
		})
	}
	buckets, n := make(map[float64]uint64, len(r.Commits.In)), uint64(0)
	for i, most := range gauge.CommitBounds {
		n += uint64(r.Commits.In[i])
		buckets[most.Seconds()] = n
	}
	to <- prometheus.MustNewConstHistogram(w.commit, uint64(r.Commits.N), r.Commits.Sum.Seconds(), buckets)
}

// stuckAfter is how long the main loop may publish nothing before the process is
// considered stuck. It normally publishes its state four times a second.
const stuckAfter = time.Minute

// Live reports a fault that only a restart can fix: the main loop is
// stuck. A worker that cannot reach its database keeps trying, and is live.
func (w *Worker) Live() error {
	r := w.gauge.Read()
	if silent := time.Since(r.At); !r.At.IsZero() && !r.Over && silent > stuckAfter {
		return fmt.Errorf("the main loop has been stuck for %s", silent.Round(time.Second))
	}
	return nil
}

// Ready reports what keeps the worker from working. A recently renewed lease
// proves that the database is reachable: renewing writes to it.
func (w *Worker) Ready() error {
	switch r := w.gauge.Read(); {
	case r.At.IsZero():
		return errors.New("the worker has not joined the fleet yet")
	case r.Over:
		return errors.New("the worker has left the fleet or lost its place in it")
	case !r.Tenure.MayStart(time.Now()):
		return errors.New("the lease was not renewed in time: the database is not responding")
	}
	return nil
}
