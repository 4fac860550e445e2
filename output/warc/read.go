package warc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"strconv"
	"time"

	"github.com/klauspost/compress/gzip"

	"headway/output"
	"headway/visit"
	"headway/weburl"
)

// maxPayload is how much of a body is read; the rest of a longer one is left out.
const maxPayload = 32 << 20

// maxPlaces is how many payloads a reader can find again: more than a writer remembers.
const maxPlaces = 1 << 18

// Reader reads the exchanges of files that a [Writer] wrote, in the order of the files and
// of the records in them. It is used by one goroutine. Memory does not grow with the
// archive.
type Reader struct {
	// Damaged is called for a file that ends within an exchange, with the size of what was
	// read of it: the last file of a killed crawl, or a copy that was interrupted. Reading
	// continues with the next file.
	Damaged func(path string, size int64, err error)

	paths  []string
	at     int // index of the open file
	file   *os.File
	in     *reader
	end    int64 // of the last complete exchange
	before int64 // size of the files before this one
	places places
	head   bytes.Buffer // of a request or metadata record
	body   bytes.Buffer
}

// Archived is an exchange from an archive.
type Archived struct {
	output.Exchange
	// Lost says that the body is missing: it is the same as that of an earlier exchange,
	// which is not in the files that were read.
	Lost bool
}

// NewReader returns a reader of files, which are opened one after the other. Give them in
// the order they were written, which is that of their names.
func NewReader(paths ...string) *Reader {
	return &Reader{Damaged: func(string, int64, error) {}, paths: paths, places: newPlaces()}
}

// Next returns the next exchange, and [io.EOF] after the last one. Its bytes are valid until
// the next call.
func (r *Reader) Next() (*Archived, error) {
	for {
		if r.file == nil {
			if r.at == len(r.paths) {
				return nil, io.EOF
			}
			if err := r.open(); err != nil {
				return nil, err
			}
		}
		x, err := r.exchange()
		if err == nil {
			r.end = r.in.in.n
			return x, nil
		}
		if err := r.endFile(err); err != nil {
			return nil, err
		}
	}
}

// Bytes is how much was read so far of all files.
func (r *Reader) Bytes() int64 {
	if r.file == nil {
		return r.before
	}
	return r.before + r.in.in.n
}

// Close closes the open file.
func (r *Reader) Close() error {
	if r.file == nil {
		return nil
	}
	err := r.file.Close()
	r.file = nil
	return err
}

func (r *Reader) open() error {
	f, err := os.Open(r.paths[r.at])
	if err != nil {
		return fmt.Errorf("read archive: %w", err)
	}
	r.file, r.end = f, 0
	r.in = &reader{in: &countingReader{r: bufio.NewReaderSize(f, bufferSize)}}
	return nil
}

// endFile closes a file at its end, or where it is damaged.
func (r *Reader) endFile(err error) error {
	path := r.paths[r.at]
	switch {
	case errors.Is(err, errTorn):
		if r.end == 0 && (errors.Is(err, gzip.ErrHeader) || errors.Is(err, errNoRecord)) {
			return errors.Join(fmt.Errorf("%s is not a WARC file with one gzip member per record: %w", path, err), r.Close())
		}
		info, bad := r.file.Stat()
		if bad != nil {
			return errors.Join(bad, r.Close())
		}
		if at := r.in.in.n; at < info.Size() {
			return errors.Join(fmt.Errorf("%s is damaged at byte %d of %d: %w", path, at, info.Size(), err), r.Close())
		}
		r.Damaged(path, r.end, err)
	case !errors.Is(err, io.EOF):
		return errors.Join(fmt.Errorf("read archive %s: %w", path, err), r.Close())
	}
	r.at, r.before = r.at+1, r.before+r.in.in.n
	return r.Close()
}

// exchange reads the records of an exchange, up to its metadata record.
func (r *Reader) exchange() (*Archived, error) {
	var x *Archived
	for {
		h, err := r.in.read(r.keep)
		switch {
		case errors.Is(err, io.EOF) && x != nil:
			return nil, fmt.Errorf("%w: no metadata record for %s", errTorn, x.Item.URL)
		case err != nil:
			return nil, err
		}
		switch h.kind {
		case typeInfo:
			r.end = r.in.in.n
		case typeResponse, typeRevisit:
			if x, err = r.response(&h); err != nil {
				return nil, err
			}
		case typeRequest:
			if x != nil {
				x.Request = bytes.Clone(r.head.Bytes())
			}
		case typeMetadata:
			if x != nil {
				return x, x.describe(r.head.Bytes())
			}
		}
	}
}

