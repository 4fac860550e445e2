package governor

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

var start = time.Date(2026, 11, 15, 0, 0, 0, 0, time.UTC)

// machine simulates a crawl: fetches of equal duration, and a store with one commit at a
// time.
type machine struct {
	g       *Governor
	latency time.Duration                 // of a fetch
	commit  func(pages int) time.Duration // how long a commit takes now
	free    bool                          // without a governor
	spread  bool                          // the first fetches end one after the other

	now      time.Time
	fetching []time.Time // when each fetch ends, in order
	backlog  int         // pages fetched and not in a commit
	batch    int         // pages in the commit under way
	began    time.Time
	ends     time.Time

	worst   int // backlog and batch at most
	slowest int // in flight at least, since it was reset
	pages   int // committed
}

const tick = 5 * time.Millisecond

// run lets time pass.
func (m *machine) run(d time.Duration, each func()) {
	for end := m.now.Add(d); m.now.Before(end); m.now = m.now.Add(tick) {
		for len(m.fetching) > 0 && !m.fetching[0].After(m.now) {
			m.fetching = m.fetching[1:]
			m.backlog++
		}
		if m.batch > 0 && !m.ends.After(m.now) {
			m.g.Commit(m.now, m.ends.Sub(m.began), m.batch)
			m.pages += m.batch
			m.batch = 0
		}
		if m.batch == 0 && m.backlog > 0 {
			m.batch = min(m.backlog, DefaultCommitPages)
			m.backlog -= m.batch
			m.began = m.now
			m.ends = m.now.Add(m.commit(m.batch))
		}
		if m.batch > 0 {
			m.g.Stalled(m.now, m.began)
		}
		permits := m.g.Permits(m.now)
		if m.free {
			permits = DefaultWorkers
		}
		if m.spread && m.fetching == nil {
			for i := range permits {
				m.fetching = append(m.fetching, m.now.Add(m.latency*time.Duration(i+1)/time.Duration(permits)))
			}
		}
		for len(m.fetching) < permits {
			m.fetching = append(m.fetching, m.now.Add(m.latency))
		}
		m.g.InFlight(len(m.fetching))
		m.worst = max(m.worst, m.backlog+m.batch)
		m.slowest = min(m.slowest, len(m.fetching))
		if each != nil {
			each()
		}
	}
}

// TestSlowStore makes a store ten times slower for a minute, so that it keeps up with a
// third of what 512 fetches bring.
func TestSlowStore(t *testing.T) {
	factor := 1
	slow := func(pages int) time.Duration {
		return time.Duration(factor) * (5*time.Millisecond + time.Duration(pages)*50*time.Microsecond)
	}
	m := &machine{g: New(Config{}), latency: 100 * time.Millisecond, commit: slow, now: start}
	m.run(30*time.Second, nil)
	healthy, rate := m.worst, float64(m.pages)/30
	if m.g.Permits(m.now) != DefaultWorkers {
		t.Fatalf("a healthy store took permits: %d are left", m.g.Permits(m.now))
	}

	factor, m.worst, m.slowest, m.pages = 10, 0, DefaultWorkers, 0
	m.run(20*time.Second, nil)
	if m.g.Reason() != "storage" {
		t.Errorf("reason %q", m.g.Reason())
	}
	if m.slowest > DefaultWorkers/3 {
		t.Errorf("in flight never fell below %d", m.slowest)
	}
	settled, before := m.worst, m.pages
	m.worst = 0
	m.run(40*time.Second, nil)
	slowRate := float64(m.pages-before) / 40
	t.Logf("healthy: %.0f pages/s, backlog at most %d; slow: %.0f pages/s of the %.0f the store can, backlog at most %d, then %d; in flight down to %d",
		rate, healthy, slowRate, 1000/slow(1000).Seconds(), settled, m.worst, m.slowest)
	// The governor needs about two seconds at five thousand pages each.
	if settled > 12_000 {
		t.Errorf("the backlog grew to %d pages", settled)
	}
	if m.worst > 2*DefaultCommitPages {
		t.Errorf("the backlog still grew to %d pages after the first seconds", m.worst)
	}
	if slowRate < 0.5*1000/slow(1000).Seconds() {
		t.Errorf("the store is not used: %.0f pages/s", slowRate)
	}

	factor = 1
	recovered := m.now
	for m.g.Permits(m.now) < DefaultWorkers {
		m.run(tick, nil)
		if m.now.Sub(recovered) > ReturnWithin+5*time.Second {
			t.Fatalf("after %v there are only %d permits", m.now.Sub(recovered), m.g.Permits(m.now))
		}
	}
	t.Logf("all permits were back after %v", m.now.Sub(recovered))
	if m.g.Reason() != "" {
		t.Errorf("reason %q with all permits", m.g.Reason())
	}

	// The same without a governor: the backlog grows as long as the store is slow.
	free := &machine{g: New(Config{}), latency: 100 * time.Millisecond, commit: slow, now: start, free: true}
	factor = 10
	free.run(time.Minute, nil)
	if free.worst < 100_000 {
		t.Errorf("without a governor the backlog only grew to %d: this store is not slow", free.worst)
	}
}

