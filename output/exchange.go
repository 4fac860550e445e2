package output

import (
	"context"
	"net/netip"

	"headway/visit"
)

// ExchangeWriter is a Writer of what a visit does not hold: the bytes of every
// exchange. It is handed them when they are there, before their visit is stored,
// because they are not kept anywhere else.
type ExchangeWriter interface {
	Writer
	// Exchange takes one exchange. It may be called by many goroutines at once
	// and may block on the disk. It does not keep x nor its bytes. After an error
	// the writer is broken: it answers every further call with it.
	Exchange(ctx context.Context, x *Exchange) error
	// Sync makes durable what was taken so far. No visit is stored before the
	// bytes of its exchange are on the disk.
	Sync() error
}

// Exchange is one request and what came of it, as they were on the wire. One
// that brought no answer is none.
type Exchange struct {
	Purpose Purpose
	Item    visit.Item // of a page; else only the job and the URL
	Remote  netip.Addr // who answered
	Timing  visit.Timing

	Status   int
	Protocol string // HTTP/1.1, HTTP/2.0

	// Request and Response are the heads with their empty lines, Body is the body
	// with its content codings and without transfer framing.
	Request, Response, Body []byte
	// Cut says why Body is not whole; empty if it is.
	Cut Cut
	// Hidden names the secret fields that were left out of the heads.
	Hidden []string
}

// Purpose says what an exchange was for.
type Purpose string

// What a crawl asks for.
const (
	ForPage    Purpose = "page"
	ForRobots  Purpose = "robots"
	ForSitemap Purpose = "sitemap"
)

// Cut says why a body is not whole.
type Cut string

// The reasons, spelled as WARC has them.
const (
	CutLength     Cut = "length"     // longer than we take
	CutTime       Cut = "time"       // too slow
	CutDisconnect Cut = "disconnect" // the connection ended early
	CutOther      Cut = "unspecified"
)
