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

// Archives are the outputs that receive bytes before a visit is stored: those of every
// exchange, or the bodies of pages. They are safe for concurrent use.
type Archives struct {
	exchanges []output.ExchangeWriter
	pages     []output.PageWriter
	all       []syncer
}

// ArchivesOf returns the archives among the outputs.
func ArchivesOf(outputs []output.Writer) (a Archives) {
	for _, w := range outputs {
		x, exchanges := w.(output.ExchangeWriter)
		if exchanges {
			a.exchanges = append(a.exchanges, x)
		}
		p, pages := w.(output.PageWriter)
		if pages {
			a.pages = append(a.pages, p)
		}
		if s, ok := w.(syncer); ok && (exchanges || pages) {
			a.all = append(a.all, s)
		}
	}
	return a
}

// syncer is an output that receives bytes.
type syncer interface {
	Sync(ctx context.Context) error
}

// Sync makes what was received durable. It is called before the visits are committed.
func (a Archives) Sync(ctx context.Context) error {
	for _, to := range a.all {
		if err := to.Sync(ctx); err != nil {
			return fmt.Errorf("write output: %w", err)
		}
	}
	return nil
}

// page passes on a fetched page, and waits until there is room for it.
func (a Archives) page(ctx context.Context, v *visit.Visit, body []byte) error {
	for _, to := range a.pages {
		if err := to.Page(ctx, &output.Page{Visit: v, Body: body}); err != nil {
			return fmt.Errorf("write output: %w", err)
		}
	}
	return nil
}

// archiver passes the exchanges of one request to the archives, and keeps the first error.
type archiver struct {
	to      Archives
	keep    output.Archive // encodes the exchange, to be stored with the visit; nil for none
	purpose output.Purpose
	item    visit.Item
	err     error

	records  []byte // of the last exchange
	response int64  // the length of its first record
}

// tap records a request, if there are archives.
func (a *archiver) tap(ctx context.Context, req *fetch.Request) {
	if len(a.to.exchanges) == 0 && a.keep == nil {
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
	for _, to := range a.to.exchanges {
		if err := to.Exchange(ctx, x); err != nil {
			return fmt.Errorf("write output: %w", err)
		}
	}
	if a.keep == nil {
		return nil
	}
	var err error
	if a.records, a.response, err = a.keep.Records(ctx, x); err != nil {
		return fmt.Errorf("encode exchange: %w", err)
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
