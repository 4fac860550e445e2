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

// Archives are the outputs that record the bytes of every exchange. They are safe for
// concurrent use.
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

// Sync makes the recorded bytes durable. It is called before the visits are committed.
func (a Archives) Sync() error {
	for _, to := range a {
		if err := to.Sync(); err != nil {
			return fmt.Errorf("write output: %w", err)
		}
	}
	return nil
}

// archiver passes the exchanges of one request to the archives, and keeps the first error.
type archiver struct {
	to      Archives
	purpose output.Purpose
	item    visit.Item
	err     error
}

// tap records a request, if there are archives.
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

// write passes one exchange to the archives, and waits for them.
func (a *archiver) write(ctx context.Context, r *fetch.Result, w *fetch.Wire) error {
	x := &output.Exchange{
		Purpose: a.purpose, Item: a.item, Remote: r.Remote.Addr(), Timing: exchange.TimingOf(r), Status: r.Status, Protocol: r.Proto,
		Request: w.Request, Response: w.Response, Body: w.Body, Cut: cutOf(w), Hidden: w.Hidden,
	}
	x.Item.URL = r.URL // robots.txt may have redirected
	for _, to := range a.to {
		if err := to.Exchange(ctx, x); err != nil {
			return fmt.Errorf("write output: %w", err)
		}
	}
	return nil
}

// cutOf is why a body is incomplete.
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
