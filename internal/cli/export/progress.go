package export

import (
	"fmt"
	"io"
	"time"

	"headway/internal/cli/command"
)

// progress shows how far something is that takes long: in one line that changes
// on a terminal, in lines otherwise.
type progress struct {
	w     io.Writer
	quiet bool
	say   func(done, of int64, rate float64) string

	terminal bool
	shown    bool
	of, done int64
	began    time.Time
	next     time.Time
}

// When a line is shown: the first and each on a terminal soon, others late.
const (
	progressSoon = time.Second
	progressLate = 5 * time.Second
)

// progressStep is how many small steps are taken between looks at the clock.
const progressStep = 256

func (p *progress) begin(of int64) {
	p.of, p.done, p.began = of, 0, time.Now()
	p.next = p.began.Add(progressSoon)
	if r, ok := p.w.(io.Reader); ok {
		p.terminal = command.IsTerminal(r)
	}
}

// step counts one small step.
func (p *progress) step() {
	p.done++
	if p.done%progressStep == 0 {
		p.look()
	}
}

// add counts a large step.
func (p *progress) add(n int64) {
	p.done += n
	p.look()
}

// reach says how much is done in all.
func (p *progress) reach(done int64) {
	p.done = done
	p.look()
}

// look shows a line if it is time.
func (p *progress) look() {
	now := time.Now()
	if p.quiet || now.Before(p.next) {
		return
	}
	line := p.say(p.done, p.of, float64(p.done)/now.Sub(p.began).Seconds())
	if p.terminal {
		fmt.Fprintf(p.w, "\r\x1b[K%s", line)
		p.next = now.Add(progressSoon)
	} else {
		fmt.Fprintf(p.w, "headway: %s\n", line)
		p.next = now.Add(progressLate)
	}
	p.shown = true
}

// end leaves the line clean.
func (p *progress) end() {
	if p.terminal && p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

// sayURLs tells of URLs that are written.
func sayURLs(done, of int64, rate float64) string {
	return fmt.Sprintf("%d of %d URLs written, %d %%, %.0f/s", done, of, 100*done/max(of, 1), rate)
}

// sayBytes tells of bytes that are sent.
func sayBytes(done, of int64, rate float64) string {
	return fmt.Sprintf("%d of %d MB uploaded, %d %%, %.1f MB/s", done>>20, of>>20, 100*done/max(of, 1), rate/(1<<20))
}

// sayBytesRead tells of bytes that are read.
func sayBytesRead(done, of int64, rate float64) string {
	return fmt.Sprintf("%d of %d MB of the archive read, %d %%, %.1f MB/s", done>>20, of>>20, 100*done/max(of, 1), rate/(1<<20))
}
