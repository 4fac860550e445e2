package jsonl

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"headway/internal/atomicfile"
	"headway/output"
	"headway/visit"
)

// PartSuffix is the suffix of a file until it is finished.
const PartSuffix = ".part"

// bufferSize is the size of a write to the operating system.
const bufferSize = 256 << 10

// Config says where to write and what.
type Config struct {
	Path  string // of the finished file
	Links bool   // also write the links of each page, most of the bytes of a crawl
}

// Writer writes one file. It is used by one goroutine.
type Writer struct {
	cfg    Config
	file   *os.File // the unfinished file; nil once finished or closed
	buffer *bufio.Writer
	line   []byte
	lines  map[output.Ending]int64 // number of lines, in the file and the buffer
	broken error
	// finished says that the finished file of the crawl is still in place, unchanged.
	finished bool
}

var (
	_ output.Writer   = (*Writer)(nil)
	_ output.Flusher  = (*Writer)(nil)
	_ output.Finisher = (*Writer)(nil)
)

// Create starts a new file. A finished file of this name stays until Finish replaces it.
func Create(cfg Config) (*Writer, error) {
	f, err := os.OpenFile(cfg.Path+PartSuffix, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return nil, fmt.Errorf("create output: %w", err)
	}
	return newWriter(cfg, f), nil
}

// Resume continues the file of an earlier writer of the same crawl: an unfinished file, or,
// if the crawl was extended, a finished file, which becomes unfinished with the first new
// line. It reads the file once, and cuts it at the first line that is incomplete or may
// have changed since; Finish adds what is then missing.
func Resume(cfg Config) (*Writer, error) {
	w := newWriter(cfg, nil)
	if _, err := os.Lstat(cfg.Path + PartSuffix); errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(cfg.Path); err == nil {
			w.finished = true
			return w, nil
		}
	}
	if err := w.reopen(); err != nil {
		return nil, err
	}
	return w, nil
}

func newWriter(cfg Config, f *os.File) *Writer {
	return &Writer{cfg: cfg, file: f, buffer: bufio.NewWriterSize(f, bufferSize), lines: map[output.Ending]int64{}}
}

// unfinish makes a finished file unfinished again, if not yet done.
func (w *Writer) unfinish() error {
	if !w.finished {
		return nil
	}
	if err := os.Rename(w.cfg.Path, w.cfg.Path+PartSuffix); err != nil {
		return w.fail(err)
	}
	w.finished = false
	if err := w.reopen(); err != nil {
		return w.fail(err)
	}
	return nil
}

// reopen opens the unfinished file and recovers its content.
func (w *Writer) reopen() error {
	part := w.cfg.Path + PartSuffix
	f, err := os.OpenFile(part, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return fmt.Errorf("resume output: %w", err)
	}
	w.file = f
	w.buffer.Reset(f)
	if err := w.recover(); err != nil {
		f.Close()
		w.file = nil
		return fmt.Errorf("resume output %s: %w", part, err)
	}
	return nil
}

// recover counts the lines of the file and cuts it after the last valid one.
func (w *Writer) recover() error {
	end, err := scan(w.file, func(l head) bool {
		if !l.ending.Settled() {
			return false
		}
		w.lines[l.ending]++
		return true
	})
	if err != nil {
		return err
	}
	if err := w.file.Truncate(end); err != nil {
		return err
	}
	_, err = w.file.Seek(end, 0)
	return err
}

// Write writes the line of a visit. Visits whose ending may still change are left to Finish.
func (w *Writer) Write(_ context.Context, v *visit.Visit) error {
	if w.broken != nil {
		return w.broken
	}
	if err := v.Check(); err != nil {
		return err
	}
	if !output.EndingOf(v).Settled() {
		return nil
	}
	if err := w.unfinish(); err != nil {
		return err
	}
	return w.add(v)
}

// add writes a line, whatever its ending.
func (w *Writer) add(v *visit.Visit) error {
	line, err := appendLine(w.line[:0], v, w.cfg.Links)
	if err != nil {
		return fmt.Errorf("line of %s: %w", v.Item.URL, err)
	}
	w.line = line
	if _, err := w.buffer.Write(line); err != nil {
		return w.fail(err)
	}
	w.lines[output.EndingOf(v)]++
	return nil
}

