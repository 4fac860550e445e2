package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"headway/frontier"
	"headway/gauge"
	"headway/job"
	"headway/politeness"
	"headway/visit"
)

// metric is one metric of a worker.
type metric struct {
	name  string
	kind  prometheus.ValueType
	label string // empty for none
	help  string
	read  func(r *gauge.Reading, emit emit)
}

// emit adds one value, with the value of the label if there is one.
type emit func(value float64, label ...string)

// count and yes read a metric without a label.
func count(read func(*gauge.Reading) int64) func(*gauge.Reading, emit) {
	return func(r *gauge.Reading, emit emit) { emit(float64(read(r))) }
}

func yes(read func(*gauge.Reading) bool) func(*gauge.Reading, emit) {
	return func(r *gauge.Reading, emit emit) {
		if read(r) {
			emit(1)
		} else {
			emit(0)
		}
	}
}

// layer reads a metric of each layer of control.
func layer(read func(*gauge.Layer) float64) func(*gauge.Reading, emit) {
	return func(r *gauge.Reading, emit emit) {
		for i := range r.Layers {
			emit(read(&r.Layers[i]), r.Layers[i].Setting)
		}
	}
}

// leased reports whether the lease of the worker is valid.
func leased(r *gauge.Reading) bool { return !r.Over && r.Tenure.MayStart(time.Now()) }

// refusals are the statuses that can be refusals.
var refusals = []int{403, 429, 503}

// commitSeconds is the only histogram.
const (
	commitSeconds = "headway_commit_seconds"
	commitHelp    = "duration of commits, including retries"
)

