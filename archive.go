package headway

import (
	"context"
	"errors"
	"fmt"

	"headway/fetch"
	"headway/internal/exchange"
	"headway/output"
	"headway/visit"
)

// archiver hands the exchanges of one request to the outputs that want their
// bytes, and keeps the first error.
type archiver struct {
	purpose output.Purpose
	item    visit.Item
	err     error
}

// tap makes a request archived, if anybody wants that.
func (c *crawler) tap(ctx context.Context, req *fetch.Request, a *archiver) {
	if len(c.archives) == 0 {
		return
	}
	req.Wire = func(r *fetch.Result, w *fetch.Wire) {
		if a.err == nil {
			a.err = c.archive(ctx, a, r, w)
		}
	}
}

// archive hands one exchange over, and waits until it is taken.
func (c *crawler) archive(ctx context.Context, a *archiver, r *fetch.Result, w *fetch.Wire) error {
	x := &output.Exchange{
		Purpose: a.purpose, Item: a.item, Remote: r.Remote.Addr(), Timing: exchange.TimingOf(r), Status: r.Status, Protocol: r.Proto,
		Request: w.Request, Response: w.Response, Body: w.Body, Cut: cutOf(w), Hidden: w.Hidden,
	}
	x.Item.URL = r.URL // robots.txt may have moved
	for _, to := range c.archives {
		if err := to.Exchange(ctx, x); err != nil {
			return fmt.Errorf("write output: %w", err)
		}
	}
	return nil
}

// cutOf says why a body is not whole.
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

// syncArchives makes the bytes of exchanges durable, before their visits are.
func (c *crawler) syncArchives() error {
	for _, to := range c.archives {
		if err := to.Sync(); err != nil {
			return fmt.Errorf("write output: %w", err)
		}
	}
	return nil
}
