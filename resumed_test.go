package headway_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"headway"
	"headway/internal/simweb"
	"headway/lab"
	"headway/store"
	"headway/store/memory"
	"headway/weburl"
)

// unrecorded is a store whose crawl is killed before it has stored its time series.
type unrecorded struct{ store.Store }

func (unrecorded) Record(context.Context, []store.Point) error { return nil }

// TestRequestsOfKilledRun derives the requests of a killed run from what it stored: never
// fewer than its pages took.
func TestRequestsOfKilledRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, err := simweb.New(lab.Config{Hosts: []lab.HostSpec{{Name: "plain.example", Temper: small(30)}}})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		st := memory.Open(memory.Config{})
		drain := make(chan struct{})
		time.AfterFunc(10*time.Second, func() { close(drain) })
		cfg := config{
			headway.Worker{Store: unrecorded{st}, Fetcher: newFetcher(t, w), Drain: drain},
			headway.Job{Seeds: []weburl.URL{mustURL("http://plain.example/")}, Policy: preset("polite"), Sitemaps: headway.SitemapsOff},
		}
		killed, err := cfg.run(t.Context())
		if err != nil || killed.Pages == 0 {
			t.Fatalf("%+v, %v", killed, err)
		}
		cfg.Store, cfg.Drain = st, nil
		crawl, err := headway.New(cfg.Worker, cfg.Job)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := crawl.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		p := crawl.Progress()
		if p.Before.Pages != killed.Pages || p.Before.Requests < killed.Pages || p.Before.Requests > killed.Requests || !p.AtLeast {
			t.Errorf("before: %+v, at least %v; the run that was killed: %d pages, %d requests", p.Before, p.AtLeast, killed.Pages, killed.Requests)
		}
	})
}
