package headway_test

import (
	"context"
	"net"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"headway"
	"headway/fetch"
	"headway/fetch/guard"
	"headway/internal/simweb"
	"headway/job"
	"headway/lab"
	"headway/politeness"
	"headway/store/memory"
	"headway/visit"
	"headway/weburl"
)

// newFetcher sends requests to the simulated web.
func newFetcher(t *testing.T, w *simweb.Web) *fetch.Client {
	t.Helper()
	d, err := guard.New(guard.Config{
		AllowPrivate: []guard.Range{{Prefix: netip.MustParsePrefix("127.0.0.0/8")}},
		Lookup: func(ctx context.Context, host string) (guard.Answer, error) {
			addr, err := w.Lookup(ctx, host)
			if err != nil {
				return guard.Answer{}, &guard.DNSError{Host: host, Kind: guard.NXDomain, Err: err}
			}
			return guard.Answer{Addrs: []netip.Addr{addr}, TTL: time.Hour}, nil
		},
		Connect: func(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
			return w.DialContext(ctx, "tcp", addr.String())
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := fetch.New(fetch.Config{Dialer: d})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func mustURL(raw string) weburl.URL {
	u, err := weburl.Parse(raw)
	if err != nil {
		panic(err)
	}
	return u
}

func preset(name string) politeness.Policy {
	p, ok := politeness.Preset(name)
	if !ok {
		panic(name)
	}
	return p
}

func TestCrawlOneHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, err := simweb.New(lab.Config{Hosts: []lab.HostSpec{{Name: "plain.example", Temper: small(30)}}})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		st := memory.Open(memory.Config{})
		report, err := headway.Run(t.Context(), headway.Worker{Store: st, Fetcher: newFetcher(t, w)},
			headway.Job{Seeds: []weburl.URL{mustURL("http://plain.example/")}, Policy: preset("polite"), Sitemaps: headway.SitemapsOff})
		if err != nil {
			t.Fatal(err)
		}
		if report.State != job.Complete || report.Counts.Waiting != 0 {
			t.Errorf("ended %s (%s) with %d waiting", report.State, report.Reason, report.Counts.Waiting)
		}
		var fetched int64
		for e, n := range report.Counts.Ended {
			t.Logf("%s %s: %d", e.Outcome, e.Reason, n)
			if e.Outcome == visit.Fetched {
				fetched += n
			}
		}
		stats := w.Host("plain.example")
		t.Logf("%+v", stats)
		t.Logf("took %v, shares %+v", report.Elapsed, report.Shares)
		if fetched < 30 {
			t.Errorf("fetched %d pages", fetched)
		}
	})
}

// small is a host of a few pages with clean links.
func small(pages int) lab.Temper {
	s := lab.DefaultSite()
	s.Pages, s.MinKB, s.MaxKB = pages, 1, 2
	return lab.Temper{Site: s}
}
