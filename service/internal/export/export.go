// Package export writes the results of jobs as files to a place of the operator: a
// folder, or a bucket of S3.
//
// An export is a job of River, made by the same code as that of `headway export`.
// Its files lie below the place by tenant and job, so that nobody chooses where a
// service writes. They appear whole or not at all; an export that is done again,
// after a kill or because somebody asked twice, writes the same files anew. One whose
// process is killed is made by another, or by the next, within seconds.
//
// It refuses a service without a place, and formats that need what only a running
// crawl sees.
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
	MaxExporting = 2         // under way in one process
	exportTime   = time.Hour // of one attempt
	attempts     = 5
)

// Config says where exports go.
type Config struct {
	// To is the folder, or s3://BUCKET/PREFIX; empty for no exports.
	To string
	// Scratch is where files lie until they are copied to S3; empty for the
	// system's temporary folder.
	Scratch string
	// Guard is the door to S3, and Roots are who may vouch for it; see
	// [s3.Config].
	Guard guard.Config
	Roots *x509.CertPool
	Log   *slog.Logger // nil for none
}

// ErrNoPlace says that the operator has named no place for exports.
var ErrNoPlace = errors.New("this service has no place for exports")

// Exporter takes orders for exports and carries them out. Make one with [New].
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
	case cfg.To != "": // a folder that cannot be is noticed before somebody waits for its files
		err = os.MkdirAll(cfg.To, 0o755)
	}
	if err != nil {
		return nil, fmt.Errorf("exports: %w", err)
	}
	return &Exporter{cfg: cfg, store: s}, nil
}
