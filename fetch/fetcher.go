package fetch

import (
	"context"

	"headway/weburl"
)

// Fetcher makes exchanges. [*Client] is one; its documentation says what a call promises.
// A result is there beside an error, too.
type Fetcher interface {
	Do(ctx context.Context, req Request) (*Result, error)
	Robots(ctx context.Context, req Request) (last *Result, hops []weburl.URL, err error)
}

var _ Fetcher = (*Client)(nil)
