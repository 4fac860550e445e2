package crawl

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"headway"
)

// interrupt is Ctrl-C where a view reads the keys. More than two say nothing new.
func (c *Setup) interrupt() {
	select {
	case c.keys <- struct{}{}:
	default:
	}
}

// Interrupts makes the first interrupt drain the work and the second cancel it.
func (c *Setup) Interrupts(ctx context.Context, w *headway.Worker) (context.Context, context.CancelFunc) {
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
		fmt.Fprintln(c.Err, "headway: finishing requests in flight; press Ctrl-C again to quit now")
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
