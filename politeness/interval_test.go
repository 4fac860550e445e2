package politeness_test

import (
	"testing"
	"time"

	"headway/politeness"
	"headway/politeness/internal/sim"
)

func TestDomainInterval(t *testing.T) {
	p := steady(t, "polite")
	slow := politeness.New("http://a.example").WithCrawlDelay(10 * time.Second)
	quick := politeness.New("http://b.example")
	if got := p.DomainGap(slow); got != 5*time.Second {
		t.Errorf("before a host with a pace of 10 s the domain rests %v, want 5 s", got)
	}
	now := sim.Epoch
	var domain politeness.Interval
	if w := domain.Admit(now, p.DomainGap(quick), politeness.DomainInterval); !w.Go() {
		t.Errorf("the first request of a domain waits for %q", w.Reason)
	}
	domain = domain.Sent(now)
	// The gap is that of the host contacted next, not of the one before.
	for _, c := range []struct {
		s   politeness.State
		gap time.Duration
	}{{quick, 500 * time.Millisecond}, {slow, 5 * time.Second}} {
		early := domain.Admit(now.Add(c.gap-1), p.DomainGap(c.s), politeness.DomainInterval)
		if early.Reason.String() != "domain_interval" || !early.Until.Equal(now.Add(c.gap)) {
			t.Errorf("a moment early: %q until %v", early.Reason, early.Until)
		}
		if w := domain.Admit(now.Add(c.gap), p.DomainGap(c.s), politeness.DomainInterval); !w.Go() {
			t.Errorf("after %v it still waits", c.gap)
		}
	}
	owned := steady(t, "owned")
	if w := domain.Admit(now, owned.DomainGap(quick), politeness.DomainInterval); !w.Go() {
		t.Errorf("with base 0 there is no domain interval, but it waits for %q", w.Reason)
	}
	if got := politeness.New("c").WithCrawlDelay(3 * time.Millisecond); owned.DomainGap(got) != 2*time.Millisecond {
		t.Errorf("half of 3 ms is %v, want it rounded up", owned.DomainGap(got))
	}
}

func TestAddressInterval(t *testing.T) {
	polite, owned := steady(t, "polite"), steady(t, "owned")
	for name, c := range map[string]struct {
		p        politeness.Policy
		own, all int
		want     time.Duration
	}{
		"seven hosts":                  {polite, 7, 7, 0},
		"eight hosts":                  {polite, 8, 8, 100 * time.Millisecond},
		"many":                         {polite, 5000, 5000, 100 * time.Millisecond},
		"owned is free of it":          {owned, 5000, 5000, 0},
		"half of them elsewhere":       {polite, 4, 8, 200 * time.Millisecond},
		"one of eight workers' shares": {polite, 10, 80, 800 * time.Millisecond},
		"the others not yet heard of":  {polite, 9, 8, 100 * time.Millisecond},
		"none of them here":            {polite, 0, 9, 0},
	} {
		if got := c.p.AddressGap(c.own, c.all); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	var address politeness.Interval
	address = address.Sent(sim.Epoch)
	if w := address.Admit(sim.Epoch.Add(99*time.Millisecond), 100*time.Millisecond, politeness.AddressInterval); w.Reason.String() != "address_interval" {
		t.Errorf("waits for %q", w.Reason)
	}
	if !address.Last().Equal(sim.Epoch) {
		t.Errorf("last sent %v", address.Last())
	}
}
