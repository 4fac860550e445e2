// Package labtest serves labs to tests.
package labtest

import (
	"context"
	"testing"

	"headway/lab"
)

// Serve serves a lab on free ports, with TLS and without, until the test ends.
func Serve(t testing.TB, cfg lab.Config) *lab.Lab {
	t.Helper()
	cfg.Listen, cfg.ListenTLS = "0.0.0.0:0", "0.0.0.0:0"
	l, err := lab.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return l
}
