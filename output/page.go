package output

import (
	"context"
	"fmt"

	"headway/visit"
)

// Page is a fetched page with its body, as a program receives it.
type Page struct {
	*visit.Visit
	// Body is the body without its content codings.
	Body []byte
}

// PageWriter is a Writer of fetched pages with their bodies. Like an [ExchangeWriter] it
// receives them before their visits are stored, because bodies are not stored elsewhere.
type PageWriter interface {
	Writer
	// Page writes a page that responded with a 2xx status. It must be safe for concurrent
	// use and may block. It keeps neither p nor its bytes. After an error the writer is
	// broken: every further call returns that error.
	Page(ctx context.Context, p *Page) error
	// Sync waits until everything written so far is done with. No visit is stored before.
	Sync(ctx context.Context) error
}

// PagePanicError reports a function for pages that panicked.
type PagePanicError struct {
	URL   string
	Value any    // what was panicked with
	Stack []byte // where
}

// Error names the page.
func (e *PagePanicError) Error() string {
	return fmt.Sprintf("function for page %s: panic: %v", e.URL, e.Value)
}
