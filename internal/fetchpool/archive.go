package fetchpool

import (
	"context"
	"errors"
	"fmt"

	"headway/fetch"
	"headway/internal/exchange"
	"headway/output"
	"headway/visit"
)

// Archives are the outputs that take the bytes of every exchange. They may be used by
// many goroutines.
type Archives []output.ExchangeWriter

// ArchivesOf returns the archives among the outputs.
func ArchivesOf(outputs []output.Writer) (list Archives) {
	for _, w := range outputs {
		if a, ok := w.(output.ExchangeWriter); ok {
			list = append(list, a)
		}
	}
	return list
}

// Sync makes the bytes of exchanges durable, before their visits are.
func (a Archives) Sync() error {
	for _, to := range a {
		if err := to.Sync(); err != nil {
			return fmt.Errorf("write output: %w", err)
		}
	}
	return nil
}

// archiver hands the exchanges of one request to the archives, and keeps the first error.
type archiver struct {
	to      Archives
	purpose output.Purpose
	item    visit.Item
	err     error
}

// tap has a request archived, if there are archives.
func (a *archiver) tap(ctx context.Context, req *fetch.Request) {
	if len(a.to) == 0 {
		return
	}
	req.Wire = func(r *fetch.Result, w *fetch.Wire) {
		if a.err == nil {
			a.err = a.write(ctx, r, w)
		}
	}
}

// write hands one exchange over, and waits until it is taken.
func (a *archiver) write(ctx context.Context, r *fetch.Result, w *fetch.Wire) error {
	x := &output.Exchange{
		Purpose: a.purpose, Item: a.item, Remote: r.Remote.Addr(), Timing: exchange.TimingOf(r), Status: r.Status, Protocol: r.Proto,
		Request: w.Request, Response: w.Response, Body: w.Body, Cut: cutOf(w), Hidden: w.Hidden,
	}
	x.Item.URL = r.URL // robots.txt may have moved
	for _, to := range a.to {
		if err := to.Exchange(ctx, x); err != nil {
			return fmt.Errorf("write output: %w", err)
		}
	}
	return nil
}

// cutOf is why a body is not whole.
func cutOf(w *fetch.Wire) output.Cut {
	failure, ok := errors.AsType[*fetch.Error](w.Err)
	switch {
	case w.Err == nil && !w.Cut:
		return ""
	case w.Cut, ok && failure.Reason == fetch.TooLarge:
		return output.CutLength
	case ok && failure.Reason == fetch.Timeout:
		return output.CutTime
	case ok && (failure.Reason == fetch.Truncated || failure.Reason == fetch.Connect):
		return output.CutDisconnect
	default:
		return output.CutOther
	}
}
