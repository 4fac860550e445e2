// Package atomicfile writes files atomically: a file appears complete or not at all.
//
// The content is written to a file with a suffix, which is renamed after it was synced to
// disk. A killed process leaves the suffixed file behind; the next File of that name
// overwrites it. A File must not be written concurrently under one name; use Write for
// that.
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

// PartSuffix is the suffix of a file until it is published.
const PartSuffix = ".part"

// bufferSize is the size of a write to the operating system.
const bufferSize = 256 << 10

// File is a file being written. It must be used by one goroutine.
type File struct {
	*bufio.Writer
	path string
	file *os.File // nil after Publish and Drop
}

// Create starts a file. An existing file of this name stays until Publish.
func Create(path string) (*File, error) {
	f, err := os.OpenFile(path+PartSuffix, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return nil, err
	}
	return &File{Writer: bufio.NewWriterSize(f, bufferSize), path: path, file: f}, nil
}

// Publish syncs the file and renames it to its final name, replacing any existing file.
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

// Drop removes the file, unless it was published. Drop of a nil File does nothing.
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

// Remove removes a file if it exists.
func Remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Exists reports whether a file of this name exists.
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
		return nil // Windows has no such call; NTFS journals names
	}
	dir, err := os.Open(name)
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

// Write creates a file with the content that write writes. It is safe concurrently: each
// file is complete, and the last one wins.
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
