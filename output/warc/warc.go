package warc

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"headway/internal/atomicfile"
	"headway/output"
	"headway/visit"
)

const (
	// fileSize is the size at which a file ends, after the exchange that reaches it.
	fileSize = 1 << 30
	// bufferSize is the size of a write to the operating system.
	bufferSize = 256 << 10
)

// Config says where to write and what the files say about the crawl.
type Config struct {
	Dir       string // of the files
	Software  string // name and version of the crawler
	UserAgent string // of every request
	Operator  string // contact of the operator
	Robots    string // robots.txt policy; "obey"
	MaxSize   int64  // approximate size of a file; 1 GiB
}

// Writer writes the archive of one crawl. It is safe for concurrent use.
type Writer struct {
	cfg      Config
	host     string
	builders chan *recordBuilder // limits how many exchanges are processed at once, and their memory

	mu     sync.Mutex
	file   *os.File // the part file; nil if there is none
	name   string   // its final name
	buffer *bufio.Writer
	size   int64 // of the part file, including the buffer
	dirty  bool  // something is not synced yet
	lines  []string
	index  int // size of the lines in bytes
	serial int // of the next file
	seen   *seen
	broken error
}

var (
	_ output.ExchangeWriter = (*Writer)(nil)
	_ output.Flusher        = (*Writer)(nil)
	_ output.Finisher       = (*Writer)(nil)
	_ output.LinkReader     = (*Writer)(nil)
)

// Create starts a new archive. Files of an earlier crawl in the folder stay there; a part
// file is published.
func Create(cfg Config) (*Writer, error) {
	w, err := Resume(cfg)
	if err != nil {
		return nil, err
	}
	if err := w.publish(); err != nil {
		return nil, errors.Join(fmt.Errorf("create archive: %w", err), w.Close())
	}
	w.seen = newSeen()
	return w, nil
}

// Resume continues the archive of an earlier writer of the same crawl. It reads the part file
// once, and truncates it after the last complete exchange.
func Resume(cfg Config) (*Writer, error) {
	cfg.MaxSize = cmp.Or(cfg.MaxSize, fileSize)
	cfg.Robots = cmp.Or(cfg.Robots, "obey")
	w := &Writer{cfg: cfg, host: hostName(), builders: newBuilders(), buffer: bufio.NewWriterSize(nil, bufferSize), seen: newSeen()}
	if err := w.reopen(); err != nil {
		return nil, fmt.Errorf("resume archive in %s: %w", cfg.Dir, err)
	}
	return w, nil
}

// newBuilders returns a builder for each CPU.
func newBuilders() chan *recordBuilder {
	list := make(chan *recordBuilder, runtime.GOMAXPROCS(0))
	for range cap(list) {
		list <- newRecordBuilder()
	}
	return list
}

// hostName is the name of this machine, for people.
func hostName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	return plainName(host)
}

// ReadsLinks implements [output.LinkReader].
func (w *Writer) ReadsLinks() bool { return false }

// Exchange archives one exchange.
func (w *Writer) Exchange(ctx context.Context, x *output.Exchange) error {
	var p *recordBuilder
	select {
	case p = <-w.builders:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() {
		p.reset()
		w.builders <- p
	}()
	made, err := w.buildRecords(p, x)
	if err != nil {
		return fmt.Errorf("archive %s: %w", x.Item.URL, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken != nil {
		return w.broken
	}
	if err := w.add(p.out.Bytes(), &made); err != nil {
		return w.fail(err)
	}
	return nil
}

// add appends the records of an exchange to a file with room. w.mu is held.
func (w *Writer) add(records []byte, made *builtRecords) error {
	if w.file != nil && (w.size >= w.cfg.MaxSize || w.index >= maxIndex) {
		if err := w.publish(); err != nil {
			return err
		}
	}
	if w.file == nil {
		if err := w.begin(); err != nil {
			return err
		}
	}
	made.capture.offset = w.size
	if err := w.write(records); err != nil {
		return err
	}
	return w.note(made)
}

// note adds a capture to the index and remembers its payload. w.mu is held.
func (w *Writer) note(made *builtRecords) error {
	l, err := made.capture.line(w.name)
	if err != nil {
		return err
	}
	w.lines = append(w.lines, l)
	w.index += len(l)
	if made.fresh {
		w.seen.put(made.payload, made.original)
	}
	return nil
}

// write appends to the part file. w.mu is held.
func (w *Writer) write(p []byte) error {
	w.dirty = true
	w.size += int64(len(p))
	_, err := w.buffer.Write(p)
	return err
}

// fail breaks the writer: it is unknown how much was written. w.mu is held.
func (w *Writer) fail(err error) error {
	w.broken = fmt.Errorf("write archive: %w", err)
	return w.broken
}

// Write does nothing: the facts of a visit are archived with its exchange.
func (w *Writer) Write(context.Context, *visit.Visit) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.broken
}

// Flush passes everything archived so far to the operating system.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken != nil || w.file == nil {
		return w.broken
	}
	if err := w.buffer.Flush(); err != nil {
		return w.fail(err)
	}
	return nil
}

