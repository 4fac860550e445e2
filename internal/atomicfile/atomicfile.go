// Package atomicfile writes files atomically: a file appears complete or not at all.
//
// It is what all files have in common that are made in one go: the bytes go to a
// file with a suffix, which takes its name after they are on the disk. Whoever
// is killed meanwhile leaves the suffixed file behind. A File begins it anew the
// next time, and promises nothing about a name that several write at once; Write
// is for those.
package atomicfile

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// PartSuffix is what the name of a file ends with until it is published.
const PartSuffix = ".part"

// bufferSize is how much is written to the operating system at once.
const bufferSize = 256 << 10

// File is a file that is being made. It is used by one goroutine.
type File struct {
	*bufio.Writer
	path string
	file *os.File // nil after Publish and Drop
}

// Create begins a file. One of this name stays until Publish.
func Create(path string) (*File, error) {
	f, err := os.OpenFile(path+PartSuffix, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return nil, err
	}
	return &File{Writer: bufio.NewWriterSize(f, bufferSize), path: path, file: f}, nil
}

// Publish makes the file durable and gives it its name, in place of any file
// that had it.
func (f *File) Publish() error {
	err := f.Flush()
	if err == nil {
		err = f.file.Sync()
	}
	if err = errors.Join(err, f.close()); err != nil {
		return err
	}
	if err := os.Rename(f.path+PartSuffix, f.path); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(f.path))
}

// Drop removes what was written, unless it was published. A nil File has nothing.
func (f *File) Drop() error {
	if f == nil || f.file == nil {
		return nil
	}
	return errors.Join(f.close(), Remove(f.path+PartSuffix))
}

func (f *File) close() error {
	err := f.file.Close()
	f.file = nil
	return err
}

// Remove removes a file that may not be there.
func Remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Exists tells whether there is something of this name.
func Exists(path string) (bool, error) {
	_, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// SyncDir makes the names in a folder durable.
func SyncDir(name string) error {
	if runtime.GOOS == "windows" {
		return nil // has no such call; NTFS keeps a journal of names
	}
	dir, err := os.Open(name)
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

// Write makes a file of what a function writes. Several may write one name at
// once: each file is whole, and the last one stays.
func Write(path string, write func(w io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*"+PartSuffix)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, Remove(f.Name()))
		}
	}()
	w := bufio.NewWriterSize(f, bufferSize)
	err = write(w)
	if err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = errors.Join(f.Chmod(0o644), f.Sync())
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(path))
}
