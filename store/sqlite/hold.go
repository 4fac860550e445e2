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

// ErrStrange says that a file has the name of a crawl but is none of headway's.
var ErrStrange = errors.New("the file was not written by headway")

// Held is a crawl directory that nobody else may work in.
type Held struct{ lock *os.File }

// Hold keeps other processes out of a crawl directory without opening what is in
// it, for whoever moves or removes it. It answers [store.ErrInUse] where a crawl
// runs, [store.ErrNotFound] where there is none, and [ErrStrange] where the file
// is somebody else's. A crawl that is damaged or of another version can be held
// all the same.
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

// Where a file of SQLite says what it is, and whose.
const (
	fileMark   = "SQLite format 3\x00"
	markOffset = 68
	markEnd    = markOffset + 4
)

// checkMark refuses a file that is none of ours. An empty one is a crawl that
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

// Release lets others in again.
func (h *Held) Release() error { return h.lock.Close() }

// Running tells whether a process works in a crawl directory at this moment.
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
