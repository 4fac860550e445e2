package politeness_test

import (
	"net/http"
	"testing"
	"time"

	"headway/politeness"
	"headway/politeness/internal/sim"
)

// BenchmarkExchange is the cost of the rules per request: Admit, Sent and Observe of an ordinary
// answer, on a host that has learned a pace.
func BenchmarkExchange(b *testing.B) {
	for name, every := range map[string]int{"clean": 0, "one refusal in 20": 20} {
		b.Run(name, func(b *testing.B) {
			p := preset(b, "polite")
			s := politeness.New("http://host.example").WithLearned(3 * time.Second)
			now := sim.Epoch
			good := politeness.Answer{Status: http.StatusOK, Latency: 80 * time.Millisecond}
			bad := politeness.Answer{Status: http.StatusTooManyRequests, Latency: 80 * time.Millisecond}
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				now = now.Add(2 * time.Hour) // after every hold and interval
				if !p.Admit(s, now).Go() {
					b.Fatal("not admitted")
				}
				s = p.Sent(s, now)
				a := &good
				if n++; every > 0 && n%every == 0 {
					a = &bad
				}
				a.SentAt = now
				now = now.Add(80 * time.Millisecond)
				s, _ = p.Observe(s, now, *a)
			}
		})
	}
}

// BenchmarkAdmitWaiting is the most frequent result for a scheduler: not yet.
func BenchmarkAdmitWaiting(b *testing.B) {
	p := preset(b, "polite")
	s := p.Sent(politeness.New("http://host.example"), sim.Epoch)
	now := sim.Epoch.Add(time.Millisecond)
	b.ReportAllocs()
	for b.Loop() {
		if p.Admit(s, now).Go() {
			b.Fatal("admitted")
		}
	}
}

// BenchmarkEncode is the cost of storing one host.
func BenchmarkEncode(b *testing.B) {
	h := newHost(b, preset(b, "polite"))
	h.clean(20)
	h.ask(after(time.Minute))
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if buf, err = h.s.AppendBinary(buf[:0]); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(buf)), "bytes/host")
}

// TestExchangeDoesNotAllocate keeps the hot path off the heap.
func TestExchangeDoesNotAllocate(t *testing.T) {
	p := preset(t, "polite")
	s := politeness.New("http://host.example").WithLearned(3 * time.Second)
	now := sim.Epoch
	answers := []politeness.Answer{ok(), ok(), ok(), answer(429), fault(politeness.Timeout), answer(404)}
	i := 0
	allocs := testing.AllocsPerRun(1000, func() {
		now = now.Add(2 * time.Hour)
		p.Admit(s, now)
		s = p.Sent(s, now)
		a := answers[i%len(answers)]
		a.SentAt = now
		s, _ = p.Observe(s, now, a)
		i++
	})
	if allocs != 0 {
		t.Errorf("%v allocations for an exchange, want none", allocs)
	}
}
