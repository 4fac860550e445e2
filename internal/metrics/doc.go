// Package metrics shows how a process of headway stands: to Prometheus in numbers,
// to whoever runs it in yes or no.
//
// It fits beside the journey: the loop writes a reading on a [gauge.Gauge] a few
// times a second, and a scrape turns the last one into metrics. So a scrape takes
// no lock that the loop takes, asks nobody anything, and costs the same for ten
// hosts or a million. Each metric is one row of a table, from which the reference
// is generated.
//
// It promises that labels have few values, all of them known beforehand: never a
// host, a URL, a job or a tenant. It refuses a registry shared by all of the
// process: what is shown is what [Handler] was given.
package metrics
