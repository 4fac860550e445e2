package check

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"os"

	"headway/internal/atomicfile"
	"headway/output"
	"headway/visit"
)

// line is the links of a page, as of its latest visit.
type line struct {
	Page     string   `json:"page"`
	Redirect bool     `json:"redirect,omitempty"` // the one link is where it redirects to
	Links    []string `json:"links"`
}

// Log is a file of the links of each page, one line for each visit; the last line
// about a page counts. It is an [output.Writer], written while the crawl runs: a
// process that is killed may have stored a page but not its line, and then only the
// page that named a link first is known.
type Log struct {
	f     *os.File
	w     *bufio.Writer
	enc   *json.Encoder
	known map[uint64]struct{} // pages that have a line
	err   error
}

var (
	_ output.Writer  = (*Log)(nil)
	_ output.Flusher = (*Log)(nil)
)

// seed makes hashes of pages, which live as long as the process.
var seed = maphash.MakeSeed()

func hash(page string) uint64 { return maphash.String(seed, page) }

// OpenLog opens the file at path, or creates it; fresh discards its content. A file of
// which more than half is outdated is rewritten.
func OpenLog(path string, fresh bool) (*Log, error) {
	if fresh {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("discard the links of the last check: %w", err)
		}
	}
	l := &Log{known: map[uint64]struct{}{}}
	lines := 0
	err := eachLine(path, func(_ int, x *line) error {
		lines++
		l.known[hash(x.Page)] = struct{}{}
		return nil
	})
	if err == nil && lines > 2*len(l.known) {
		err = compact(path)
	}
	if err != nil {
		return nil, err
	}
	if l.f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644); err != nil {
		return nil, fmt.Errorf("open link log: %w", err)
	}
	l.w = bufio.NewWriter(l.f)
	l.enc = json.NewEncoder(l.w)
	l.enc.SetEscapeHTML(false)
	// A truncated line must not swallow the next one.
	if info, err := l.f.Stat(); err == nil && info.Size() > 0 {
		last := make([]byte, 1)
		if _, err := l.f.ReadAt(last, info.Size()-1); err == nil && last[0] != '\n' {
			l.err = l.w.WriteByte('\n')
		}
	}
	return l, nil
}

// Write implements [output.Writer].
func (l *Log) Write(_ context.Context, v *visit.Visit) error {
	if l.err != nil {
		return l.err
	}
	if v.Outcome == visit.NotModified {
		return nil // 304: the links are the same
	}
	page := v.Item.URL.String()
	_, before := l.known[hash(page)]
	if len(v.Links) == 0 && !before {
		return nil // most out-of-scope links
	}
	x := line{Page: page, Redirect: v.Outcome == visit.Redirected, Links: []string{}}
	once := make(map[string]bool, len(v.Links))
	for i := range v.Links {
		if u := v.Links[i].URL.String(); !once[u] {
			once[u] = true
			x.Links = append(x.Links, u)
		}
	}
	l.known[hash(page)] = struct{}{}
	l.err = l.enc.Encode(x)
	return l.err
}

// Flush implements [output.Flusher].
func (l *Log) Flush() error {
	if l.err == nil {
		l.err = l.w.Flush()
	}
	return l.err
}

// Close implements [output.Writer].
func (l *Log) Close() error {
	err := l.Flush()
	if closed := l.f.Close(); err == nil && closed != nil {
		err = closed
	}
	return err
}

// eachLine reads a log in order. A line that cannot be read was truncated by a kill
// and is skipped; a missing file has no lines.
func eachLine(path string, do func(n int, x *line) error) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read link log: %w", err)
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 1<<16)
	for n := 0; ; n++ {
		data, err := r.ReadBytes('\n')
		if len(bytes.TrimSpace(data)) > 0 {
			var x line
			if json.Unmarshal(data, &x) == nil && x.Page != "" {
				if err := do(n, &x); err != nil {
					return err
				}
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read link log: %w", err)
		}
	}
}

// latest finds the number of the last line about each page.
func latest(path string) (map[uint64]int, error) {
	last := map[uint64]int{}
	err := eachLine(path, func(n int, x *line) error {
		last[hash(x.Page)] = n
		return nil
	})
	return last, err
}

// compact rewrites a log without outdated lines.
func compact(path string) error {
	last, err := latest(path)
	if err != nil {
		return err
	}
	return atomicfile.Write(path, func(w io.Writer) error {
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		return eachLine(path, func(n int, x *line) error {
			if last[hash(x.Page)] != n {
				return nil
			}
			return enc.Encode(x)
		})
	})
}
