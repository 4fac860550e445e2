package output

import (
	"context"
	"net/netip"

	"headway/visit"
)

// ExchangeWriter is a Writer of what a visit does not contain: the bytes of every exchange.
// It receives them before the visit is stored, because they are not stored elsewhere.
type ExchangeWriter interface {
	Writer
	// Exchange writes one exchange. It must be safe for concurrent use and may block
	// on the disk. It keeps neither x nor its bytes. After an error the writer is
	// broken: every further call returns that error.
	Exchange(ctx context.Context, x *Exchange) error
	// Sync makes everything written so far durable. No visit is stored before the
	// bytes of its exchange are on disk.
	Sync(ctx context.Context) error
}

// Exchange is one request and its response, as sent over the network. An exchange without a
// response is not passed on.
type Exchange struct {
	Purpose Purpose
	Item    visit.Item // of a page; otherwise only the job and the URL
	Remote  netip.Addr // address of the server
	Timing  visit.Timing

	Status   int
	Protocol string // HTTP/1.1, HTTP/2.0

	// Request and Response are the headers with their empty lines, Body is the body
	// with its content codings and without transfer framing.
	Request, Response, Body []byte
	// Cut says why Body is incomplete; empty if it is complete.
	Cut Cut
	// Hidden names the secret fields that were removed from the headers.
	Hidden []string
}

// Purpose says what an exchange was for.
type Purpose string

// The purposes.
const (
	ForPage    Purpose = "page"
	ForRobots  Purpose = "robots"
	ForSitemap Purpose = "sitemap"
)

// Cut says why a body is incomplete.
type Cut string

// The reasons, as named by WARC.
const (
	CutLength     Cut = "length"     // over the size limit
	CutTime       Cut = "time"       // timeout
	CutDisconnect Cut = "disconnect" // the connection ended early
	CutOther      Cut = "unspecified"
)
