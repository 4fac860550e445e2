package archive

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"headway/internal/atomicfile"
)

// folder is a place on disk, such as a mounted share.
type folder struct{ root *os.Root }

func openFolder(dir string) (*folder, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &folder{root}, nil
}

func (f *folder) Put(_ context.Context, name string, data []byte) error {
	dir := path.Dir(name)
	if err := f.makeDir(dir); err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(f.root.Name(), filepath.FromSlash(name)), func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// makeDir creates a folder and those above it, durably.
func (f *folder) makeDir(dir string) error {
	if dir == "." {
		return nil
	}
	if _, err := f.root.Stat(filepath.FromSlash(dir)); err == nil {
		return nil
	}
	above := path.Dir(dir)
	if err := f.makeDir(above); err != nil {
		return err
	}
	if err := f.root.Mkdir(filepath.FromSlash(dir), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return atomicfile.SyncDir(filepath.Join(f.root.Name(), filepath.FromSlash(above)))
}

func (f *folder) Read(_ context.Context, name string, offset, length int64) ([]byte, error) {
	file, err := f.root.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data := make([]byte, length)
	if _, err := io.ReadFull(io.NewSectionReader(file, offset, length), data); err != nil {
		return nil, err
	}
	return data, nil
}

func (f *folder) List(ctx context.Context, prefix string, yield func(name string, at time.Time) error) error {
	err := fs.WalkDir(f.root.FS(), strings.TrimSuffix(prefix, "/"), func(name string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) { // renamed meanwhile
			return nil
		}
		if err != nil {
			return err
		}
		return yield(name, info.ModTime())
	})
	if errors.Is(err, fs.ErrNotExist) { // nothing was written yet, or another process sweeps
		return nil
	}
	return err
}

// Delete deletes a file, and its folder if that is empty now. A worker that is about to write
// there retries.
func (f *folder) Delete(_ context.Context, name string) error {
	if err := f.root.Remove(filepath.FromSlash(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	_ = f.root.Remove(filepath.FromSlash(path.Dir(name))) // fails unless it is empty
	return nil
}

func (f *folder) Close() { _ = f.root.Close() } // nothing is written through it
