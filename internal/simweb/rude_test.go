package simweb_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"headway/frontier"
	"headway/politeness"
)

// TestJudgeSeesRudeness lets the driver ignore one clock at a time: what the
// servers saw must give it away.
func TestJudgeSeesRudeness(t *testing.T) {
	const shop = "host shop.example pages=30 latency=const:3s\n  limit 1/2s burst=2\n"
	const closed = "host shop.example pages=30\n  outage status=429 retry-after=none\n"
	const domain = "host a.alder.example pages=5\nhost b.alder.example pages=5\n"
	const address = "host shop.example copies=9 pages=5 address=192.0.2.7\n"
	for _, tt := range []struct {
		name, web string
		ignores   politeness.Reason
		want      []string
	}{
		{"nothing", shop, politeness.Ready, nil},
		{"pace", shop, politeness.Pace, []string{"inside the pace"}},
		{"hold", shop, politeness.Hold, []string{"inside a hold", "inside an announced Retry-After"}},
		{"backoff", closed, politeness.Hold, []string{"inside a hold", "inside the backoff"}},
		{"in flight", shop, politeness.InFlight, []string{"at once, the cap is", "the cap was never above"}},
		{"crawl delay", "host docs.example pages=5 crawl-delay=5s\n", politeness.CrawlDelay, []string{"inside the pace of 5s"}},
		{"domain", domain, politeness.DomainInterval, []string{"the last request to its domain"}},
		{"address", address, politeness.AddressInterval, []string{"the last request to its address"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := parseScript(tt.web+"crawl all preset=polite\nrun for=40s\n", "")
			if err != nil {
				t.Fatal(err)
			}
			var problems []string
			synctest.Test(t, func(t *testing.T) {
				if _, problems, err = s.run(func(d *driver) { d.ignores = []politeness.Reason{tt.ignores} }); err != nil {
					t.Fatal(err)
				}
			})
			for _, want := range tt.want {
				if !slices.ContainsFunc(problems, func(p string) bool { return strings.Contains(p, want) }) {
					t.Errorf("no problem says %q", want)
				}
			}
			if tt.want == nil && len(problems) > 0 {
				t.Errorf("a polite crawl has problems: %q", problems)
			}
		})
	}
}

// TestCheckSeesWrongAccounts books a host in the wrong state, twice and not at
// all.
func TestCheckSeesWrongAccounts(t *testing.T) {
	const fetching, none = frontier.Fetching, frontier.NoWork
	for name, spoil := range map[string]func(d *driver, h *host) (repair func()){
		"another state": func(_ *driver, h *host) func() {
			right := h.booked
			h.booked = fetching
			return func() { h.booked = right }
		},
		"twice": func(d *driver, _ *host) func() {
			d.account.Move(d.checked, none, fetching)
			return func() { d.account.Move(d.checked, fetching, none) }
		},
		"not at all": func(d *driver, h *host) func() {
			d.account.Move(d.checked, h.booked, none)
			return func() { d.account.Move(d.checked, none, h.booked) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := parseScript("host a.example pages=5\ncrawl all preset=polite\nrun for=3500ms\nrun for=2s\n", "")
			if err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				noticed := 0
				_, problems, err := s.run(func(d *driver) {
					d.run(s.steps[0].span)
					repair := spoil(d, d.hosts[0])
					d.check(d.checked, false)
					noticed = len(d.problems)
					repair()
				})
				if err != nil || noticed == 0 || len(problems) != noticed {
					t.Errorf("%d problems noticed, %d in all, %v", noticed, len(problems), err)
				}
			})
		})
	}
}