// TestHealthyStore gives a store realistic noise: latency that varies by a factor of
// several, and a pause of a second every twenty.
func TestHealthyStore(t *testing.T) {
	for seed := range uint64(5) {
		r := rand.New(rand.NewPCG(seed, 7))
		commits := 0
		m := &machine{g: New(Config{}), latency: 100 * time.Millisecond, now: start}
		lastStop := start
		m.commit = func(pages int) time.Duration {
			commits++
			took := float64(20*time.Millisecond+time.Duration(pages)*30*time.Microsecond) * math.Exp(0.6*r.NormFloat64())
			if m.now.Sub(lastStop) > 20*time.Second && r.IntN(50) == 0 {
				lastStop = m.now
				took += float64(time.Second)
			}
			return time.Duration(took)
		}
		m.run(5*time.Minute, func() {
			if got := m.g.Permits(m.now); got != DefaultWorkers {
				t.Fatalf("seed %d, after %v and %d commits: %d permits", seed, m.now.Sub(start), commits, got)
			}
		})
		if commits < 1000 {
			t.Errorf("only %d commits", commits)
		}
	}
}

// TestHungStore has a commit that does not return for half a minute. When it does, all
// permits are back at once, and stay.
func TestHungStore(t *testing.T) {
	hang := time.Duration(0)
	m := &machine{g: New(Config{}), latency: 100 * time.Millisecond, now: start, commit: func(int) time.Duration { return 20*time.Millisecond + hang }}
	m.run(5*time.Second, nil)
	hang = 30 * time.Second
	m.run(tick*20, nil)
	hang = 0
	m.run(12*time.Second, nil)
	if got := m.g.Permits(m.now); got != DefaultMin {
		t.Errorf("%d permits after twelve seconds without an answer", got)
	}
	// Two seconds at full speed, then half, a quarter …: three seconds in all.
	if m.worst > 16_000 {
		t.Errorf("%d pages wait", m.worst)
	}
	for hung := m.began; m.began.Equal(hung); {
		m.run(tick, nil)
	}
	if got := m.g.Permits(m.now); got != DefaultWorkers || m.g.Reason() != "" {
		t.Errorf("%d permits when it returned, reason %q", got, m.g.Reason())
	}
	m.run(5*time.Second, func() { // what waits is stored, in full commits
		if got := m.g.Permits(m.now); got != DefaultWorkers {
			t.Fatalf("%d permits after it returned", got)
		}
	})
}

// stall reports a commit that is under way for a time, and other signals, every 50 ms.
func stall(g *Governor, now time.Time, d time.Duration, others func(time.Time)) (end time.Time) {
	for end = now.Add(d); now.Before(end); now = now.Add(50 * time.Millisecond) {
		if others != nil {
			others(now)
		}
		g.Stalled(now, end.Add(-d))
	}
	return end
}

