package frontier

import (
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

// TestSharesAddUp changes the states of random hosts at random times: the parts always
// add up to one, and the host-seconds equal an independent count of the time that
// hosts had work.
func TestSharesAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, now := NewAccount(start), start
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

			var spent time.Duration
			parts, hosts := 0.0, 0
			for _, s := range a.Shares(now) {
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
