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

// emit gives one value, and that of the label if there is one.
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

// leased tells whether the worker still owns what it took.
func leased(r *gauge.Reading) bool { return !r.Over && r.Tenure.MayStart(time.Now()) }

// refusals are the statuses that can be one.
var refusals = []int{403, 429, 503}

// commitSeconds is the one metric that is no single number.
const (
	commitSeconds = "headway_commit_seconds"
	commitHelp    = "how long commits took, those included that had to be tried again"
)

// table is every metric of a worker but [commitSeconds].
var table = []metric{
	{"headway_requests_total", prometheus.CounterValue, "kind", "requests that left, by what was asked for", func(r *gauge.Reading, emit emit) {
		emit(float64(r.Requests[frontier.Page]), "page")
		emit(float64(r.Requests[frontier.Robots]), "robots")
		emit(float64(r.Requests[frontier.Sitemap]), "sitemap")
	}},
	{"headway_answers_total", prometheus.CounterValue, "", "requests that were answered with a status", count(func(r *gauge.Reading) int64 { return r.Answers })},
	{"headway_unanswered_total", prometheus.CounterValue, "", "requests that left and were not answered", count(func(r *gauge.Reading) int64 { return r.Unheard })},
	{"headway_refusals_total", prometheus.CounterValue, "status", "answers that said not now: 429 and 503, in preset warm 403 too", func(r *gauge.Reading, emit emit) {
		for _, status := range refusals {
			emit(float64(r.Refusals[status]), strconv.Itoa(status))
		}
	}},
	{"headway_retries_total", prometheus.CounterValue, "cause", "attempts after which a URL waits for another one, by what it was charged with", func(r *gauge.Reading, emit emit) {
		emit(float64(r.Retries[politeness.ChargeRefusal]), "refusal")
		emit(float64(r.Retries[politeness.ChargeFailure]), "failure")
		emit(float64(r.Retries[politeness.ChargeNothing]), "uncharged")
	}},
	{"headway_cancellations_total", prometheus.CounterValue, "", "jobs stopped because a host went on refusing at the slowest pace (`cancel_after`)", count(func(r *gauge.Reading) int64 { return r.Cancelled })},
	{"headway_incidents_total", prometheus.CounterValue, "", "times a host pushed back, however many answers said so", count(func(r *gauge.Reading) int64 { return r.Incidents })},
	{"headway_holds_total", prometheus.CounterValue, "", "times a host was to be left alone for longer", count(func(r *gauge.Reading) int64 { return r.Holds })},
	{"headway_pace_changes_total", prometheus.CounterValue, "to", "times the interval of a host changed", func(r *gauge.Reading, emit emit) {
		emit(float64(r.Slowed), "slower")
		emit(float64(r.Quickened), "faster")
	}},
	{"headway_concurrency_cuts_total", prometheus.CounterValue, "", "times a host pushed back and may have fewer requests under way for it", count(func(r *gauge.Reading) int64 { return r.Cuts })},
	{"headway_circuits_opened_total", prometheus.CounterValue, "", "times a host failed so often in a row that it gets one request per backoff", count(func(r *gauge.Reading) int64 { return r.Opened })},

	{"headway_gap_violations_total", prometheus.CounterValue, "", "requests that left sooner after the last one than their host was promised, as seen where they leave; must be 0", count(func(r *gauge.Reading) int64 { return r.ShortGaps })},
	{"headway_in_flight_over_cap_total", prometheus.CounterValue, "", "requests that left though their host had as many under way as it was promised, as seen where they leave; must be 0", count(func(r *gauge.Reading) int64 { return r.OverCap })},

	{"headway_pages_total", prometheus.CounterValue, "", "URLs that got a final answer other than a refusal or a redirect", count(func(r *gauge.Reading) int64 { return r.Pages })},
	{"headway_urls_ended_total", prometheus.CounterValue, "outcome", "URLs that waited and have ended; those skipped where they were found are not among them", func(r *gauge.Reading, emit emit) {
		for _, o := range visit.Outcomes {
			if o != visit.Pending {
				emit(float64(r.Outcomes[o]), string(o))
			}
		}
	}},
	{"headway_received_bytes_total", prometheus.CounterValue, "", "bytes of bodies, as they were sent", count(func(r *gauge.Reading) int64 { return r.Bytes })},

	{"headway_hosts", prometheus.GaugeValue, "state", "hosts with work, by what they do: fetching, or what they wait for", func(r *gauge.Reading, emit emit) {
		for _, h := range r.Hosts {
			emit(float64(h.Hosts), h.State.String())
		}
	}},
	{"headway_host_seconds_total", prometheus.CounterValue, "state", "time that hosts with work spent fetching or waiting; each is in one state at a time, so the shares of all add up to 1", func(r *gauge.Reading, emit emit) {
		for _, h := range r.Hosts {
			emit(h.Spent.Seconds(), h.State.String())
		}
	}},
	{"headway_hosts_ready", prometheus.GaugeValue, "", "hosts that could be asked now", count(func(r *gauge.Reading) int64 { return int64(r.Frontier.Ready) })},
	{"headway_network_down", prometheus.GaugeValue, "", "1 while our own network is taken to be down", yes(func(r *gauge.Reading) bool { return r.Frontier.Down })},

	{"headway_layer_limit", prometheus.GaugeValue, "layer", "bound of a layer, named by its setting; 0 is none", layer(func(l *gauge.Layer) float64 { return float64(l.Limit) })},
	{"headway_layer_use", prometheus.GaugeValue, "layer", "how much of a layer is in use", layer(func(l *gauge.Layer) float64 { return float64(l.Use) })},
	{"headway_layer_waiting", prometheus.GaugeValue, "layer", "hosts, requests or pages that wait for a layer now", layer(func(l *gauge.Layer) float64 { return float64(l.Waiting) })},
	{"headway_layer_waited_seconds_total", prometheus.CounterValue, "layer", "how long all of them together have waited for a layer", layer(func(l *gauge.Layer) float64 { return l.Waited.Seconds() })},

	{"headway_links_behind", prometheus.GaugeValue, "", "links of finished pages that wait for the next commit; from 20,000 on nothing more is fetched", count(func(r *gauge.Reading) int64 { return int64(r.Links) })},

	{"headway_jobs", prometheus.GaugeValue, "state", "jobs that the worker has open", func(r *gauge.Reading, emit emit) {
		for _, s := range job.States {
			if !s.Ended() {
				emit(float64(r.Jobs[s]), string(s))
			}
		}
	}},
	{"headway_slots", prometheus.GaugeValue, "", "slots that the worker owns, of 1,024 in the fleet; 0 once its lease was not renewed in time", count(func(r *gauge.Reading) int64 {
		if !leased(r) {
			return 0 // others may own them by now
		}
		return int64(r.Slots)
	})},
	{"headway_lease_valid", prometheus.GaugeValue, "", "1 while requests may start, because the lease was renewed lately", yes(leased)},
	{"headway_rejoins_total", prometheus.CounterValue, "", "times the worker lost its place, or its store, and began anew", count(func(r *gauge.Reading) int64 { return max(int64(r.Life)-1, 0) })},
	{"headway_store_errors_total", prometheus.CounterValue, "", "questions, commits and renewals that the store failed at, those included that were tried again", count(func(r *gauge.Reading) int64 { return r.StoreErrors })},
	{"headway_last_reading_timestamp_seconds", prometheus.GaugeValue, "", "when the loop of the worker last told how it stands", func(r *gauge.Reading, emit emit) {
		if r.At.IsZero() {
			emit(0)
			return
		}
		emit(float64(r.At.UnixMilli()) / 1000)
	}},
}

// Metric is what a metric is, for the reference.
type Metric struct {
	Name, Kind, Label, Help string
	Values                  []string // of the label; none where others say which there are
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