// TestHangDone has a commit that hangs for ten seconds. How many of 100 permits there are
// when it is done depends on the other signals and on the commits before it.
func TestHangDone(t *testing.T) {
	const long = 10 * time.Second
	memory := func(g *Governor, share int) func(time.Time) {
		return func(now time.Time) { g.Memory(now, int64(share), 100) }
	}
	for name, tc := range map[string]struct {
		play   func(g *Governor, now time.Time) time.Time // up to the end of a commit
		took   time.Duration
		want   int
		reason string
	}{
		"nothing else is high": {func(g *Governor, now time.Time) time.Time {
			return stall(g, now, long, memory(g, 50))
		}, long, 100, ""},
		"commits before it were fast": {func(g *Governor, now time.Time) time.Time {
			for range 20 {
				now = now.Add(200 * time.Millisecond)
				g.Commit(now, 100*time.Millisecond, 200)
			}
			return stall(g, now, long, nil)
		}, long, 100, ""},
		"few permits were in use": {func(g *Governor, now time.Time) time.Time {
			return stall(g, now, long, func(time.Time) { g.InFlight(7) })
		}, long, 100, ""},
		"memory is high": {func(g *Governor, now time.Time) time.Time {
			return stall(g, now, long, memory(g, 95))
		}, long, 1, "memory"},
		"memory became high at the end": {func(g *Governor, now time.Time) time.Time {
			now = stall(g, now, long, nil)
			g.Memory(now, 95, 100)
			return now
		}, long, 1, "storage"},
		"memory is not low": {func(g *Governor, now time.Time) time.Time {
			return stall(g, now, long, memory(g, 85))
		}, long, 1, "storage"},
		"parsers are not idle": {func(g *Governor, now time.Time) time.Time {
			return stall(g, now, long, func(now time.Time) { g.Parse(now, 60, 100) })
		}, long, 1, "storage"},
		"memory was high meanwhile": {func(g *Governor, now time.Time) time.Time {
			end := now.Add(long)
			return stall(g, now, long, func(now time.Time) {
				if left := end.Sub(now); left > 2*time.Second && left < 7*time.Second {
					g.Memory(now, 95, 100)
				} else {
					g.Memory(now, 50, 100)
				}
			})
		}, long, 1, "memory"},
		"memory was high until a cut": {func(g *Governor, now time.Time) time.Time {
			began := now
			return stall(g, now, 3300*time.Millisecond, func(now time.Time) {
				switch now.Sub(began) {
				case 500 * time.Millisecond, time.Second, 2 * time.Second:
					g.Memory(now, 95, 100)
				case 3200 * time.Millisecond: // rarely reported: it became low after the last cut
					g.Memory(now, 50, 100)
				}
			})
		}, 3300 * time.Millisecond, 25, "storage"},
		"memory had cut before": {func(g *Governor, now time.Time) time.Time {
			for range 3 {
				g.Memory(now, 95, 100)
				now = now.Add(Interval)
			}
			return stall(g, now, long, memory(g, 50))
		}, long, 27, "memory"}, // 25, and two returned before the commit counted
		"commits before it were slow": {func(g *Governor, now time.Time) time.Time {
			for range 10 {
				now = now.Add(200 * time.Millisecond)
				g.Commit(now, 200*time.Millisecond, 500)
			}
			return stall(g, now, long, nil)
		}, long, 1, "storage"},
		"it hung before its last attempt": {func(g *Governor, now time.Time) time.Time {
			return stall(g, now, long, nil)
		}, 20 * time.Millisecond, 100, ""},
		"two in a row": {func(g *Governor, now time.Time) time.Time {
			now = stall(g, now, long, nil)
			g.Commit(now, long, 500)
			return stall(g, now, long, nil)
		}, long, 1, "storage"},
		"two in a row, before their last attempts": {func(g *Governor, now time.Time) time.Time {
			now = stall(g, now, long, nil)
			g.Commit(now, 20*time.Millisecond, 500)
			return stall(g, now, long, nil)
		}, 20 * time.Millisecond, 1, "storage"},
		"a fast one between two": {func(g *Governor, now time.Time) time.Time {
			now = stall(g, now, long, nil)
			g.Commit(now, long, 500)
			now = now.Add(time.Second)
			g.Commit(now, 20*time.Millisecond, 100)
			return stall(g, now, long, nil)
		}, long, 100, ""},
		"its signal expired": {func(g *Governor, now time.Time) time.Time {
			return stall(g, now, long, nil).Add(Fade + ReturnWithin/10)
		}, long, 11, "storage"},
		"the signal of one before it expired": {func(g *Governor, now time.Time) time.Time {
			now = stall(g, now, long, nil).Add(Fade + ReturnWithin)
			g.Commit(now, long, 500)
			return stall(g, now, long, nil)
		}, long, 100, ""},
		"commits had cut before": {func(g *Governor, now time.Time) time.Time {
			for range 9 {
				now = now.Add(100 * time.Millisecond)
				g.Commit(now, 20*time.Millisecond, 1000)
			}
			now = now.Add(Interval)
			g.Commit(now, 20*time.Millisecond, 920) // the average stays at 0.92
			g.Commit(now, 20*time.Millisecond, 0)
			return stall(g, now, long, nil)
		}, long, 52, "storage"}, // 50, and two returned before the commit counted
	} {
		t.Run(name, func(t *testing.T) {
			g := New(Config{Workers: 100})
			now := tc.play(g, start)
			g.Commit(now, tc.took, 500)
			if got := g.Permits(now); got != tc.want || g.Reason() != tc.reason {
				t.Errorf("%d permits, reason %q; want %d, %q", got, g.Reason(), tc.want, tc.reason)
			}
			// The rest returns evenly.
			for range 10 {
				now = now.Add(20 * time.Millisecond)
				g.Memory(now, 50, 100)
				g.Parse(now, 0, 100)
				g.Commit(now, 20*time.Millisecond, 100)
			}
			want := min(100, tc.want+10)
			if got := g.Permits(now.Add(ReturnWithin / 10)); got < want || got > want+1 {
				t.Errorf("%d permits after a tenth of the time, want %d", got, want)
			}
		})
	}
}

