package sqlite

import (
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"headway/store"
)

// ErrStrange says that a file is named like a crawl but was not written by headway.
var ErrStrange = errors.New("the file was not written by headway")

// Held is a locked crawl directory.
type Held struct{ lock *os.File }

// Hold locks a crawl directory against other processes without opening the crawl, to move
// or remove it. It returns [store.ErrInUse] if a crawl runs there, [store.ErrNotFound] if
// there is none, and [ErrStrange] if the file was not written by headway. A damaged crawl
// or one of another version can be locked, too.
func Hold(dir string) (*Held, error) {
	path := filepath.Join(dir, crawlFile)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && !info.Mode().IsRegular():
		return nil, store.ErrNotFound
	case err != nil:
		return nil, err
	}
	if err := checkMark(path); err != nil {
		return nil, err
	}
	lock, err := lockPath(filepath.Join(dir, lockFile))
	if err != nil {
		return nil, err
	}
	return &Held{lock}, nil
}

// Offsets and marks in the header of an SQLite file.
const (
	fileMark   = "SQLite format 3\x00"
	markOffset = 68
	markEnd    = markOffset + 4
)

// checkMark rejects a file that was not written by headway. An empty one is a crawl that
// was stopped at once.
func checkMark(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	head := make([]byte, markEnd)
	switch n, err := io.ReadFull(f, head); {
	case n == 0 && errors.Is(err, io.EOF):
		return nil
	case errors.Is(err, io.ErrUnexpectedEOF):
		return ErrStrange
	case err != nil:
		return err
	}
	if !strings.HasPrefix(string(head), fileMark) || int64(binary.BigEndian.Uint32(head[markOffset:])) != crawlSchema.mark {
		return ErrStrange
	}
	return nil
}

// Release unlocks the directory.
func (h *Held) Release() error { return h.lock.Close() }

// Running reports whether a process is using a crawl directory.
func Running(dir string) (bool, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	free, err := tryLock(f)
	return !free, err
}
