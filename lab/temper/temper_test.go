package temper

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// epoch is the virtual time at which every test starts.
var epoch = time.Date(2026, 11, 15, 10, 0, 0, 0, time.UTC)

// paced sends n requests of one kind, one per interval, and returns the verdicts. Each
// leaves at once.
func paced(s *State, r *Rules, from time.Time, n int, interval time.Duration, kind Kind) []Verdict {
	out := make([]Verdict, n)
	for i := range out {
		out[i] = s.Arrive(r, from.Add(time.Duration(i)*interval), kind, i)
		s.Leave()
	}
	return out
}

// picture draws verdicts: "." served, "x" refused, "r" reset, "c" challenged.
func picture(vs []Verdict) string {
	var b strings.Builder
	for _, v := range vs {
		b.WriteByte(".xrc"[v.Action])
	}
	return b.String()
}

func TestVerdicts(t *testing.T) {
	const (
		ms = time.Millisecond
		s  = time.Second
	)
	tests := []struct {
		name     string
		rules    Rules
		kind     Kind
		interval time.Duration
		want     string
	}{
		{"zero rules serve", Rules{}, Page, 0, "........"},
		{"bucket of burst 2 gains one per 500 ms", Rules{Limits: []Limit{{Rate: 2, Burst: 2}}}, Page, 250 * ms, "...x.x.x.x"},
		{"bucket at exactly its rate", Rules{Limits: []Limit{{Rate: 1.0 / 7, Burst: 1}}}, Page, 7 * s, "............"},
		{"bucket just above its rate", Rules{Limits: []Limit{{Rate: 2, Burst: 1}}}, Page, 499 * ms, ".x.x.x"},
		{"robots.txt passes every limit", Rules{Limits: []Limit{{Rate: 1, Burst: 1}}}, Robots, 0, "......"},
		{"sitemaps do not", Rules{Limits: []Limit{{Rate: 1, Burst: 1}}}, Other, 0, ".xxxxx"},
		{"window of 3 per second", Rules{Limits: []Limit{{Max: 3, Window: s}}}, Page, 200 * ms, "...xx...xx...xx"},
		{"window at exactly its rate", Rules{Limits: []Limit{{Max: 4, Window: s}}}, Page, 250 * ms, "............"},
		{"limit that begins after 4 requests", Rules{Limits: []Limit{{Rate: 1, Burst: 1, AfterRequests: 4}}}, Page, 0, ".....xxx"},
		{"limit that begins after a second", Rules{Limits: []Limit{{Rate: 1, Burst: 1, After: s}}}, Page, 250 * ms, ".....xxx.xxx."},
		{"limit that is lifted", Rules{Limits: []Limit{{Rate: 1, Burst: 1}, {After: s}}}, Page, 250 * ms, ".xxx......"},
		{"limit that tightens", Rules{Limits: []Limit{{Rate: 4, Burst: 1}, {Rate: 1, Burst: 1, After: s}}}, Page, 250 * ms, ".....xxx.xxx"},
		{"outage once", Rules{Outages: []Outage{{After: s, For: s}}}, Page, 250 * ms, "....xxxx...."},
		{"outage that comes back", Rules{Outages: []Outage{{After: s, For: s, Every: 2 * s}}}, Page, 500 * ms, "..xx..xx..xx"},
		{"outage after 3 requests", Rules{Outages: []Outage{{AfterRequests: 3, For: s}}}, Page, 500 * ms, "...xx..."},
		{"outage for ever", Rules{Outages: []Outage{{}}}, Page, time.Hour, "xxxxx"},
		{"outage spares robots.txt", Rules{Outages: []Outage{{}}}, Robots, 0, "....."},
		{"outage that does not", Rules{Outages: []Outage{{Robots: true}}}, Robots, 0, "xxxxx"},
		{"outage of resets", Rules{Outages: []Outage{{Action: Reset}}}, Page, 0, "rrr"},
		{"challenge after 2", Rules{Outages: []Outage{{AfterRequests: 2, Action: Challenge}}}, Page, s, "..cccc"},
		{"502 above 2 a second, failures counted", Rules{Overload: Overload{Max: 2, Window: s}}, Page, 400 * ms, "..xxxx"},
		{"502 stops when arrivals slow down", Rules{Overload: Overload{Max: 2, Window: s}}, Page, 500 * ms, "......"},
		{"resets above 1 a second", Rules{Overload: Overload{Max: 1, Window: s, Reset: true}}, Page, 999 * ms, ".rrr"},
		{"every page fails", Rules{ErrorRate: 1}, Page, 0, "xxx"},
		{"only pages fail", Rules{ErrorRate: 1}, Other, 0, "..."},
		{"one page is out", Rules{Outages: []Outage{{Pages: Pages{From: 3}}}}, Page, 0, "...x...."},
		{"pages from one on", Rules{Outages: []Outage{{Pages: Pages{From: 2, Every: 1}}}}, Page, 0, "..xxxx"},
		{"limit of every third page", Rules{Limits: []Limit{{Rate: 1, Burst: 1, Pages: Pages{From: 1, Every: 3}}}}, Page, 0, "....x..x..x"},
		{"only pages have numbers", Rules{Outages: []Outage{{Pages: Pages{From: 1, Every: 1}}}, Limits: []Limit{{Rate: 1, Burst: 1, Pages: Pages{Every: 1}}}}, Other, 0, "....."},
		{"queue too long", Rules{Queue: Queue{Service: s, Longest: 2 * s}}, Page, 0, "...xxx"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if err := test.rules.Validate(); err != nil {
				t.Fatal(err)
			}
			var state State
			got := picture(paced(&state, &test.rules, epoch, len(test.want), test.interval, test.kind))
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestRefusalRetryAfter(t *testing.T) {
	tests := []struct {
		name   string
		rules  Rules
		warm   int // requests before the tested one
		status int
		wait   time.Duration
		form   Form
	}{
		{"bucket", Rules{Limits: []Limit{{Rate: 2, Burst: 2}}}, 2, 429, time.Second, Seconds},
		{"slow bucket", Rules{Limits: []Limit{{Rate: 1.0 / 7, Burst: 1}}}, 1, 429, 7 * time.Second, Seconds},
		{"window", Rules{Limits: []Limit{{Max: 60, Window: time.Minute, Form: IMFDate}}}, 60, 429, time.Minute, IMFDate},
		{"silent", Rules{Limits: []Limit{{Rate: 2, Burst: 1, Form: None}}}, 1, 429, time.Second, None},
		{"limit with 503", Rules{Limits: []Limit{{Rate: 2, Burst: 1, Status: 503}}}, 1, 503, time.Second, Seconds},
		{"outage says what is left", Rules{Outages: []Outage{{For: 90 * time.Second}}}, 0, 503, 90 * time.Second, Seconds},
		{"outage says what it likes", Rules{Outages: []Outage{{For: time.Hour, RetryAfter: 5 * time.Second}}}, 0, 503, 5 * time.Second, Seconds},
		{"outage without end says nothing", Rules{Outages: []Outage{{Status: 429}}}, 0, 429, 0, None},
		{"failed page", Rules{ErrorRate: 1}, 0, 503, time.Second, Seconds},
		{"page that fails in another way", Rules{ErrorRate: 1, ErrorStatus: 429, ErrorForm: None}, 0, 429, time.Second, None},
		{"overload says nothing", Rules{Overload: Overload{Max: 1, Window: time.Second}}, 1, 502, 0, None},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var state State
			paced(&state, &test.rules, epoch, test.warm, 0, Page)
			got := state.Arrive(&test.rules, epoch, Page, 0)
			want := Verdict{Action: Refuse, Status: test.status, RetryAfter: test.wait, Form: test.form}
			if got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

// TestPoliteClientIsServed waits as long as each refusal requires and must then be served,
// whatever the rate: the limits of the pace rule rely on it.
func TestPoliteClientIsServed(t *testing.T) {
	limits := map[string]Limit{
		"2/s":        {Rate: 2, Burst: 2},
		"one per 7s": {Rate: 1.0 / 7, Burst: 2},
		"one per 3s": {Rate: 1.0 / 3, Burst: 1},
		"0.3/s":      {Rate: 0.3, Burst: 1},
		"60/min":     {Max: 60, Window: time.Minute},
		"600/10min":  {Max: 600, Window: 10 * time.Minute},
	}
	for name, limit := range limits {
		t.Run(name, func(t *testing.T) {
			rules := Rules{Limits: []Limit{limit}}
			var state State
			now, refused := epoch, 0
			for range 5000 {
				v := state.Arrive(&rules, now, Page, 0)
				state.Leave()
				if v.Action == Serve {
					refused = 0
					now = now.Add(37 * time.Millisecond)
					continue
				}
				if refused++; refused > 1 {
					t.Fatalf("refused again after waiting for Retry-After, at %v", now.Sub(epoch))
				}
				now = now.Add(v.RetryAfter)
			}
		})
	}
}

// TestLimitsHold sends at random times and checks each limit over every window of the
// served requests.
func TestLimitsHold(t *testing.T) {
	for name, limit := range map[string]Limit{
		"bucket": {Rate: 3, Burst: 5}, "slow bucket": {Rate: 0.25, Burst: 1},
		"window": {Max: 7, Window: 2 * time.Second}, "wide window": {Max: 40, Window: 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			rules := Rules{Limits: []Limit{limit}}
			var state State
			var served []time.Time
			now := epoch
			for range 4000 {
				now = now.Add(time.Duration(r.ExpFloat64() * float64(150*time.Millisecond)))
				if state.Arrive(&rules, now, Page, 0).Action == Serve {
					served = append(served, now)
				}
				state.Leave()
			}
			for i := range served {
				for k := i + 1; k < min(len(served), i+100); k++ {
					span, n := served[k].Sub(served[i]), k-i+1
					if limit.Max > 0 && n > limit.Max && span < limit.Window {
						t.Fatalf("%d served within %v", n, span)
					}
					if limit.Rate > 0 && float64(n) > limit.Rate*span.Seconds()+float64(limit.Burst)+0.01 {
						t.Fatalf("%d served within %v", n, span)
					}
				}
			}
			if len(served) < 100 {
				t.Fatalf("only %d served", len(served))
			}
		})
	}
}

func TestInFlight(t *testing.T) {
	rules := Rules{
		Latency: Constant(10 * time.Millisecond), Slope: 5 * time.Millisecond,
		Overload: Overload{InFlight: 3},
	}
	var state State
	for i := range 3 {
		v := state.Arrive(&rules, epoch, Page, 0)
		if want := time.Duration(10+5*i) * time.Millisecond; v.Action != Serve || v.Wait != want {
			t.Fatalf("request %d: %+v, want a wait of %v", i, v, want)
		}
	}
	if v := state.Arrive(&rules, epoch, Robots, 0); v.Status != 502 || v.Wait != 25*time.Millisecond {
		t.Fatalf("fourth at once: %+v", v)
	}
	for range 4 {
		state.Leave()
	}
	if v := state.Arrive(&rules, epoch, Page, 0); v.Action != Serve || v.Wait != 10*time.Millisecond || state.InFlight() != 1 {
		t.Fatalf("after all left: %+v, %d in flight", v, state.InFlight())
	}
}

func TestQueueGrowsWithTheRate(t *testing.T) {
	rules := Rules{Queue: Queue{Service: 100 * time.Millisecond}}
	var state State
	for i, v := range paced(&state, &rules, epoch, 20, 100*time.Millisecond, Page) {
		if v.Wait != 100*time.Millisecond {
			t.Fatalf("request %d at the worker's own rate waits %v", i, v.Wait)
		}
	}
	for i, v := range paced(&state, &rules, epoch.Add(2*time.Second), 20, 50*time.Millisecond, Page) {
		if want := time.Duration(100+50*i) * time.Millisecond; v.Wait != want {
			t.Fatalf("request %d at twice the rate waits %v, want %v", i, v.Wait, want)
		}
	}
}

func TestForms(t *testing.T) {
	tests := map[Form]string{
		Seconds:    "120",
		IMFDate:    "Sun, 15 Nov 2026 10:02:00 GMT",
		RFC850Date: "Sunday, 15-Nov-26 10:02:00 GMT",
		ANSICDate:  "Sun Nov 15 10:02:00 2026",
		None:       "",
	}
	for form, want := range tests {
		if got := form.Value(epoch, 2*time.Minute); got != want {
			t.Errorf("form %d: %q, want %q", form, got, want)
		}
	}
}

func TestLatency(t *testing.T) {
	for text, bounds := range map[string][2]time.Duration{
		"none":                {0, 0},
		"":                    {0, 0},
		"const:20ms":          {20 * time.Millisecond, 20 * time.Millisecond},
		"uniform:5ms-50ms":    {5 * time.Millisecond, 50 * time.Millisecond},
		"lognormal:20ms,0.5":  {time.Millisecond, 400 * time.Millisecond},
		"lognormal:20ms,0":    {20 * time.Millisecond, 20 * time.Millisecond},
		"uniform:10ms-10ms":   {10 * time.Millisecond, 10 * time.Millisecond},
		"lognormal:1s,0.0001": {990 * time.Millisecond, 1010 * time.Millisecond},
	} {
		var l Latency
		if err := l.Set(text); err != nil {
			t.Fatal(err)
		}
		a, b := NewState(7, 3), NewState(7, 3)
		rules := Rules{Latency: l}
		for range 1000 {
			v := a.Arrive(&rules, epoch, Page, 0)
			if v.Wait < bounds[0] || v.Wait > bounds[1] {
				t.Fatalf("%s: drew %v", text, v.Wait)
			}
			if again := b.Arrive(&rules, epoch, Page, 0); again != v {
				t.Fatalf("%s: the same seed drew %v and %v", text, v.Wait, again.Wait)
			}
		}
		if back, err := ParseLatency(l.String()); err != nil || back != l {
			t.Errorf("%s: reads back as %v, %v", text, back, err)
		}
	}
	for _, text := range []string{"20ms", "const:", "const:-1s", "uniform:5ms", "uniform:5ms-1ms", "lognormal:1s", "lognormal:1s,x", "lognormal:1s,-1", "lognormal:1s,NaN", "fast:1s"} {
		if l, err := ParseLatency(text); err == nil {
			t.Errorf("%q was read as %v", text, l)
		}
	}
}

func TestValidateNamesEveryField(t *testing.T) {
	r := Rules{
		Slope: -1, Crowd: -1, Queue: Queue{Service: -1}, Overload: Overload{Max: 1}, ErrorRate: 2,
		Limits:  []Limit{{Rate: 1}, {Max: 1}, {Rate: 1, Burst: 1, Max: 1, Window: 1}, {After: -1}, {Pages: Pages{Every: -1}}},
		Outages: []Outage{{Every: time.Second}, {For: -1}, {Pages: Pages{From: -1}}},
	}
	err := r.Validate()
	if err == nil {
		t.Fatal("no error")
	}
	for _, field := range []string{"Slope", "Crowd", "Queue", "Overload", "ErrorRate", "Limits[0]", "Limits[1]", "Limits[2]", "Limits[3]", "Limits[4]", "Outages[0]", "Outages[1]", "Outages[2]"} {
		if !strings.Contains(err.Error(), field+":") {
			t.Errorf("%s is not named in %v", field, err)
		}
	}
}

func BenchmarkArrive(b *testing.B) {
	rules := Rules{Latency: Constant(time.Millisecond), Limits: []Limit{{Rate: 2, Burst: 2}}}
	var state State
	b.ReportAllocs()
	for i := range b.N {
		state.Arrive(&rules, epoch.Add(time.Duration(i)*time.Millisecond), Page, 0)
		state.Leave()
	}
}

// TestLatencyGrowsWithRecentRequests checks that a request takes longer for each other one of the last second, and
// that the time without them is known.
func TestLatencyGrowsWithRecentRequests(t *testing.T) {
	r := Rules{Latency: Constant(100 * time.Millisecond), Crowd: 10 * time.Millisecond, Queue: Queue{Service: time.Millisecond}}
	var s State
	var got []time.Duration
	for _, v := range paced(&s, &r, epoch, 8, 250*time.Millisecond, Page) {
		got = append(got, v.Wait)
		if v.Idle != 101*time.Millisecond {
			t.Errorf("%v when idle, want 101 ms", v.Idle)
		}
	}
	for i, wait := range got {
		if want := time.Duration(101+10*min(i, 3)) * time.Millisecond; wait != want {
			t.Errorf("request %d takes %v, want %v", i+1, wait, want)
		}
	}
}
