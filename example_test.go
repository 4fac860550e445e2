package headway_test

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"headway"
	"headway/fetch"
	"headway/fetch/guard"
	"headway/lab/labtest"
	"headway/limit"
	"headway/output"
	"headway/politeness"
	"headway/store/memory"
	"headway/visit"
	"headway/weburl"
)

// titles is a custom output: it receives each visit that ended a URL.
type titles struct{ n int }

func (t *titles) Write(_ context.Context, v *visit.Visit) error {
	if v.Outcome == visit.Fetched && v.Page.Title != "" {
		t.n++
	}
	return nil
}

func (t *titles) Close() error { return nil }

// A whole crawl: a lab on loopback replaces the web, the store is in memory and the output
// is custom.
func ExampleRun() {
	ctx := context.Background()
	seeds, stop := labtest.ServeSite(20)
	defer stop()

	// The only way to the network. Private addresses and unusual ports are blocked unless
	// they are allowed explicitly, which declares their hosts as owned.
	dialer, err := guard.New(guard.Config{AllowPrivate: []guard.Range{{Prefix: netip.MustParsePrefix("127.0.0.0/8"), Ports: []uint16{seeds[0].Port()}}}})
	if err != nil {
		panic(err)
	}
	client, err := fetch.New(fetch.Config{Dialer: dialer, Identity: fetch.Identity{Product: "example", Version: "1"}})
	if err != nil {
		panic(err)
	}
	defer client.Close()

	policy, _ := politeness.Preset("owned") // "polite" is for hosts of others
	pages := &titles{}
	st := memory.Open(memory.Config{})
	defer st.Close()
	report, err := headway.Run(ctx, headway.Worker{
		Store:   st,
		Fetcher: client,
		Owned:   func(weburl.URL) bool { return true },
		Outputs: []output.Writer{pages},
	}, headway.Job{
		Seeds:  seeds,
		Policy: policy,
		Limits: limit.Resolve(limit.Layer{Level: limit.Job, Limits: limit.Limits{Pages: 1000, Time: time.Minute}}),
	})
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s: %s\n", report.State, report.Reason)
	fmt.Printf("%d pages, %d with a title, %d URLs waiting\n", report.Counts.Pages(), pages.n, report.Counts.Waiting)
	// Output:
	// complete: all URLs processed
	// 20 pages, 20 with a title, 0 URLs waiting
}