// TestSlowCommits has a store whose commits all take four seconds: only the first one gives
// back what it took.
func TestSlowCommits(t *testing.T) {
	g, now := New(Config{Workers: 100}), start
	for i, want := range []int{100, 12, 1, 1, 1} {
		now = stall(g, now, 4*time.Second, nil)
		g.Commit(now, 4*time.Second, 500)
		if got := g.Permits(now); got != want {
			t.Errorf("%d permits after commit %d, want %d", got, i, want)
		}
	}
}

// TestSteadyStore has stores with a high fixed cost per commit: fetching less would gain
// nothing.
func TestSteadyStore(t *testing.T) {
	for name, tc := range map[string]struct {
		commit  time.Duration
		latency time.Duration // of a fetch; 512 of them bring 512 pages in that time
		want    float64       // pages a second
	}{
		"a slow disk, a polite crawl": {400 * time.Millisecond, 25 * time.Second, 20},
		"a slow disk, much to do":     {400 * time.Millisecond, 100 * time.Millisecond, 0.5 * 1000 / 0.4},
		"a store far away":            {1500 * time.Millisecond, 2 * time.Second, 0.8 * 256},
	} {
		t.Run(name, func(t *testing.T) {
			m := &machine{g: New(Config{}), latency: tc.latency, now: start, commit: func(int) time.Duration { return tc.commit }}
			m.spread = true
			m.run(2*time.Minute, nil)
			before := m.pages
			m.worst = 0
			m.run(2*time.Minute, nil)
			rate := float64(m.pages-before) / 120
			t.Logf("%.0f pages/s, %d permits, backlog at most %d", rate, m.g.Permits(m.now), m.worst)
			if rate < tc.want {
				t.Errorf("%.0f pages/s, want %.0f", rate, tc.want)
			}
			if m.worst > 3*DefaultCommitPages {
				t.Errorf("%d pages wait", m.worst)
			}
		})
	}
}

