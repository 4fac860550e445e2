package exchange

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"headway/fetch"
	"headway/parse"
	"headway/robots"
	"headway/visit"
	"headway/weburl"
)

// TestSignals records what robots.txt, headers and page say about their use, only if it is
// wanted and only for pages.
func TestSignals(t *testing.T) {
	u, err := weburl.Parse("https://example.com/open/a")
	if err != nil {
		t.Fatal(err)
	}
	rules := robots.Parse([]byte("User-agent: *\nContent-Signal: ai-train=no\nContent-Usage: /closed/ train-ai=n\n")).For("headway")
	header := http.Header{
		"Content-Usage":   {"train-ai=y", "", "search=y", "bots=y", "fifth=n"},
		"Tdm-Reservation": {"1"},
		"X-Robots-Tag":    {"otherbot: noai", "noarchive"},
	}
	page := parse.Page{Robots: []parse.Directive{{Agent: "robots", Content: "noai, noindex"}}, TDM: "0"}
	all := []visit.Signal{
		{Source: visit.SignalRobots, Line: 2, Text: "content-signal: ai-train=no", Training: visit.TrainingRefused},
		{Source: visit.SignalHeader, Text: "content-usage: train-ai=y", Training: visit.TrainingPermitted},
		{Source: visit.SignalHeader, Text: "content-usage: search=y"},
		{Source: visit.SignalHeader, Text: "content-usage: bots=y", Training: visit.TrainingPermitted},
		{Source: visit.SignalHeader, Text: "tdm-reservation: 1", Training: visit.TrainingRefused},
		{Source: visit.SignalHeader, Text: "x-robots-tag: noarchive"},
		{Source: visit.SignalMeta, Text: "robots: noai", Training: visit.TrainingRefused},
		{Source: visit.SignalMeta, Text: "tdm-reservation: 0", Training: visit.TrainingPermitted},
	}
	for name, tc := range map[string]struct {
		change func(r *reading)
		want   []visit.Signal
	}{
		"all":           {func(*reading) {}, all},
		"not wanted":    {func(r *reading) { r.signals = false }, nil},
		"no robots.txt": {func(r *reading) { r.rules = nil }, all[1:]},
		"none": {func(r *reading) {
			r.rules, r.res.Header, r.page = nil, http.Header{}, parse.Page{}
		}, nil},
		"an error page": {func(r *reading) { r.res.Status = 404 }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := reading{res: &fetch.Result{URL: u, Status: 200, Header: header}, page: page, agent: "headway", at: time.Now(), signals: true, rules: rules}
			tc.change(&r)
			v := &visit.Visit{Item: visit.Item{URL: u}}
			record(v, r)
			if diff := cmp.Diff(tc.want, v.Page.Signals); diff != "" {
				t.Errorf("signals (-want +got):\n%s", diff)
			}
		})
	}
}
