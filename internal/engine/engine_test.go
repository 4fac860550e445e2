package engine

import (
	"log/slog"

	"headway/store"
	"headway/weburl"
)

// newWorker is a worker with nothing but a store.
func newWorker(st store.Store) Worker {
	nobody := func(weburl.URL) bool { return false }
	return Worker{
		Store: st, Bounds: Bounds{Workers: 1, Slow: 1, ParseWorkers: 1, RobotsWorkers: 1}, Terms: store.DefaultTerms, Agent: "headway",
		Owned: nobody, OptedOut: nobody, Strained: func() bool { return false }, Log: slog.New(slog.DiscardHandler),
	}
}
