package politeness_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"headway/politeness"
	"headway/politeness/internal/sim"
)

// TestPresets checks the table of section 7, row by row.
func TestPresets(t *testing.T) {
	const ms = time.Millisecond
	want := []struct {
		name         string
		base, spread time.Duration
		inFlight     int
		first, last  time.Duration
		allow        bool
		refuses403   bool
	}{
		{"polite", 1000 * ms, 0, 2, 5 * time.Second, time.Hour, false, false},
		{"audit", 200 * ms, 300 * ms, 2, time.Second, time.Minute, true, false},
		{"warm", 500 * ms, 0, 10, time.Second, time.Minute, false, true},
		{"map", 1000 * ms, 0, 150, 2 * time.Second, time.Hour, false, false},
		{"owned", 0, 0, 256, 2 * time.Second, time.Minute, false, false},
	}
	names := politeness.PresetNames()
	if len(names) != len(want) || names[0] != politeness.DefaultPreset {
		t.Fatalf("presets are %v", names)
	}
	for i, w := range want {
		p := preset(t, w.name)
		if err := p.Validate(); err != nil {
			t.Error(err)
		}
		if names[i] != w.name || p.Base != w.base || p.Spread != w.spread || p.InFlight != w.inFlight ||
			p.Refusing != (politeness.Backoff{Start: w.first, Max: w.last}) ||
			p.AllowUnreachableRobots != w.allow || p.Refuses403 != w.refuses403 {
			t.Errorf("preset %s differs from the table: %+v", w.name, p)
		}
		if p.Jitter != 5 || p.Failing != (politeness.Backoff{Start: 2 * time.Second, Max: time.Hour}) || p.CancelAfter != 0 ||
			p.FailureThreshold != 20 || p.RefusalRetries != 3 || p.FailureRetries != 2 {
			t.Errorf("preset %s differs from what all have alike: %+v", w.name, p)
		}
	}
	if _, ok := politeness.Preset("rude"); ok {
		t.Error("there is a preset of any name")
	}
}

func TestValidateNamesEveryField(t *testing.T) {
	bad := politeness.Policy{
		Name: "bad", Base: -1, Spread: -1, Jitter: 101, LatencyRise: 100,
		RefusalRetries: -1, FailureRetries: -1, CancelAfter: -1,
	}
	err := bad.Validate()
	if err == nil {
		t.Fatal("accepted")
	}
	for _, field := range []string{
		"Base", "Spread", "Jitter", "InFlight", "Refusing", "Failing", "Need", "LatencyRise",
		"RefusalRetries", "FailureRetries", "FailureThreshold", "CancelAfter",
	} {
		if !strings.Contains(err.Error(), field) {
			t.Errorf("%s is not named in %q", field, err)
		}
	}
}

func TestSlowerBaseWins(t *testing.T) {
	polite, warm := steady(t, "polite"), steady(t, "warm")
	for _, p := range []politeness.Policy{politeness.Merge(polite, warm), politeness.Merge(warm, polite)} {
		h := newHost(t, p)
		h.wantPace(time.Second)
		first := h.send()
		h.observe(first, ok())
		if got := h.send().Sub(first); got != time.Second {
			t.Errorf("%s: requests %v apart, want the 1 s of polite", p.Name, got)
		}
		if p.InFlight != 2 || p.LatencyRise != 150 || p.Need != 20 || !p.Refuses403 {
			t.Errorf("%s is not the more careful of both: %+v", p.Name, p)
		}
	}
	// When the polite job is done, only the warm policy applies.
	h := newHost(t, politeness.Merge(polite, warm))
	h.clean(3)
	h.p = warm
	h.wantPace(500 * time.Millisecond)
}

func TestMergeIsCarefulInAnyOrder(t *testing.T) {
	names := politeness.PresetNames()
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) politeness.Policy {
			p, _ := politeness.Preset(rapid.SampledFrom(names).Draw(t, label))
			p.Base = time.Duration(rapid.IntRange(0, 5000).Draw(t, label+" base")) * time.Millisecond
			p.CancelAfter = rapid.IntRange(0, 30).Draw(t, label+" cancel")
			p.Name = ""
			return p
		}
		a, b, c := draw("a"), draw("b"), draw("c")
		if politeness.Merge(a, b) != politeness.Merge(b, a) {
			t.Fatal("the order of two policies matters")
		}
		if politeness.Merge(politeness.Merge(a, b), c) != politeness.Merge(a, politeness.Merge(b, c)) {
			t.Fatal("the order of three policies matters")
		}
		if politeness.Merge(a, a) != a {
			t.Fatal("merging a policy with itself changes it")
		}
		m := politeness.Merge(a, b)
		if m.Base < max(a.Base, b.Base) || m.Base+m.Spread < max(a.Base+a.Spread, b.Base+b.Spread) || m.InFlight > min(a.InFlight, b.InFlight) {
			t.Fatal("the merged policy is less careful than one of both")
		}
		if m.Validate() != nil {
			t.Fatal(m.Validate())
		}
	})
}