// keep reads the block of a record into memory, except for that of a response that exceeds
// maxPayload.
func (r *Reader) keep(h *header, rest io.Reader) error {
	into, most := &r.head, int64(maxHead)
	if h.kind == typeResponse {
		into, most = &r.body, maxPayload+1
	}
	if into.Reset(); into.Cap() > maxKeptBuilder {
		*into = bytes.Buffer{}
	}
	_, err := into.ReadFrom(io.LimitReader(rest, most))
	return err
}

// response starts an exchange with its first record.
func (r *Reader) response(h *header) (*Archived, error) {
	u, err := weburl.Parse(h.url)
	if err != nil {
		return nil, fmt.Errorf("record %s: %w", h.id, err)
	}
	x := &Archived{Exchange: output.Exchange{
		Item: visit.Item{URL: u}, Timing: visit.Timing{Sent: h.at}, Status: statusOf(h.head), Response: h.head, Cut: output.Cut(h.truncated),
	}}
	if a, err := netip.ParseAddr(h.remote); err == nil {
		x.Remote = a
	}
	made := h.builtRecords()
	switch {
	case h.kind == typeResponse:
		if x.Body = r.body.Bytes(); len(x.Body) > maxPayload {
			x.Body, x.Cut = x.Body[:maxPayload], output.CutLength
		}
		if made.fresh && x.Cut == "" {
			r.places.put(made.payload, place{file: r.at, offset: h.offset})
		}
	case h.profile == profileSame:
		x.Cut = ""
		x.Body, err = r.original(made.payload)
		if _, unreadable := errors.AsType[*fs.PathError](err); unreadable {
			return nil, fmt.Errorf("body of %s: %w", u, err)
		}
		x.Lost = err != nil
	default:
		x.Cut = "" // a 304 has no body
	}
	return x, nil
}

// original reads the body of an earlier exchange.
func (r *Reader) original(payload digest) ([]byte, error) {
	at, ok := r.places.at[payload]
	if !ok {
		return nil, errors.New("not in these files")
	}
	f, err := os.Open(r.paths[at.file])
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if _, err := f.Seek(at.offset, io.SeekStart); err != nil {
		return nil, err
	}
	in := &reader{in: &countingReader{r: bufio.NewReader(f)}}
	if _, err := in.read(r.keep); err != nil {
		return nil, err
	}
	if digestOf(r.body.Bytes()) != payload {
		return nil, errors.New("the body has another digest")
	}
	return r.body.Bytes(), nil
}

// describe adds what the metadata record says.
func (x *Archived) describe(block []byte) (err error) {
	eachField(append([]byte(typeMetadata+"\r\n"), block...), func(name string, value []byte) {
		v := string(value)
		switch name {
		case "purpose":
			x.Purpose = output.Purpose(v)
		case "via":
			if u, bad := weburl.Parse(v); bad == nil {
				x.Item.Via = u
			}
		case "found":
			x.Item.Found = visit.FoundBy(v)
		case "depth":
			x.Item.Depth, err = number(v, err)
		case "attempt":
			x.Item.Attempt, err = number(v, err)
		case "protocol":
			x.Protocol = v
		case "firstByteTimeMs":
			x.Timing.FirstByte, err = millis(v, err)
		case "fetchTimeMs":
			x.Timing.Total, err = millis(v, err)
		}
	})
	if err != nil {
		return fmt.Errorf("metadata of %s: %w", x.Item.URL, err)
	}
	return nil
}

// number reads a count; an earlier error stays.
func number(text string, err error) (int, error) {
	n, bad := strconv.Atoi(text)
	if bad == nil && n < 0 {
		bad = fmt.Errorf("%d is negative", n)
	}
	return n, errors.Join(err, bad)
}

func millis(text string, err error) (time.Duration, error) {
	n, err := number(text, err)
	return time.Duration(n) * time.Millisecond, err
}

// place is where a payload is archived.
type place struct {
	file   int
	offset int64
}

// places are the payloads that can be found again. The oldest are forgotten first.
type places struct {
	at    map[digest]place
	order []digest // a ring
	next  int
}

func newPlaces() places { return places{at: map[digest]place{}} }

func (p *places) put(d digest, at place) {
	if _, ok := p.at[d]; ok {
		return
	}
	p.at[d] = at
	if len(p.order) < maxPlaces {
		p.order = append(p.order, d)
		return
	}
	delete(p.at, p.order[p.next])
	p.order[p.next] = d
	p.next = (p.next + 1) % maxPlaces
}
