// Package metrics exposes the state of a headway process: metrics for Prometheus,
// and health checks.
//
// The loop of a worker writes a reading to a [gauge.Gauge] a few
// times a second, and a scrape turns the last one into metrics. So a scrape takes
// no lock that the loop takes, sends no requests, and costs the same for ten
// hosts or a million. Each metric is one row of a table, from which the reference
// is generated.
//
// It promises that labels have few values, all of them known beforehand: never a
// host, a URL, a job or a tenant. It refuses a registry shared by all of the
// process: it shows only the collectors given to [Handler].
package metrics
