package warc

import (
	"bufio"
	"cmp"
	"encoding/base32"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"

	"headway/internal/atomicfile"
)

// reopen finds the part file of an earlier writer, if there is one, and recovers it. Several
// exist only if someone put them there: all but the last are then published.
func (w *Writer) reopen() error {
	entries, err := os.ReadDir(w.cfg.Dir)
	if err != nil {
		return err
	}
	var parts []string
	for _, e := range entries {
		name, part := strings.CutSuffix(e.Name(), atomicfile.PartSuffix)
		serial, ours := serialOf(name)
		if !ours {
			continue
		}
		w.serial = max(w.serial, serial+1)
		if part {
			parts = append(parts, name)
		}
	}
	slices.Sort(parts)
	for _, name := range parts {
		if err := w.publish(); err != nil {
			return err
		}
		if err := w.recover(name); err != nil {
			return fmt.Errorf("%s: %w", name+atomicfile.PartSuffix, err)
		}
	}
	return nil
}

// recover makes a part file the current one, up to its last complete exchange. One without a
// complete exchange is removed.
func (w *Writer) recover(name string) error {
	path := w.path(name) + atomicfile.PartSuffix
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	w.name = name
	if err := w.scan(f); err != nil {
		return errors.Join(err, f.Close())
	}
	if len(w.lines) == 0 {
		return errors.Join(f.Close(), atomicfile.Remove(path))
	}
	if err := f.Truncate(w.size); err != nil {
		return errors.Join(err, f.Close())
	}
	if _, err := f.Seek(w.size, io.SeekStart); err != nil {
		return errors.Join(err, f.Close())
	}
	w.file, w.dirty = f, true
	w.buffer.Reset(f)
	return nil
}