func TestSignals(t *testing.T) {
	for name, tell := range map[string]func(g *Governor, now time.Time, share float64){
		"parse":  func(g *Governor, now time.Time, share float64) { g.Parse(now, int(share*100), 100) },
		"memory": func(g *Governor, now time.Time, share float64) { g.Memory(now, int64(share*1e9), 1e9) },
		"storage": func(g *Governor, now time.Time, share float64) {
			g.Stalled(now, now.Add(-time.Duration(share*float64(time.Second))))
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := New(Config{Workers: 100, Min: 3})
			now := start
			at := func(d time.Duration, share float64) int {
				now = now.Add(d)
				tell(g, now, share)
				return g.Permits(now)
			}
			for i, step := range []struct {
				after time.Duration
				share float64
				want  int
			}{
				{0, 1, 100},                    // high, but for how long?
				{Interval - 1, 1, 100},         // not long enough
				{1, 1, 50},                     // a second
				{1, 1, 50},                     // one cut in an interval
				{Interval, 1, 25},              //
				{Interval, 0.85, 25},           // even: they stay
				{5 * time.Second, 0.85, 25},    //
				{Interval, 1, 25},              // high again: starts over
				{Interval, 2, 12},              //
				{Interval, 2, 6},               //
				{Interval, 2, 3},               //
				{Interval, 2, 3},               // never less than Min
				{time.Second, 0.4, 3},          // low at last
				{ReturnWithin / 100, 0.4, 4},   // one by one
				{ReturnWithin / 100, 0.4, 5},   //
				{ReturnWithin/10 - 1, 0.4, 14}, //
				{ReturnWithin, 0.4, 100},       // and no more than there were
				{ReturnWithin, 0.4, 100},       //
			} {
				if got := at(step.after, step.share); got != step.want {
					t.Errorf("step %d: %d permits, want %d", i, got, step.want)
				}
				if reason := g.Reason(); (step.want == 100) != (reason == "") || reason != "" && reason != name {
					t.Errorf("step %d: reason %q", i, reason)
				}
			}
		})
	}
}

func TestOldNewsCostNothing(t *testing.T) {
	g := New(Config{Workers: 100})
	g.Memory(start, 100, 100)
	g.Parse(start.Add(5*time.Second), 0, 100) // another signal says nothing about memory
	if got := g.Permits(start.Add(9 * time.Second)); got != 100 {
		t.Errorf("%d permits", got)
	}
	g.Memory(start.Add(9*time.Second), 100, 100)
	if got := g.Permits(start.Add(9 * time.Second)); got != 50 {
		t.Errorf("%d permits", got)
	}
	// No further signals: the last one expires, then permits return.
	if got := g.Permits(start.Add(9*time.Second + Fade)); got != 50 {
		t.Errorf("%d permits", got)
	}
	if got := g.Permits(start.Add(9*time.Second + Fade + ReturnWithin/2)); got != 100 {
		t.Errorf("%d permits", got)
	}
}

// TestFormerSlowness has a store that was slow with few pages, then fast with many, then
// slow with many: the first must not excuse the last.
func TestFormerSlowness(t *testing.T) {
	g, now := New(Config{}), start
	commits := func(n, pages int, took time.Duration) {
		for range n {
			now = now.Add(took)
			g.Commit(now, took, pages)
		}
	}
	commits(20, 10, 2*time.Second)
	commits(20, 500, 100*time.Millisecond)
	if got := g.Permits(now); got != DefaultWorkers {
		t.Errorf("%d permits", got)
	}
	commits(5, 500, time.Second)
	if got := g.Permits(now); got == DefaultWorkers {
		t.Error("a slow store costs nothing")
	}
}

// TestIdleStoreStartsOver lets a store idle: earlier commits do not count.
func TestIdleStoreStartsOver(t *testing.T) {
	g, now := New(Config{}), start
	for range 10 {
		now = now.Add(90 * time.Millisecond)
		g.Commit(now, time.Second, 900)
	}
	now = now.Add(Fade)
	for range 10 {
		now = now.Add(400 * time.Millisecond)
		g.Commit(now, 20*time.Millisecond, 500)
		if got := g.Permits(now); got != DefaultWorkers {
			t.Fatalf("%d permits", got)
		}
	}
}

