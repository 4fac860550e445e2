package politeness_test

import (
	"fmt"
	"testing"
	"time"

	"headway/politeness"
	"headway/politeness/internal/sim"
)

// TestOutageByItsDefinition tests each part of the definition.
func TestOutageByItsDefinition(t *testing.T) {
	type step struct {
		pass    time.Duration
		domains int // number of domains, one attempt each
		attempt politeness.Attempt
		heard   time.Duration // how long ago these hosts responded; 0: never
		sent    time.Duration // how long ago it was sent
		first   time.Duration // how long ago a response began; 0: none did
	}
	const s = time.Second
	const late = 31 * s // the response header timeout
	dns := politeness.Attempt{Fault: politeness.DNS}
	connect := politeness.Attempt{Fault: politeness.Connect}
	timeout := politeness.Attempt{Fault: politeness.Timeout}
	reset := politeness.Attempt{Fault: politeness.Reset}
	silent := politeness.Attempt{Fault: politeness.DNS, Local: true}
	gone := politeness.Attempt{Fault: politeness.DNS, Answered: true}
	fine := politeness.Attempt{}
	ok := func(domains int) step { return step{domains: domains, attempt: fine} }
	known := func(pass time.Duration, domains int, a politeness.Attempt) step {
		return step{pass: pass, domains: domains, attempt: a, heard: pass + s, sent: pass}
	}
	strange := func(pass time.Duration, domains int, a politeness.Attempt) step {
		return step{pass: pass, domains: domains, attempt: a, sent: late}
	}
	for name, c := range map[string]struct {
		steps []step
		down  bool
	}{
		"nothing tried": {nil, false},
		"3 that had answered fail, 10 s of silence":    {[]step{ok(3), known(10*s, 3, timeout)}, true},
		"2 that had answered":                          {[]step{ok(3), known(10*s, 2, timeout)}, false},
		"3 attempts at one domain":                     {[]step{ok(1), known(10*s, 1, timeout), known(s, 1, timeout), known(s, 1, timeout)}, false},
		"9 s of silence":                               {[]step{ok(3), known(9*s, 3, timeout)}, false},
		"9 s of silence, and one more failure at 10 s": {[]step{ok(3), known(9*s, 3, timeout), strange(s, 1, timeout)}, true},
		"dns, connect and timeout count alike": {[]step{
			ok(3), known(10*s, 1, connect), {domains: 2, attempt: dns, heard: late, sent: late}, {domains: 3, attempt: timeout, heard: late, sent: late},
		}, true},
		"300 that never answered":                    {[]step{strange(0, 300, timeout), strange(s, 300, connect), strange(11*s, 300, timeout)}, false},
		"300 that never answered, beside 2 that had": {[]step{ok(2), strange(5*s, 300, timeout), known(10*s, 2, timeout)}, false},
		"300 that never answered, beside 3 that had": {[]step{ok(3), strange(5*s, 300, timeout), known(10*s, 3, timeout)}, true},
		"3 that answered more than 5 minutes ago":    {[]step{ok(3), {pass: 301 * s, domains: 3, attempt: timeout, heard: 301 * s, sent: late}}, false},
		"3 that answered 5 minutes ago":              {[]step{ok(3), {pass: 300 * s, domains: 3, attempt: timeout, heard: 300 * s, sent: late}}, true},
		"a reset is an answer":                       {[]step{ok(3), known(10*s, 40, reset)}, false},
		"names that do not exist are answers":        {[]step{ok(3), known(10*s, 100, gone)}, false},
		"one answer between the failures":            {[]step{ok(3), known(10*s, 2, timeout), ok(1), known(10*s, 2, timeout)}, false},
		"one answer a moment before":                 {[]step{ok(3), known(10*s, 2, timeout), ok(1), known(s, 3, timeout)}, false},
		"the header of an answer that was not ended": {[]step{ok(3), {pass: 15 * s, domains: 1, attempt: timeout, heard: 16 * s, sent: 8 * s, first: 7 * s}, known(s, 3, timeout)}, false},
		"a header from before the silence":           {[]step{ok(3), {pass: 15 * s, domains: 1, attempt: timeout, heard: 16 * s, sent: 15 * s, first: 15 * s}, known(s, 3, timeout)}, true},
		"the failures lie far apart, all is silent":  {[]step{ok(3), known(20*s, 1, timeout), {pass: 20 * s, domains: 3, attempt: timeout, heard: 41 * s, sent: late}}, true},
		"the resolver is silent, one domain":         {[]step{{domains: 1, attempt: silent}, {pass: s, domains: 1, attempt: silent}}, true},
		"once may be chance":                         {[]step{{domains: 1, attempt: silent}}, false},
		"silent for one, fine for another":           {[]step{ok(1), {pass: s, domains: 1, attempt: silent}, {pass: s, domains: 1, attempt: silent}}, false},
		"fine, but long ago":                         {[]step{ok(1), {pass: 15 * s, domains: 1, attempt: silent}, {pass: s, domains: 1, attempt: silent}}, true},
		"no way, and one lost when it went":          {[]step{{domains: 1, attempt: silent}, {pass: s, domains: 1, attempt: silent}, strange(s, 1, timeout)}, true},
		"no way long ago":                            {[]step{{domains: 1, attempt: silent}, {pass: 11 * s, domains: 1, attempt: silent}}, false},
		"no way for two, another way of failing for one": {[]step{
			{domains: 1, attempt: silent}, {pass: s, domains: 1, attempt: connect, sent: s / 2}, {pass: s, domains: 1, attempt: silent},
		}, false},
		"lost once, no way once":                   {[]step{{domains: 1, attempt: silent}, strange(s, 1, timeout)}, false},
		"a host that times out is no local matter": {[]step{strange(0, 1, timeout), strange(s, 1, timeout), strange(s, 1, timeout)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			var o politeness.Outage
			now := sim.Epoch
			for _, st := range c.steps {
				now = now.Add(st.pass)
				for i := range st.domains {
					a := st.attempt
					a.Domain, a.Sent = fmt.Sprintf("d%d.example", i), now.Add(-st.sent)
					if st.heard > 0 {
						a.Heard = now.Add(-st.heard)
					}
					if st.first > 0 {
						a.FirstByte = now.Add(-st.first)
					}
					o = o.Observe(now, a)
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

// downNow returns an outage and when it began.
func downNow(t *testing.T) (politeness.Outage, time.Time) {
	t.Helper()
	var o politeness.Outage
	now := sim.Epoch
	for i := range 3 {
		o = o.Observe(now, politeness.Attempt{Domain: fmt.Sprint(i)})
	}
	heard := now
	now = now.Add(30 * time.Second)
	for i := range 3 {
		o = o.Observe(now, politeness.Attempt{Domain: fmt.Sprint(i), Fault: politeness.Timeout, Heard: heard, Sent: heard})
	}
	if _, down := o.Down(); !down {
		t.Fatal("not down")
	}
	return o, now
}

func TestOutageSendsCanariesAndEnds(t *testing.T) {
	o, now := downNow(t)
	for i := range 50 { // requests in flight end, and are not canaries
		o = o.Observe(now, politeness.Attempt{Domain: fmt.Sprint("late", i), Fault: politeness.Timeout, Sent: now.Add(-time.Minute)})
	}
	var gaps []time.Duration
	last := now
	for range 6 {
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
		o = o.Observe(now, politeness.Attempt{Domain: "canary", Fault: politeness.Connect, Sent: now})
	}
	want := "[1s 1s 2s 4s 4s 4s]"
	if fmt.Sprint(gaps) != want {
		t.Errorf("canaries after %v, want %s", gaps, want)
	}
	o = o.Observe(now, politeness.Attempt{Domain: "canary"})
	if _, down := o.Down(); down || !o.Admit(now).Go() {
		t.Error("still down after a canary got through")
	}
	if o != (politeness.Outage{}.Heard(now)) {
		t.Error("something is remembered of an outage that is over")
	}
}

// TestOutageEndsWithAHeader: the beginning of a response ends an outage, unless it came before the
// outage began.
func TestOutageEndsWithAHeader(t *testing.T) {
	o, now := downNow(t)
	if _, down := o.Heard(now.Add(-time.Second)).Down(); !down {
		t.Error("an answer from before ended it")
	}
	if _, down := o.Heard(now.Add(time.Second)).Down(); down {
		t.Error("the beginning of an answer did not end it")
	}
}

// TestOutageOfDeadHosts has a list of old domains of which most are gone, or accept connections and
// never respond: that says something about them, not about our network.
func TestOutageOfDeadHosts(t *testing.T) {
	for name, a := range map[string]politeness.Attempt{
		"gone":   {Fault: politeness.DNS, Answered: true},
		"silent": {Fault: politeness.Timeout},
	} {
		t.Run(name, func(t *testing.T) {
			var o politeness.Outage
			now := sim.Epoch
			for i := range 1000 {
				now = now.Add(20 * time.Millisecond)
				try := politeness.Attempt{Sent: now}
				if i%5 != 0 || i > 100 {
					try = a
					try.Sent = now.Add(-10 * time.Second)
				}
				try.Domain = fmt.Sprint(i)
				o = o.Observe(now, try)
				if _, down := o.Down(); down {
					t.Fatalf("down after %d attempts", i)
				}
			}
		})
	}
}
