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

// reopen finds the part that was left behind, if there is one, and recovers it.
// There are several only if somebody put them there: all but the last are files
// then.
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

// recover makes a part the current one, up to where it is whole. One without a
// whole exchange is dropped.
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

// scan reads a part and takes its exchanges into the index. w.size is where the
// last whole one ends: behind its metadata record, which is written last.
func (w *Writer) scan(f io.Reader) error {
	r := &reader{in: &countingReader{r: bufio.NewReaderSize(f, bufferSize)}}
	w.size = 0
	var open *pressed // an exchange whose metadata record did not come yet
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
			open = h.pressed()
		case typeMetadata:
			if open == nil {
				return nil // not of ours
			}
			if err := w.note(open); err != nil {
				return err
			}
			open, w.size = nil, r.in.n
		}
	}
}

// errTorn says that a record is not whole.
var errTorn = errors.New("incomplete record")

// header is what is read of a record.
type header struct {
	kind, id, url  string
	at             time.Time
	payload        string
	truncated      bool
	head           []byte // of a response
	offset, length int64
}

// pressed returns an exchange by its first record.
func (h *header) pressed() *pressed {
	p := &pressed{
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
		p.fresh = h.kind == typeResponse && !h.truncated && p.payload != digestOf()
	}
	return p
}

// reader reads the records that this package wrote, one gzip member each.
type reader struct {
	in *countingReader
	gz *gzip.Reader
}

// maxHead bounds the fields of a record, and the head of a response, that are
// read. Those that are longer are cut there.
const maxHead = 1 << 20

// next reads a record to its end, where its checksum is.
func (r *reader) next() (h header, err error) {
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
	block := &io.LimitedReader{R: text, N: size}
	if h.kind == typeResponse || h.kind == typeRevisit {
		if h.head, err = readLines(bufio.NewReader(block)); err != nil {
			return h, r.torn(err)
		}
	}
	if _, err = io.Copy(io.Discard, block); err != nil {
		return h, r.torn(err)
	}
	end, err := io.ReadAll(io.LimitReader(text, 5))
	if err != nil || string(end) != "\r\n\r\n" || block.N != 0 {
		return h, r.torn(err)
	}
	h.length = r.in.n - h.offset
	return h, nil
}

// torn tells a record that is not whole from a file that cannot be read.
func (r *reader) torn(err error) error {
	if r.in.err != nil && !errors.Is(r.in.err, io.EOF) {
		return r.in.err
	}
	return fmt.Errorf("%w: %w", errTorn, cmp.Or(err, io.ErrUnexpectedEOF))
}

// read reads the fields of a record and returns how long its block is.
func (h *header) read(text *bufio.Reader) (size int64, err error) {
	fields, err := readLines(text)
	if err != nil {
		return 0, err
	}
	if !strings.HasPrefix(string(fields), version) {
		return 0, errors.New("no WARC/1.1")
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
			h.truncated = true
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

// readLines reads up to an empty line, or the end.
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

// countingReader counts what was taken from it, byte for byte: a gzip reader
// takes no more from an io.ByteReader than belongs to it.
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