func TestCutsBeginAtWhatIsUsed(t *testing.T) {
	g := New(Config{})
	g.InFlight(20)
	g.InFlight(8)
	g.Memory(start, 1, 1)
	g.Memory(start.Add(Interval), 1, 1)
	if got := g.Permits(start.Add(Interval)); got != 10 {
		t.Errorf("%d permits with 20 in use, want 10", got)
	}
}

func TestLimitsOfNothing(t *testing.T) {
	g := New(Config{Workers: 4, Min: 9})
	g.Memory(start, 1<<40, 0)
	g.Parse(start.Add(Interval), 1<<40, -1)
	g.Memory(start.Add(Interval), 1<<40, 0)
	if got := g.Permits(start.Add(Interval)); got != 4 || g.Reason() != "" {
		t.Errorf("%d permits, reason %q", got, g.Reason())
	}
	if got := g.Permits(start.Add(-time.Hour)); got != 4 { // a clock that was set back
		t.Errorf("%d permits", got)
	}
}

// TestBounds sends random signals at random times: permits stay within their bounds, fall
// by at most half per interval, rise by at most their share of the time, and depend only on
// the calls. When a commit that hung is done, they may rise to what they were before it,
// unless memory or the parsers are not low, or something else cut permits meanwhile.
func TestBounds(t *testing.T) {
	returned := 0 // how often permits returned at once
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 9))
		cfg := Config{Workers: 1 + r.IntN(1000), Min: r.IntN(5)}
		g, twin := New(cfg), New(cfg)
		now, last := start, g.Permits(start)
		lastCut := start.Add(-time.Hour)
		before := 0               // permits before the commit under way took some
		var loads [4]float64      // of memory and parse
		var reported [4]time.Time // when
		for range 5000 {
			d := time.Duration(r.ExpFloat64() * float64(200*time.Millisecond))
			now = now.Add(d)
			kind, load := r.IntN(4), r.Float64()*1.3
			loads[kind], reported[kind] = load, now
			for _, g := range []*Governor{g, twin} {
				switch kind {
				case 0:
					g.Commit(now, time.Duration(load*float64(DefaultCommitTarget)), int(1000*load))
				case 1:
					g.Memory(now, int64(1000*load), 1000)
				case 2:
					g.Parse(now, int(1000*load), 1000)
				case 3:
					g.Stalled(now, now.Add(-time.Duration(load*float64(time.Second))))
				}
			}
			got := g.Permits(now)
			evenly := last + 1 + int(d/(ReturnWithin/time.Duration(cfg.Workers)))
			most := evenly
			if kind == 0 {
				busy := func(kind int, low float64) bool {
					return loads[kind] > low+.001 && now.Sub(reported[kind]) < Fade
				}
				if !busy(1, marks[memory].low) && !busy(2, marks[parse].low) {
					most = max(evenly, before)
				}
				before = 0
			}
			if got > evenly {
				returned++
			}
			switch {
			case got != twin.Permits(now) || g.Reason() != twin.Reason():
				t.Fatalf("seed %d: two governors disagree", seed)
			case got < max(1, min(cfg.Min, cfg.Workers)) || got > cfg.Workers:
				t.Fatalf("seed %d: %d permits", seed, got)
			case got < last/cut:
				t.Fatalf("seed %d: from %d to %d permits", seed, last, got)
			case got < last && now.Sub(lastCut) < Interval:
				t.Fatalf("seed %d: two cuts within %v", seed, now.Sub(lastCut))
			case got > most:
				t.Fatalf("seed %d: from %d to %d permits in %v", seed, last, got, d)
			}
			if got < last {
				lastCut = now
				if kind != 3 {
					before = 0
				} else if before == 0 {
					before = last
				}
			}
			last = got
		}
	}
	if returned == 0 {
		t.Error("no commit gave permits back")
	}
}

func BenchmarkPermits(b *testing.B) {
	g := New(Config{})
	now := start
	b.ReportAllocs()
	for b.Loop() {
		now = now.Add(time.Millisecond)
		g.Stalled(now, now.Add(-300*time.Millisecond))
		g.Permits(now)
	}
}
