package engine

import (
	"log/slog"

	"headway/governor"
	"headway/store"
	"headway/weburl"
)

// newWorker returns a worker with nothing but a store.
func newWorker(st store.Store) Worker {
	never := func(weburl.URL) bool { return false }
	return Worker{
		Store: st, Bounds: Bounds{Workers: 1, Slow: 1, ParseWorkers: 1, RobotsWorkers: 1}, Terms: store.DefaultTerms, Agent: "headway",
		Owned: never, OptedOut: never, Overloaded: func() bool { return false }, Demand: func() governor.Demand { return governor.Demand{} }, Log: slog.New(slog.DiscardHandler),
	}
}
