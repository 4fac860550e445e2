package politeness_test

import (
	"testing"
	"time"

	"headway/politeness"
)

// FuzzStateDecoding decodes arbitrary bytes: they are rejected, or are a state with which the
// rules work.
func FuzzStateDecoding(f *testing.F) {
	add := func(s politeness.State) {
		b, err := s.MarshalBinary()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	add(politeness.State{})
	h := newHost(f, preset(f, "polite"))
	h.s = h.s.WithCrawlDelay(time.Second)
	h.clean(8)
	add(h.s)
	h.ask(after(time.Minute))
	h.clean(6)
	h.ask(fault(politeness.Timeout))
	add(h.s)
	f.Fuzz(func(t *testing.T, b []byte) {
		var s politeness.State
		if err := s.UnmarshalBinary(b); err != nil {
			return
		}
		w := watch(preset(t, "polite"), t.Fatalf)
		w.s, w.delay = s, s.CrawlDelay()
		w.reload()
		w.asked = w.s.HeldUntil() // its hold applies
		w.crash()
		if w.s.Paused() {
			w.admit()
			w.s = w.s.WithPaused(false) // else it would wait forever
		}
		for i := range 20 {
			wait := w.admit()
			for !wait.Go() {
				if wait.Until.Sub(w.now) > 10*365*24*time.Hour {
					return // held forever
				}
				w.now = wait.Until
				wait = w.admit()
			}
			w.send()
			w.now = w.now.Add(50 * time.Millisecond)
			w.observe(0, []politeness.Answer{ok(), answer(429), fault(politeness.Reset)}[i%3])
		}
	})
}

// FuzzObserve reads its input as a script of sends, answers, pauses, crashes and changes of
// Crawl-delay, in any order that Admit permits.
func FuzzObserve(f *testing.F) {
	f.Add(uint8(0), []byte{0, 1, 0, 1, 0, 2, 8, 0, 1, 4, 0, 3})
	f.Add(uint8(4), []byte("\x00\x00\x00\x00\x12\x11\x21\x31\x05\x00\x42\x01"))
	f.Add(uint8(101), []byte("2812800280028\xf9028\xe50028")) // the Crawl-delay becomes shorter than a learned pace
	f.Add(uint8(2), []byte{0, 6, 8, 0, 6, 8, 0, 6, 8, 0, 1, 7, 9, 200})
	f.Fuzz(func(t *testing.T, which uint8, script []byte) {
		const longest = 500 // steps; a longer script finds nothing new
		script = script[:min(len(script), longest)]
		names := politeness.PresetNames()
		w := watch(preset(t, names[int(which)%len(names)]), t.Fatalf)
		for len(script) > 0 {
			op := script[0]
			script = script[1:]
			switch op % 10 {
			case 0:
				if w.admit().Go() {
					w.send()
				}
			case 1, 2, 3, 4, 5, 6:
				if len(w.flight) > 0 {
					w.observe(int(op/10)%len(w.flight), scripted(op%10, op))
				}
			case 7:
				w.crash()
			case 8:
				if wait := w.admit(); !wait.Go() && wait.Until.Sub(w.now) < 1000*time.Hour && wait.Until.After(w.now) {
					w.now = wait.Until
				}
			case 9:
				w.now = w.now.Add(time.Duration(op) * 37 * time.Millisecond)
				if op > 200 {
					w.delay = time.Duration(op-200) * time.Second
					w.s = w.s.WithCrawlDelay(w.delay)
				}
			}
		}
		w.reload()
	})
}

// scripted is an answer of a kind, with varying details.
func scripted(kind, detail byte) politeness.Answer {
	switch kind {
	case 1:
		a := ok()
		a.Latency = time.Duration(detail) * 10 * time.Millisecond
		return a
	case 2:
		return after(time.Duration(int(detail)-100) * time.Second)
	case 3:
		return answer(500 + int(detail)%5)
	case 4:
		return fault(politeness.Fault(detail % 8))
	case 5:
		return answer(403)
	default:
		return answer(429)
	}
}