// table is every metric of a worker but [commitSeconds].
var table = []metric{
	{"headway_requests_total", prometheus.CounterValue, "kind", "requests sent, by kind", func(r *gauge.Reading, emit emit) {
		emit(float64(r.Requests[frontier.Page]), "page")
		emit(float64(r.Requests[frontier.Robots]), "robots")
		emit(float64(r.Requests[frontier.Sitemap]), "sitemap")
	}},
	{"headway_answers_total", prometheus.CounterValue, "", "requests that got a response with an HTTP status", count(func(r *gauge.Reading) int64 { return r.Answers })},
	{"headway_unanswered_total", prometheus.CounterValue, "", "requests sent that got no response", count(func(r *gauge.Reading) int64 { return r.Unheard })},
	{"headway_refusals_total", prometheus.CounterValue, "status", "refusals: responses 429 and 503, in preset warm also 403", func(r *gauge.Reading, emit emit) {
		for _, status := range refusals {
			emit(float64(r.Refusals[status]), strconv.Itoa(status))
		}
	}},
	{"headway_retries_total", prometheus.CounterValue, "cause", "attempts after which a URL is retried, by what the attempt counts against", func(r *gauge.Reading, emit emit) {
		emit(float64(r.Retries[politeness.ChargeRefusal]), "refusal")
		emit(float64(r.Retries[politeness.ChargeFailure]), "failure")
		emit(float64(r.Retries[politeness.ChargeNothing]), "uncharged")
	}},
	{"headway_cancellations_total", prometheus.CounterValue, "", "jobs cancelled because a host kept refusing at the slowest pace (`cancel_after`)", count(func(r *gauge.Reading) int64 { return r.Cancelled })},
	{"headway_incidents_total", prometheus.CounterValue, "", "incidents: moments in which a host pushed back, each counted once however many responses showed it", count(func(r *gauge.Reading) int64 { return r.Incidents })},
	{"headway_holds_total", prometheus.CounterValue, "", "holds set or extended on hosts", count(func(r *gauge.Reading) int64 { return r.Holds })},
	{"headway_pace_changes_total", prometheus.CounterValue, "to", "changes of the pace (interval between requests) of a host", func(r *gauge.Reading, emit emit) {
		emit(float64(r.Slowed), "slower")
		emit(float64(r.Quickened), "faster")
	}},
	{"headway_concurrency_cuts_total", prometheus.CounterValue, "", "incidents that reduced the concurrency limit of a host", count(func(r *gauge.Reading) int64 { return r.Cuts })},
	{"headway_circuits_opened_total", prometheus.CounterValue, "", "circuits opened: after repeated failures a host gets only one request per backoff", count(func(r *gauge.Reading) int64 { return r.Opened })},

	{"headway_gap_violations_total", prometheus.CounterValue, "", "requests sent before the interval of their host had passed, measured where they are sent; must be 0", count(func(r *gauge.Reading) int64 { return r.ShortGaps })},
	{"headway_in_flight_over_cap_total", prometheus.CounterValue, "", "requests sent beyond the concurrency limit of their host, measured where they are sent; must be 0", count(func(r *gauge.Reading) int64 { return r.OverCap })},

	{"headway_pages_total", prometheus.CounterValue, "", "pages: URLs with a final response other than a refusal or a redirect", count(func(r *gauge.Reading) int64 { return r.Pages })},
	{"headway_urls_ended_total", prometheus.CounterValue, "outcome", "queued URLs that have ended; URLs skipped at discovery are not counted", func(r *gauge.Reading, emit emit) {
		for _, o := range visit.Outcomes {
			if o != visit.Pending {
				emit(float64(r.Outcomes[o]), string(o))
			}
		}
	}},
	{"headway_received_bytes_total", prometheus.CounterValue, "", "bytes of response bodies, as transferred", count(func(r *gauge.Reading) int64 { return r.Bytes })},

	{"headway_hosts", prometheus.GaugeValue, "state", "hosts with work, by state: fetching or a wait reason", func(r *gauge.Reading, emit emit) {
		for _, h := range r.Hosts {
			emit(float64(h.Hosts), h.State.String())
		}
	}},
	{"headway_host_seconds_total", prometheus.CounterValue, "state", "time that hosts with work spent in each state; a host is in one state at a time, so the shares add up to 1", func(r *gauge.Reading, emit emit) {
		for _, h := range r.Hosts {
			emit(h.Spent.Seconds(), h.State.String())
		}
	}},
	{"headway_hosts_ready", prometheus.GaugeValue, "", "hosts that are ready for a request now", count(func(r *gauge.Reading) int64 { return int64(r.Frontier.Ready) })},
	{"headway_network_down", prometheus.GaugeValue, "", "1 while the worker considers its own network down", yes(func(r *gauge.Reading) bool { return r.Frontier.Down })},

	{"headway_layer_limit", prometheus.GaugeValue, "layer", "limit of a layer, named by its setting; 0 means no limit", layer(func(l *gauge.Layer) float64 { return float64(l.Limit) })},
	{"headway_layer_use", prometheus.GaugeValue, "layer", "current use of a layer", layer(func(l *gauge.Layer) float64 { return float64(l.Use) })},
	{"headway_layer_waiting", prometheus.GaugeValue, "layer", "hosts, requests or pages waiting for a layer now", layer(func(l *gauge.Layer) float64 { return float64(l.Waiting) })},
	{"headway_layer_waited_seconds_total", prometheus.CounterValue, "layer", "total time spent waiting for a layer, summed over everything that waited", layer(func(l *gauge.Layer) float64 { return l.Waited.Seconds() })},

	{"headway_links_behind", prometheus.GaugeValue, "", "links of fetched pages waiting for the next commit; fetching pauses at 20,000", count(func(r *gauge.Reading) int64 { return int64(r.Links) })},

	{"headway_jobs", prometheus.GaugeValue, "state", "jobs that the worker has open, by state", func(r *gauge.Reading, emit emit) {
		for _, s := range job.States {
			if !s.Ended() {
				emit(float64(r.Jobs[s]), string(s))
			}
		}
	}},
	{"headway_slots", prometheus.GaugeValue, "", "slots owned by the worker, of 1,024 in the fleet; 0 if its lease was not renewed in time", count(func(r *gauge.Reading) int64 {
		if !leased(r) {
			return 0 // others may own them by now
		}
		return int64(r.Slots)
	})},
	{"headway_lease_valid", prometheus.GaugeValue, "", "1 while the lease is valid and requests may start", yes(leased)},
	{"headway_rejoins_total", prometheus.CounterValue, "", "times the worker lost its lease or its database and rejoined the fleet", count(func(r *gauge.Reading) int64 { return max(int64(r.Life)-1, 0) })},
	{"headway_store_errors_total", prometheus.CounterValue, "", "failed database requests (reads, commits, lease renewals), including those that were retried", count(func(r *gauge.Reading) int64 { return r.StoreErrors })},
	{"headway_archive_segments_total", prometheus.CounterValue, "", "segments written to the archive: one for each job and commit with raw responses", count(func(r *gauge.Reading) int64 { return r.Segments.Written })},
	{"headway_archive_bytes_total", prometheus.CounterValue, "", "bytes of the segments written to the archive", count(func(r *gauge.Reading) int64 { return r.Segments.Bytes })},
	{"headway_archive_seconds_total", prometheus.CounterValue, "", "time spent writing segments, summed over all attempts", func(r *gauge.Reading, emit emit) { emit(r.Segments.Took.Seconds()) }},
	{"headway_archive_errors_total", prometheus.CounterValue, "", "failed attempts to write a segment, including those that were retried", count(func(r *gauge.Reading) int64 { return r.Segments.Failed })},
	{"headway_last_reading_timestamp_seconds", prometheus.GaugeValue, "", "when the main loop of the worker last published its state", func(r *gauge.Reading, emit emit) {
		if r.At.IsZero() {
			emit(0)
			return
		}
		emit(float64(r.At.UnixMilli()) / 1000)
	}},
}

// Metric describes a metric for the reference.
type Metric struct {
	Name, Kind, Label, Help string
	Values                  []string // of the label; empty if the set is defined elsewhere
}

// Metrics lists the metrics of a worker, in the order of the reference.
func Metrics() []Metric {
	list := make([]Metric, 0, len(table)+1)
	everywhere := gauge.Reading{Hosts: []gauge.HostTime{{State: frontier.Fetching}}}
	for _, w := range visit.Waits {
		everywhere.Hosts = append(everywhere.Hosts, gauge.HostTime{State: frontier.Waiting(w)})
	}
	for _, m := range table {
		x := Metric{Name: m.name, Kind: "gauge", Label: m.label, Help: m.help}
		if m.kind == prometheus.CounterValue {
			x.Kind = "counter"
		}
		m.read(&everywhere, func(_ float64, label ...string) { x.Values = append(x.Values, label...) })
		list = append(list, x)
	}
	return append(list, Metric{Name: commitSeconds, Kind: "histogram", Label: "le", Help: commitHelp})
}
