package output

import (
	"errors"
	"os"
	"slices"
	"sync"
)

// spool is a temporary file of limited size in which bodies wait: a ring, as they are read in
// about the order they were written. Its owner guards reserve and free; reads and writes of
// different places may run at the same time.
type spool struct {
	dir    string
	max    int64
	next   int64     // where the next body begins
	used   int64     // bytes reserved
	places []*region // reserved, oldest first

	open sync.Once
	file *os.File
	err  error // of opening it
}

// region is the place of a body.
type region struct {
	at, size int64
	freed    bool
}

func newSpool(dir string, most int64) *spool { return &spool{dir: dir, max: most} }

// reserve reserves room for a body; nil if there is none.
func (s *spool) reserve(size int64) *region {
	if s.used+size > s.max {
		return nil
	}
	r := &region{at: s.next, size: size}
	s.next = (s.next + size) % s.max
	s.used += size
	s.places = append(s.places, r)
	return r
}

// free frees the room of a body, which can be used again when that of all older ones is
// free.
func (s *spool) free(r *region) {
	r.freed = true
	for len(s.places) > 0 && s.places[0].freed {
		s.used -= s.places[0].size
		s.places = slices.Delete(s.places, 0, 1)
	}
}

// write writes a body at its place.
func (s *spool) write(r *region, body []byte) error {
	s.open.Do(func() { s.file, s.err = os.CreateTemp(s.dir, "headway-pages-*.spool") })
	if s.err != nil {
		return s.err
	}
	first := min(r.size, s.max-r.at)
	_, err := s.file.WriteAt(body[:first], r.at)
	if err == nil && first < r.size { // around the end
		_, err = s.file.WriteAt(body[first:], 0)
	}
	return err
}

// read reads a body that was written.
func (s *spool) read(r *region) ([]byte, error) {
	body := make([]byte, r.size)
	first := min(r.size, s.max-r.at)
	_, err := s.file.ReadAt(body[:first], r.at)
	if err == nil && first < r.size {
		_, err = s.file.ReadAt(body[first:], 0)
	}
	return body, err
}

// close removes the file.
func (s *spool) close() error {
	if s.file == nil {
		return nil
	}
	return errors.Join(s.file.Close(), os.Remove(s.file.Name()))
}
