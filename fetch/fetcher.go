package fetch

import (
	"context"

	"headway/weburl"
)

// Fetcher performs exchanges. [*Client] implements it and documents the contract.
// A result is returned with an error, too.
type Fetcher interface {
	Do(ctx context.Context, req Request) (*Result, error)
	Robots(ctx context.Context, req Request) (last *Result, hops []weburl.URL, err error)
}

var _ Fetcher = (*Client)(nil)
