package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"headway/internal/cli/command"
	"headway/internal/metrics"
)

// Bounds of the small server beside a worker. What it serves takes milliseconds;
// whoever takes longer to ask or to read is no scraper.
const (
	besideTimeout = 30 * time.Second
	besideHeader  = 16 << 10 // bytes
	besideFor     = time.Second
)

// serveBeside serves a handler at an address while a command does its work. The
// returned function ends that and waits for it.
func serveBeside(ctx context.Context, address string, h http.Handler, people io.Writer) (stop func(), err error) {
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	server := &http.Server{Handler: h, ReadTimeout: besideTimeout, WriteTimeout: besideTimeout, IdleTimeout: 2 * besideTimeout, MaxHeaderBytes: besideHeader}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			fmt.Fprintf(people, "headway: warning: metrics server on %s stopped: %s\n", listener.Addr(), command.OneLine(err.Error()))
		}
	}()
	fmt.Fprintf(people, "headway: metrics at http://%s%s\n", listener.Addr(), metrics.MetricsPath)
	return func() {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), besideFor)
		defer cancel()
		if err := server.Shutdown(last); err != nil {
			_ = server.Close() // somebody is still being served, and is left
		}
		<-done
	}, nil
}
