package crawl

import (
	"context"
	"fmt"
	"io"
	"time"

	"headway/internal/view"
)

// Times of progress in plain lines.
const (
	firstLine = time.Second
	nextLine  = 5 * time.Second
)

// printLines prints how a crawl stands, a line every few seconds, until ctx ends.
// While nothing is sent there is a line less often, and it says why.
func printLines(ctx context.Context, w io.Writer, look func() view.Model) {
	var watch view.Watch
	var told time.Time // when the last line was printed
	first := true
	tick := time.NewTicker(firstLine)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		m := look()
		watch.Look(&m)
		every := nextLine
		if m.Idle >= view.IdleAfter {
			every = view.IdleAfter
		}
		// The ticker is a little late at times, never early by much.
		if !first && m.Now.Sub(told) < every-firstLine/2 {
			continue
		}
		first, told = false, m.Now
		fmt.Fprintln(w, view.Line(m))
	}
}