// fail breaks the writer: it is unknown how much of the buffer was written.
func (w *Writer) fail(err error) error {
	w.broken = fmt.Errorf("write output: %w", err)
	return w.broken
}

// ReadsLinks implements [output.LinkReader].
func (w *Writer) ReadsLinks() bool { return w.cfg.Links }

// Flush passes the lines written so far to the operating system.
func (w *Writer) Flush() error {
	if w.broken != nil || w.finished {
		return w.broken
	}
	if err := w.buffer.Flush(); err != nil {
		return w.fail(err)
	}
	return nil
}

// Close closes the writer. Unless it was finished, the part file stays.
func (w *Writer) Close() error {
	if w.file == nil {
		return w.end(nil)
	}
	err := w.Flush()
	if closing := w.file.Close(); err == nil && closing != nil {
		err = w.fail(closing)
	}
	w.file = nil
	return w.end(err)
}

// end prevents further writes.
func (w *Writer) end(err error) error {
	if w.broken == nil {
		w.broken = errors.New("write output: already closed")
	}
	return err
}

// Finish compares the file with the ledger, ending by ending, and renames it to its final
// name.
//
// Lines are only written for URLs that have ended, so equal counts mean that no line is
// missing; that is the case for all settled endings of a crawl that was not killed. Endings
// without any line are written from the ledger. Only if some lines of an ending are missing,
// the file is read again to see which.
func (w *Writer) Finish(ctx context.Context, l output.Ledger) error {
	if w.broken != nil {
		return w.broken
	}
	if err := w.unfinish(); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	want, err := l.Ended(ctx)
	if err != nil {
		return fmt.Errorf("finish output: %w", err)
	}
	if err := w.settle(ctx, l, want); err != nil {
		return fmt.Errorf("finish output: %w", err)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if err := w.publish(); err != nil {
		return w.fail(err)
	}
	return nil
}

// settle adds the missing lines.
func (w *Writer) settle(ctx context.Context, l output.Ledger, want map[output.Ending]int64) error {
	for e, n := range w.lines {
		if n > want[e] {
			// The file cannot belong to this crawl; the ledger is authoritative.
			if err := w.empty(); err != nil {
				return err
			}
			break
		}
	}
	for _, e := range inOrder(want) {
		var err error
		switch w.lines[e] {
		case want[e]:
			continue
		case 0:
			err = l.Each(ctx, e, w.add)
		default:
			err = w.fill(ctx, l, e)
		}
		if err != nil {
			return err
		}
		if have := w.lines[e]; have != want[e] {
			return fmt.Errorf("%d URLs ended %s, but %d were listed", want[e], e, have)
		}
	}
	return nil
}

// empty removes all lines.
func (w *Writer) empty() error {
	clear(w.lines)
	if err := w.file.Truncate(0); err != nil {
		return w.fail(err)
	}
	if _, err := w.file.Seek(0, 0); err != nil {
		return w.fail(err)
	}
	return nil
}

// inOrder returns the endings by name, those that may still change last: a resuming writer
// cuts the file there.
func inOrder(ended map[output.Ending]int64) []output.Ending {
	var list []output.Ending
	for e, n := range ended {
		if n > 0 {
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(a, b output.Ending) int {
		if s, t := a.Settled(), b.Settled(); s != t {
			if s {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.Outcome, b.Outcome), cmp.Compare(a.Reason, b.Reason))
	})
	return list
}

// publish makes the file durable and renames it to its final name.
func (w *Writer) publish() error {
	if err := w.file.Sync(); err != nil {
		return err
	}
	err := w.file.Close()
	w.file = nil
	if err != nil {
		return err
	}
	if err := os.Rename(w.cfg.Path+PartSuffix, w.cfg.Path); err != nil {
		return err
	}
	return atomicfile.SyncDir(filepath.Dir(w.cfg.Path))
}
