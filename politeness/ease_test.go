package politeness_test

import (
	"testing"
	"time"

	"headway/politeness"
)

// TestLatencyWithoutPace lets the response times of an owned host rise. Where no pace sets the
// rate, fewer requests are sent at once: the host gets no pace and no floor, and its cap grows
// again.
func TestLatencyWithoutPace(t *testing.T) {
	p, _ := politeness.Preset("owned")
	p.Jitter = 0
	s, now := politeness.New("http://mine.example"), time.Date(2026, 11, 15, 0, 0, 0, 0, time.UTC)
	var said []string
	ask := func(n int, latency time.Duration) (least, most int) {
		least, most = p.Cap(s), p.Cap(s)
		for range n {
			if w := p.Admit(s, now); !w.Go() {
				t.Fatalf("waits for %s", w.Reason)
			}
			sent := now
			s = p.Sent(s, now)
			now = now.Add(latency)
			var e politeness.Effect
			s, e = p.Observe(s, now, politeness.Answer{SentAt: sent, Status: 200, Latency: latency})
			if e.Has(politeness.Incident) {
				said = append(said, e.String())
			}
			least, most = min(least, p.Cap(s)), max(most, p.Cap(s))
		}
		return least, most
	}
	_, grown := ask(2000, 20*time.Millisecond)
	if grown < 64 {
		t.Fatalf("the cap grew to %d", grown)
	}
	least, _ := ask(10, 400*time.Millisecond)
	if least > grown/2 || len(said) == 0 || said[0] != "concurrency halved: response times increased" {
		t.Errorf("the cap fell from %d to %d: %q", grown, least, said)
	}
	if pace := p.Pace(s); pace != 0 || s.Floor() != 0 || s.Learned() != 0 {
		t.Errorf("pace %v, learned %v, floor %v; want none", pace, s.Learned(), s.Floor())
	}
	if _, again := ask(40_000, 20*time.Millisecond); again < grown {
		t.Errorf("the cap came back to %d of %d", again, grown)
	}
}
