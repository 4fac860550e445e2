package politeness_test

import (
	"fmt"
	"testing"
	"time"

	"headway/politeness"
	"headway/politeness/internal/sim"
)

func TestOutage(t *testing.T) {
	type step struct {
		pass    time.Duration
		domains int // one attempt at each of so many domains
		attempt politeness.Attempt
	}
	const s = time.Second
	dns := politeness.Attempt{Fault: politeness.DNS}
	connect := politeness.Attempt{Fault: politeness.Connect}
	timeout := politeness.Attempt{Fault: politeness.Timeout}
	reset := politeness.Attempt{Fault: politeness.Reset}
	silent := politeness.Attempt{Fault: politeness.DNS, Local: true}
	gone := politeness.Attempt{Fault: politeness.DNS, Answered: true}
	fine := politeness.Attempt{}
	for name, c := range map[string]struct {
		steps []step
		down  bool
	}{
		"nothing tried":                            {nil, false},
		"everything fails at 20 domains":           {[]step{{0, 20, connect}}, true},
		"everything fails at 19 domains":           {[]step{{0, 19, connect}}, false},
		"dns, connect and timeout count alike":     {[]step{{0, 7, connect}, {0, 7, dns}, {0, 20, timeout}}, true},
		"a reset is the host's":                    {[]step{{0, 40, reset}}, false},
		"half is not over half":                    {[]step{{0, 20, fine}, {0, 20, connect}}, false},
		"over half":                                {[]step{{0, 20, fine}, {0, 21, connect}}, true},
		"long ago does not count":                  {[]step{{0, 15, connect}, {11 * s, 15, connect}}, false},
		"within ten seconds it does":               {[]step{{0, 15, connect}, {9 * s, 20, connect}}, true},
		"names that do not exist are answers":      {[]step{{0, 100, gone}}, false},
		"the resolver is silent, one domain":       {[]step{{0, 1, silent}, {s, 1, silent}}, true},
		"once may be chance":                       {[]step{{0, 1, silent}}, false},
		"silent for one, fine for another":         {[]step{{0, 1, fine}, {s, 1, silent}, {s, 1, silent}}, false},
		"fine, but long ago":                       {[]step{{0, 1, fine}, {15 * s, 1, silent}, {s, 1, silent}}, true},
		"no way, and one lost when it went":        {[]step{{0, 1, silent}, {s, 1, silent}, {s, 1, timeout}}, true},
		"lost once, no way once":                   {[]step{{0, 1, silent}, {s, 1, timeout}}, false},
		"a host that times out is no local matter": {[]step{{0, 1, timeout}, {s, 1, timeout}, {s, 1, timeout}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			var o politeness.Outage
			now := sim.Epoch
			for _, st := range c.steps {
				now = now.Add(st.pass)
				for i := range st.domains {
					st.attempt.Domain = fmt.Sprintf("d%d.example", i)
					o = o.Observe(now, st.attempt)
				}
			}
			since, down := o.Down()
			if down != c.down {
				t.Fatalf("down %v, want %v", down, c.down)
			}
			if down && since.After(now) {
				t.Errorf("down since %v", since)
			}
		})
	}
}

func TestOutageSendsCanariesAndEnds(t *testing.T) {
	var o politeness.Outage
	now := sim.Epoch
	for i := range 20 {
		o = o.Observe(now, politeness.Attempt{Domain: fmt.Sprint(i), Fault: politeness.Timeout})
	}
	var gaps []time.Duration
	last := now
	for range 8 {
		w := o.Admit(now)
		if w.Reason != politeness.Network || w.Reason.String() != "network" {
			t.Fatalf("while down Admit says %q", w.Reason)
		}
		now = w.Until
		if w := o.Admit(now); !w.Go() {
			t.Fatalf("the canary waits for %q", w.Reason)
		}
		o = o.Sent(now)
		gaps = append(gaps, now.Sub(last))
		last = now
		o = o.Observe(now, politeness.Attempt{Domain: "canary", Fault: politeness.Connect})
	}
	want := "[1s 1s 2s 4s 8s 16s 30s 30s]"
	if fmt.Sprint(gaps) != want {
		t.Errorf("canaries after %v, want %s", gaps, want)
	}
	o = o.Observe(now, politeness.Attempt{Domain: "canary"})
	if _, down := o.Down(); down || !o.Admit(now).Go() {
		t.Error("still down after a canary got through")
	}
	if o != (politeness.Outage{}) {
		t.Error("something is remembered of an outage that is over")
	}
}

// TestOutageOfDeadHosts is a list of old domains of which most are gone: that
// is news about them, not about our network.
func TestOutageOfDeadHosts(t *testing.T) {
	var o politeness.Outage
	now := sim.Epoch
	for i := range 1000 {
		now = now.Add(20 * time.Millisecond)
		a := politeness.Attempt{Domain: fmt.Sprint(i)}
		if i%5 != 0 {
			a.Fault, a.Answered = politeness.DNS, true
		}
		if o = o.Observe(now, a); o != (politeness.Outage{}) {
			if _, down := o.Down(); down {
				t.Fatalf("down after %d attempts", i)
			}
		}
	}
}
