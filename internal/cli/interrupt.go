package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"headway"
)

// interrupt is Ctrl-C where a view reads the keys. More than two say nothing new.
func (c *crawlRun) interrupt() {
	select {
	case c.keys <- struct{}{}:
	default:
	}
}

// signals turns the first interrupt into a drain and the second into the end.
func (c *crawlRun) signals(ctx context.Context, w *headway.Worker) (context.Context, context.CancelFunc) {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	drain := make(chan struct{})
	w.Drain = drain
	again := make(chan os.Signal, 1)
	ended := make(chan struct{})
	go func() {
		select {
		case <-ctx.Done():
		case <-c.keys:
		case <-ended:
			return
		}
		signal.Notify(again, os.Interrupt, syscall.SIGTERM)
		fmt.Fprintln(c.err, "headway: finishing requests in flight; press Ctrl-C again to quit now")
		close(drain)
		select {
		case <-again:
			cancel()
		case <-c.keys:
			cancel()
		case <-ended:
		}
	}()
	return work, func() {
		signal.Stop(again)
		close(ended)
		cancel()
	}
}
