package metrics

import (
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"headway/gauge"
)

// Worker shows what is on the gauge of a worker. It is a [prometheus.Collector].
type Worker struct {
	gauge  *gauge.Gauge
	descs  []*prometheus.Desc // of the table
	commit *prometheus.Desc
}

// NewWorker returns what shows a gauge.
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

// stuckAfter is how long the loop of a worker may be silent before the process is
// taken to be stuck. It tells how it stands four times a second.
const stuckAfter = time.Minute

// Live says what is wrong with the process that only an end of it would mend: its
// loop stands still. A worker that cannot reach its store goes on trying, and lives.
func (w *Worker) Live() error {
	r := w.gauge.Read()
	if silent := time.Since(r.At); !r.At.IsZero() && !r.Over && silent > stuckAfter {
		return fmt.Errorf("the loop has been silent for %s", silent.Round(time.Second))
	}
	return nil
}

// Ready says what keeps the worker from working. A lease that was renewed lately
// is the proof that the store can be reached: renewing writes to it.
func (w *Worker) Ready() error {
	switch r := w.gauge.Read(); {
	case r.At.IsZero():
		return errors.New("the worker has not joined the fleet yet")
	case r.Over:
		return errors.New("the worker has left the fleet, or lost its place in it")
	case !r.Tenure.MayStart(time.Now()):
		return errors.New("the lease was not renewed in time: the store does not answer")
	}
	return nil
}
