package export

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"

	"headway/internal/result"
	"headway/output/format"
	"headway/output/s3"
	"headway/store"
)

// Register adds the work of exports, which wait in [Queue]. The pool is that of the
// queue: sessions of it hold the locks of exports.
func (x *Exporter) Register(workers *river.Workers, pool *pgxpool.Pool) {
	x.pool = pool
	river.AddWorker(workers, x)
}

// Timeout implements [river.Worker].
func (*Exporter) Timeout(*river.Job[order]) time.Duration { return exportTime }

// Work implements [river.Worker].
func (x *Exporter) Work(ctx context.Context, j *river.Job[order]) error {
	held, free, err := x.hold(ctx, j.ID)
	var w written
	if err == nil {
		w, err = x.fulfil(held, j.ID, &j.Args)
		free()
	}
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return river.JobSnooze(0) // the server is stopping
	case errors.Is(err, store.ErrNotFound), errors.Is(err, ErrNoPlace):
		return river.JobCancel(err) // the job was deleted meanwhile, or the export location removed
	case err != nil:
		return err
	}
	return river.RecordOutput(ctx, w)
}

// fulfil writes the files of an export and moves them to the export location.
func (x *Exporter) fulfil(ctx context.Context, id int64, o *order) (written, error) {
	if x.cfg.To == "" {
		return written{}, ErrNoPlace
	}
	j, err := x.store.Job(ctx, o.Job)
	if err != nil {
		return written{}, err
	}
	below := placeOf(&j)
	if !s3.IsPlace(x.cfg.To) {
		return x.write(ctx, &j, o.Formats, filepath.Join(x.cfg.To, filepath.FromSlash(below)))
	}
	// By its number, so that a retry removes what a kill left behind.
	scratch := filepath.Join(x.cfg.Scratch, fmt.Sprint("headway-export-", id))
	if err := os.RemoveAll(scratch); err != nil {
		return written{}, err
	}
	defer func() {
		if err := os.RemoveAll(scratch); err != nil {
			x.cfg.Log.WarnContext(ctx, "cannot remove temporary export files", "path", scratch, "err", err)
		}
	}()
	w, err := x.write(ctx, &j, o.Formats, scratch)
	if err != nil {
		return written{}, err
	}
	return x.send(ctx, w, below)
}

// placeOf is the folder of a job below the export location. No tenant name can lead
// elsewhere.
func placeOf(j *store.Job) string {
	return path.Join("tenant-"+url.PathEscape(j.Tenant), fmt.Sprint("job-", j.ID))
}

// folderSize stands for the size of a folder, which cannot be downloaded.
const folderSize = -1

// write writes the files of a job to a folder.
func (x *Exporter) write(ctx context.Context, j *store.Job, formats []string, dir string) (w written, err error) {
	l := &result.Ledger{Reader: x.store, Job: j.ID, Running: !j.State.Ended()}
	if w.URLs, err = l.Total(ctx); err != nil {
		return written{}, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return written{}, err
	}
	kept, err := x.store.KeepsLinks(ctx, j.ID)
	if err != nil {
		return written{}, err
	}
	writers, err := format.Open(formats, &format.Options{Dir: dir, Crawl: fmt.Sprint("job-", j.ID), Log: x.cfg.Log, Export: true, KeptLinks: kept})
	if err == nil {
		err = result.Finish(ctx, l, writers)
	}
	if err != nil {
		return written{}, err
	}
	for _, name := range format.Files(formats...) {
		file := filepath.Join(dir, name)
		info, err := os.Stat(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return written{}, err
		}
		size := int64(folderSize)
		if info.Mode().IsRegular() {
			size = info.Size()
		}
		w.Files, w.Sizes = append(w.Files, file), append(w.Sizes, size)
	}
	return w, nil
}

// send copies the written files to the bucket.
func (x *Exporter) send(ctx context.Context, w written, below string) (written, error) {
	place, err := s3.ParsePlace(x.cfg.To)
	if err != nil {
		return written{}, err
	}
	place.Prefix = path.Join(place.Prefix, below)
	bucket, err := s3.Open(ctx, s3.Config{Place: place, Guard: x.cfg.Guard, PrivateFlag: privateFlag, Roots: x.cfg.Roots, MediaType: format.MediaType, Log: x.cfg.Log})
	if err != nil {
		return written{}, err
	}
	defer bucket.Close()
	for i, file := range w.Files {
		name := filepath.Base(file)
		if _, err := bucket.Put(ctx, file, name); err != nil {
			return written{}, err
		}
		w.Files[i] = place.String() + "/" + name
	}
	return w, nil
}