// Sync makes everything archived so far durable. Other calls continue meanwhile.
func (w *Writer) Sync(context.Context) error {
	if err := w.Flush(); err != nil {
		return err
	}
	w.mu.Lock()
	file := w.file
	if !w.dirty {
		file = nil
	}
	w.dirty = false
	w.mu.Unlock()
	if file == nil {
		return nil
	}
	// A file closed in the meantime was published, and is durable.
	if err := file.Sync(); err != nil && !errors.Is(err, os.ErrClosed) {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.fail(err)
	}
	return nil
}

// Finish publishes the last file. The ledger is not used: it does not contain the bytes.
func (w *Writer) Finish(context.Context, output.Ledger) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken != nil {
		return w.broken
	}
	if err := w.publish(); err != nil {
		return w.fail(err)
	}
	w.broken = errors.New("write archive: already finished")
	return nil
}

// Close closes the writer. Unless it was finished, the part file stays.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var err error
	if w.file != nil {
		if w.broken == nil {
			err = w.buffer.Flush()
		}
		err = errors.Join(err, w.file.Close())
		w.file = nil
	}
	if w.broken == nil {
		w.broken = errors.New("write archive: already closed")
	}
	return err
}

// begin starts the next file with its warcinfo record. w.mu is held.
func (w *Writer) begin() error {
	now := time.Now()
	name := fileName(now, w.serial, w.host)
	f, err := os.OpenFile(w.path(name)+atomicfile.PartSuffix, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	w.serial++
	w.file, w.name, w.size = f, name, 0
	w.buffer.Reset(f)
	p := newRecordBuilder()
	if err := p.info(&w.cfg, w.host, name, now); err != nil {
		return err
	}
	return w.write(p.out.Bytes())
}

// publish makes the part file durable and renames it to its final name, the index first:
// every published file has an index. w.mu is held.
func (w *Writer) publish() error {
	if w.file == nil {
		return nil
	}
	err := errors.Join(w.buffer.Flush(), w.file.Sync(), w.file.Close())
	w.file, w.dirty = nil, false
	if err != nil {
		return err
	}
	lines := w.lines
	w.lines, w.index = nil, 0
	if len(lines) == 0 {
		return atomicfile.Remove(w.path(w.name) + atomicfile.PartSuffix)
	}
	if err := writeIndex(strings.TrimSuffix(w.path(w.name), suffix)+indexSuffix, lines); err != nil {
		return err
	}
	if err := os.Rename(w.path(w.name)+atomicfile.PartSuffix, w.path(w.name)); err != nil {
		return err
	}
	return atomicfile.SyncDir(w.cfg.Dir)
}

func (w *Writer) path(name string) string { return filepath.Join(w.cfg.Dir, name) }

const (
	prefix = "headway"
	suffix = ".warc.gz"
)

// fileName is the name of a file, as the standard recommends.
func fileName(at time.Time, serial int, host string) string {
	return fmt.Sprintf("%s-%s-%05d-%s%s", prefix, at.UTC().Format("20060102150405"), serial, host, suffix)
}

// serialOf parses the serial number from the name of one of our files.
func serialOf(name string) (serial int, ok bool) {
	parts := strings.SplitN(name, "-", 4)
	if len(parts) < 4 || parts[0] != prefix || len(parts[1]) != 14 || !strings.HasSuffix(name, suffix) {
		return 0, false
	}
	serial, err := strconv.Atoi(parts[2])
	return serial, err == nil && serial >= 0
}

// plainName keeps the characters of a host name that are valid in a file name.
func plainName(host string) string {
	host = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '-' {
			return r
		}
		return '_'
	}, host)
	return cmp.Or(host[:min(len(host), 100)], "localhost")
}
