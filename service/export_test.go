package service

import (
	"context"
	"net"

	"headway/service/internal/api"
)

// ServeBeside is Run on a listener, with a runner that only calls run.
func ServeBeside(ctx context.Context, c Config, l net.Listener, run func(context.Context) error) error {
	return serve(ctx, c, l, idle{run: run})
}

// idle is a runner without background jobs.
type idle struct {
	api.Chores
	run func(context.Context) error
}

// Run implements [choreRunner].
func (i idle) Run(ctx context.Context) error { return i.run(ctx) }
