package export

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"headway/output/s3"
	"headway/store"
)

// File is a file of an export, to be read in parts.
type File struct {
	io.ReadSeekCloser
	ModifiedAt time.Time
	ETag       string // quoted; changes with the content
}

// Downloads are the names of the files of an export that can be downloaded, with their sizes.
func (e *Export) Downloads() (names []string, sizes []int64) {
	for i, file := range e.Files {
		if i < len(e.Sizes) && e.Sizes[i] != folderSize {
			names, sizes = append(names, filepath.Base(file)), append(sizes, e.Sizes[i])
		}
	}
	return names, sizes
}

// Open opens a file of an export of a job, one of its Downloads; the error is
// [store.ErrNotFound] if it was removed. In S3 reading is limited by ctx. Close it.
func (x *Exporter) Open(ctx context.Context, j *store.Job, name string) (*File, error) {
	f, err := x.open(ctx, placeOf(j), name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %w", store.ErrNotFound, err)
	}
	return f, err
}

func (x *Exporter) open(ctx context.Context, below, name string) (*File, error) {
	switch {
	case x.cfg.To == "":
		return nil, ErrNoPlace
	case s3.IsPlace(x.cfg.To):
		place, err := s3.ParsePlace(x.cfg.To)
		if err != nil {
			return nil, err
		}
		place.Prefix = path.Join(place.Prefix, below)
		o, err := s3.OpenObject(ctx, s3.Config{Place: place, Guard: x.cfg.Guard, PrivateFlag: privateFlag, Roots: x.cfg.Roots, Log: x.cfg.Log}, name)
		if err != nil {
			return nil, err
		}
		return &File{o, o.ModifiedAt, o.ETag}, nil
	}
	f, err := os.OpenInRoot(x.cfg.To, filepath.Join(filepath.FromSlash(below), name))
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &File{f, info.ModTime(), fmt.Sprintf(`"%x-%x"`, info.Size(), info.ModTime().UnixNano())}, nil
}
