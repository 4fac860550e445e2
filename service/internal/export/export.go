// Package export writes the results of jobs as files to the operator's export location: a
// folder, or an S3 bucket.
//
// An export is a River job that uses the same code as `headway export`.
// Its files are stored by tenant and job below that location, so that clients cannot choose where a
// service writes. They appear whole or not at all; a repeated export,
// after a kill or a second request, writes the same files again. If the
// process is killed, another process takes over within seconds.
//
// It refuses exports without a location, and formats that need data of a running
// crawl.
package export

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"

	"headway/fetch/guard"
	"headway/output/s3"
	"headway/store"
)

// Queue is the queue of River in which exports wait.
const Queue = "export"

// Bounds of exports.
const (
	MaxExporting = 2         // concurrent in one process
	exportTime   = time.Hour // of one attempt
	attempts     = 5
)

// privateFlag is the flag of headway serve that sets the private addresses of [Config.Guard].
const privateFlag = "--exports-private"

// Config is where exports are written.
type Config struct {
	// To is the folder, or s3://BUCKET/PREFIX; empty for no exports.
	To string
	// Scratch is where files lie until they are copied to S3; empty for the
	// system's temporary folder.
	Scratch string
	// Guard guards the network access to S3, and Roots are its trusted roots; see
	// [s3.Config].
	Guard guard.Config
	Roots *x509.CertPool
	Log   *slog.Logger // nil for none
}

// ErrNoPlace says that the operator has configured no export location.
var ErrNoPlace = errors.New("this service has no export location")

// Exporter queues exports and runs them. Make one with [New].
type Exporter struct {
	river.WorkerDefaults[order]
	cfg   Config
	store store.Reader
	pool  *pgxpool.Pool
}

// New returns an exporter.
func New(cfg Config, s store.Reader) (*Exporter, error) {
	cfg.Log, cfg.Scratch = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler)), cmp.Or(cfg.Scratch, os.TempDir())
	var err error
	switch {
	case s3.IsPlace(cfg.To):
		_, err = s3.ParsePlace(cfg.To)
	case cfg.To != "": // an invalid folder is noticed at the start
		err = os.MkdirAll(cfg.To, 0o755)
	}
	if err != nil {
		return nil, fmt.Errorf("exports: %w", err)
	}
	return &Exporter{cfg: cfg, store: s}, nil
}