// scan reads a part file and adds its exchanges to the index. w.size is the end of the last
// complete one: after its metadata record, which is written last.
func (w *Writer) scan(f io.Reader) error {
	r := &reader{in: &countingReader{r: bufio.NewReaderSize(f, bufferSize)}}
	w.size = 0
	var open *builtRecords // an exchange without its metadata record so far
	for {
		h, err := r.next()
		if err != nil {
			if errors.Is(err, errTorn) || errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		switch h.kind {
		case typeInfo:
			w.size = r.in.n
		case typeResponse, typeRevisit:
			open = h.builtRecords()
		case typeMetadata:
			if open == nil {
				return nil // not written by us
			}
			if err := w.note(open); err != nil {
				return err
			}
			open, w.size = nil, r.in.n
		}
	}
}

// errTorn means that a record is incomplete.
var errTorn = errors.New("incomplete record")

// errNoRecord means that a gzip member is something else.
var errNoRecord = errors.New("no WARC/1.1")

// header is the part of a record that is read.
type header struct {
	kind, id, url  string
	at             time.Time
	payload        string
	truncated      string // why the block is incomplete
	profile        string // of a revisit
	remote         string
	head           []byte // of a response
	offset, length int64
}

// builtRecords returns an exchange from its first record.
func (h *header) builtRecords() *builtRecords {
	p := &builtRecords{
		capture: capture{
			url: h.url, at: h.at, media: mediaOf(h.head), status: statusOf(h.head), payload: h.payload, offset: h.offset, length: h.length,
		},
		original: original{id: h.id, url: h.url, date: date(h.at)},
	}
	if h.kind == typeRevisit {
		p.capture.media = revisitType
	}
	sum, ok := strings.CutPrefix(h.payload, "sha256:")
	raw, err := base32.StdEncoding.DecodeString(sum)
	if ok && err == nil && len(raw) == len(p.payload) {
		copy(p.payload[:], raw)
		p.fresh = h.kind == typeResponse && h.truncated == "" && p.payload != digestOf()
	}
	return p
}

// reader reads the records written by this package, one gzip member each.
type reader struct {
	in *countingReader
	gz *gzip.Reader
}

// maxHead limits how much of a record's fields, and of a response header, is read. Longer
// ones are cut.
const maxHead = 1 << 20

// next reads a record to its end, including its checksum.
func (r *reader) next() (h header, err error) {
	return r.read(func(*header, io.Reader) error { return nil })
}

// read is next with a function that may read the block of the record, without the header of
// a response.
func (r *reader) read(block func(h *header, rest io.Reader) error) (h header, err error) {
	h.offset = r.in.n
	if _, err := r.in.r.Peek(1); err != nil {
		return h, err
	}
	if r.gz == nil {
		r.gz, err = gzip.NewReader(r.in)
	} else {
		err = r.gz.Reset(r.in)
	}
	if err != nil {
		return h, r.torn(err)
	}
	r.gz.Multistream(false)
	text := bufio.NewReaderSize(r.gz, 4<<10)
	size, err := h.read(text)
	if err != nil {
		return h, r.torn(err)
	}
	limited := &io.LimitedReader{R: text, N: size}
	rest := bufio.NewReader(limited)
	if h.kind == typeResponse || h.kind == typeRevisit {
		if h.head, err = readLines(rest); err != nil {
			return h, r.torn(err)
		}
	}
	if err := block(&h, rest); err != nil {
		return h, r.torn(err)
	}
	if _, err = io.Copy(io.Discard, rest); err != nil {
		return h, r.torn(err)
	}
	end, err := io.ReadAll(io.LimitReader(text, 5))
	if err != nil || string(end) != recordEnd || limited.N != 0 {
		return h, r.torn(err)
	}
	h.length = r.in.n - h.offset
	return h, nil
}

// torn distinguishes an incomplete record from a read error.
func (r *reader) torn(err error) error {
	if r.in.err != nil && !errors.Is(r.in.err, io.EOF) {
		return r.in.err
	}
	return fmt.Errorf("%w: %w", errTorn, cmp.Or(err, io.ErrUnexpectedEOF))
}

// read reads the fields of a record and returns the length of its block.
func (h *header) read(text *bufio.Reader) (size int64, err error) {
	fields, err := readLines(text)
	if err != nil {
		return 0, err
	}
	if !strings.HasPrefix(string(fields), version) {
		return 0, errNoRecord
	}
	size = -1
	eachField(fields, func(name string, value []byte) {
		v := string(value)
		switch name {
		case "WARC-Type":
			h.kind = v
		case "WARC-Record-ID":
			h.id = v
		case "WARC-Target-URI":
			h.url = v
		case "WARC-Date":
			h.at, err = time.Parse(dateLayout, v)
		case "WARC-Payload-Digest":
			h.payload = v
		case "WARC-Truncated":
			h.truncated = v
		case "WARC-Profile":
			h.profile = v
		case "WARC-IP-Address":
			h.remote = v
		case "Content-Length":
			if n, bad := strconv.ParseInt(v, 10, 64); bad == nil {
				size = n
			}
		}
	})
	if err == nil && (h.kind == "" || size < 0) {
		err = errors.New("fields are missing")
	}
	return size, err
}

// readLines reads up to an empty line or the end.
func readLines(r *bufio.Reader) (text []byte, err error) {
	for len(text) < maxHead {
		l, err := r.ReadSlice('\n')
		text = append(text, l...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if errors.Is(err, io.EOF) || err == nil && len(strings.TrimRight(string(l), "\r\n")) == 0 {
			return text, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return text, nil
}

// countingReader counts the bytes read: a gzip reader reads from an io.ByteReader exactly
// what belongs to its member.
type countingReader struct {
	r   *bufio.Reader
	n   int64
	err error
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	c.note(err)
	return n, err
}

// ReadByte implements [io.ByteReader].
func (c *countingReader) ReadByte() (byte, error) {
	b, err := c.r.ReadByte()
	if err == nil {
		c.n++
	}
	c.note(err)
	return b, err
}

func (c *countingReader) note(err error) {
	if err != nil {
		c.err = err
	}
}