// TestManyJobsKeepOnePace lets 22 jobs use one host every few milliseconds: the server must see one
// crawler.
func TestManyJobsKeepOnePace(t *testing.T) {
	p := steady(t, "polite")
	for range 21 {
		p = politeness.Merge(p, steady(t, "polite"))
	}
	limit := &sim.Bucket{Interval: 2 * time.Second, Burst: 2}
	type request struct {
		at     time.Time
		status int
	}
	var (
		h        = newHost(t, p)
		underWay []request
		sends    []time.Time
		paces    []time.Duration
	)
	for range 10 * 60 * 200 {
		h.pass(5 * time.Millisecond)
		for len(underWay) > 0 && h.now.Sub(underWay[0].at) >= 300*time.Millisecond {
			h.observe(underWay[0].at, answer(underWay[0].status))
			underWay = underWay[1:]
		}
		for range 22 {
			if !p.Admit(h.s, h.now).Go() {
				continue
			}
			paces = append(paces, h.pace())
			sends = append(sends, h.now)
			h.s = p.Sent(h.s, h.now)
			status := 200
			if limit.Take(h.now) > 0 {
				status = 429
			}
			underWay = append(underWay, request{h.now, status})
		}
		if h.s.InFlight() > 2 {
			t.Fatalf("%d requests in flight", h.s.InFlight())
		}
	}
	for i := 1; i < len(sends); i++ {
		if gap := sends[i].Sub(sends[i-1]); gap < paces[i] {
			t.Fatalf("request %d left %v after the one before, the pace was %v", i, gap, paces[i])
		}
	}
	if len(sends) < 200 {
		t.Errorf("only %d requests in ten minutes", len(sends))
	}
}

func TestJitterIsUpwardAndRepeats(t *testing.T) {
	p := preset(t, "polite")
	gaps := func(host string) (gaps []time.Duration) {
		h := newHost(t, p)
		h.s = politeness.New(host)
		last := h.send()
		for range 1000 {
			h.observe(last, ok())
			next := h.send()
			gaps = append(gaps, next.Sub(last))
			last = next
		}
		return gaps
	}
	a, again, b := gaps("a.example"), gaps("a.example"), gaps("b.example")
	var sum time.Duration
	same := 0
	for i := range a {
		if a[i] < time.Second || a[i] > 1050*time.Millisecond {
			t.Fatalf("gap %v is outside 1 s to 1.05 s", a[i])
		}
		if a[i] != again[i] {
			t.Fatal("a replay differs")
		}
		if a[i] == b[i] {
			same++
		}
		sum += a[i]
	}
	if same > 100 {
		t.Errorf("two hosts move together: %d of 1000 gaps are the same", same)
	}
	if mean := sum / 1000; mean < 1020*time.Millisecond || mean > 1030*time.Millisecond {
		t.Errorf("mean gap is %v, want about 1.025 s", mean)
	}
}

func TestAuditDrawsItsPace(t *testing.T) {
	p := preset(t, "audit")
	p.Jitter = 0
	h := newHost(t, p)
	shortest, longest := time.Hour, time.Duration(0)
	last := h.send()
	for range 1000 {
		h.observe(last, ok())
		next := h.send()
		shortest, longest = min(shortest, next.Sub(last)), max(longest, next.Sub(last))
		last = next
	}
	if shortest < 200*time.Millisecond || shortest > 210*time.Millisecond || longest > 500*time.Millisecond || longest < 490*time.Millisecond {
		t.Errorf("gaps from %v to %v, want 200 to 500 ms", shortest, longest)
	}
}

func TestAdmitNamesOneReasonAtATime(t *testing.T) {
	h := newHost(t, steady(t, "polite"))
	if w := h.p.Admit(h.s, h.now); w != (politeness.Wait{}) {
		t.Errorf("a new host waits for %q", w.Reason)
	}
	sent := h.send()
	check := func(reason politeness.Reason, name string, until time.Time) {
		t.Helper()
		w := h.p.Admit(h.s, h.now)
		if w.Reason != reason || w.Reason.String() != name || !w.Until.Equal(until) {
			t.Errorf("waits for %q until %v, want %q until %v", w.Reason, w.Until, name, until)
		}
	}
	check(politeness.Pace, "pace", sent.Add(time.Second))
	h.s = h.s.WithCrawlDelay(5 * time.Second)
	check(politeness.CrawlDelay, "crawl_delay", sent.Add(5*time.Second))
	h.pass(5 * time.Second)
	check(politeness.InFlight, "in_flight", time.Time{})
	h.observe(sent, after(3*time.Second))
	check(politeness.Hold, "hold", h.now.Add(3*time.Second))
	h.pass(3 * time.Second)
	h.wait()
	check(politeness.Ready, "", time.Time{})
}

// TestForPublicHosts rejects the presets and paces of owned hosts for other hosts.
func TestForPublicHosts(t *testing.T) {
	want := map[string]bool{"polite": true, "audit": true, "warm": false, "map": true, "owned": false}
	for _, name := range politeness.PresetNames() {
		p, _ := politeness.Preset(name)
		if p.ForPublicHosts() != want[name] {
			t.Errorf("%s: %v", name, p.ForPublicHosts())
		}
		p.Base = politeness.MinPublic - time.Millisecond
		if p.ForPublicHosts() {
			t.Errorf("%s at %v", name, p.Base)
		}
	}
}
