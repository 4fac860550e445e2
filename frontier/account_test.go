package frontier

import (
	"maps"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"headway/visit"
)

var start = time.Date(2026, 11, 15, 0, 0, 0, 0, time.UTC)

func TestAccount(t *testing.T) {
	pace, hold := Waiting(visit.WaitPace), Waiting(visit.WaitHold)
	a := NewAccount(start)
	at := func(s float64) time.Time { return start.Add(time.Duration(s * float64(time.Second))) }
	a.Move(at(0), NoWork, Fetching) // host 1
	a.Move(at(1), Fetching, pace)
	a.Move(at(1), NoWork, hold) // host 2
	a.Move(at(3), pace, Fetching)
	a.Move(at(4), Fetching, NoWork) // host 1 has no more work
	got := map[string]time.Duration{}
	for _, s := range a.Shares(at(6)) {
		got[s.State.String()] = s.Spent
	}
	want := map[string]time.Duration{"fetching": 2 * time.Second, "pace": 2 * time.Second, "hold": 5 * time.Second}
	if len(got) != len(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for state, d := range want {
		if got[state] != d {
			t.Errorf("%s: %v, want %v", state, got[state], d)
		}
	}
	if shares := NewAccount(start).Shares(at(5)); len(shares) != 0 {
		t.Errorf("an account without hosts has shares: %v", shares)
	}
}

func TestEveryWaitHasAState(t *testing.T) {
	seen := map[State]bool{NoWork: true, Fetching: true}
	for _, w := range visit.Waits {
		s := Waiting(w)
		if seen[s] {
			t.Errorf("%s shares its state with another", w)
		}
		seen[s] = true
		if s.String() != string(w) {
			t.Errorf("state of %s is called %s", w, s)
		}
	}
}

// TestCauses divides time by what was measured: that of requests in flight and of hosts that
// wait for a place, and that of waiting for storage while the store is at work.
func TestCauses(t *testing.T) {
	f := New(Config{}, start)
	a := f.account
	at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	for _, s := range []State{Fetching, Fetching, Waiting(visit.WaitWorkers), Waiting(visit.WaitPace), waitingStorage} {
		a.Move(start, NoWork, s)
	}
	expect := func(when time.Time, want map[string]float64) {
		t.Helper()
		got := map[string]float64{}
		for _, s := range a.Shares(when) {
			if s.Spent > 0 {
				got[s.State.String()] = s.Spent.Seconds()
			}
		}
		if !maps.Equal(got, want) {
			t.Errorf("after %s: %v, want %v", when.Sub(start), got, want)
		}
	}
	f.StoreAtWork(at(2), true)
	f.StoreAtWork(at(6), false)
	f.Charge(at(8), Causes{CPU: 0.25, Queued: 0.125, Store: visit.WaitDisk, StoreShare: 0.75})
	// 16 s in flight, 8 s for a place, 8 s for storage, of which the store worked for 4 s.
	expect(at(8), map[string]float64{"fetching": 12, "workers": 7, "pace": 8, "storage": 4, "disk": 3, "cpu": 4 + 1 + 1})
	// Until they are measured again, causes are assumed to be the same.
	f.StoreAtWork(at(8), true)
	expect(at(12), map[string]float64{"fetching": 18, "workers": 10.5, "pace": 12, "storage": 4, "disk": 6, "cpu": 6 + 2 + 0.5 + 1})
	f.Charge(at(20), Causes{Store: visit.WaitDatabase, StoreShare: 1})
	expect(at(20), map[string]float64{"fetching": 34, "workers": 18.5, "pace": 20, "storage": 4, "disk": 6, "database": 8, "cpu": 9.5})
	// Without a known backend, nothing is divided.
	f.Charge(at(20), Causes{})
	expect(at(24), map[string]float64{"fetching": 42, "workers": 22.5, "pace": 24, "storage": 8, "disk": 6, "database": 8, "cpu": 9.5})
}

// TestSharesAddUp changes the states of random hosts at random times: the parts always
// add up to one, and the host-seconds equal an independent count of the time that
// hosts had work, whatever causes are measured. No share ever shrinks.
func TestSharesAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, now := New(Config{}, start), start
		a, before := f.account, map[State]time.Duration{}
		states := make([]State, rapid.IntRange(1, 20).Draw(t, "hosts"))
		var worked time.Duration
		for range rapid.IntRange(1, 200).Draw(t, "changes") {
			step := time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "step"))
			now = now.Add(step)
			for _, s := range states {
				if s != NoWork {
					worked += step
				}
			}
			h := rapid.IntRange(0, len(states)-1).Draw(t, "host")
			to := State(rapid.IntRange(0, numStates-1).Draw(t, "to"))
			a.Move(now, states[h], to)
			states[h] = to
			switch rapid.IntRange(0, 3).Draw(t, "event") {
			case 0:
				f.StoreAtWork(now, rapid.Bool().Draw(t, "working"))
			case 1:
				f.Charge(now, Causes{
					CPU: rapid.Float64Range(-1, 2).Draw(t, "cpu"), Queued: rapid.Float64Range(-1, 2).Draw(t, "queued"), StoreShare: rapid.Float64Range(-1, 2).Draw(t, "share"),
					Store: rapid.SampledFrom([]visit.Wait{"", visit.WaitDisk, visit.WaitDatabase}).Draw(t, "store"),
				})
			}

			var spent time.Duration
			parts, hosts := 0.0, 0
			for _, s := range a.Shares(now) {
				if s.Spent < before[s.State] || s.Hosts < 0 {
					t.Fatalf("%s shrank from %v to %v, with %d hosts", s.State, before[s.State], s.Spent, s.Hosts)
				}
				before[s.State] = s.Spent
				spent += s.Spent
				parts += s.Part
				hosts += s.Hosts
			}
			busy := 0
			for _, s := range states {
				if s != NoWork {
					busy++
				}
			}
			if spent != worked || hosts != busy {
				t.Fatalf("accounted %v over %d hosts, worked %v over %d", spent, hosts, worked, busy)
			}
			if spent > 0 && math.Abs(parts-1) > 1e-9 {
				t.Fatalf("parts add up to %v", parts)
			}
		}
	})
}

func TestMoveFromAnEmptyState(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a host left a state it was not in, and nobody noticed")
		}
	}()
	NewAccount(start).Move(start, Fetching, NoWork)
}
