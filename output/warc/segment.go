package warc

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"headway/output"
)

// Packer builds the parts of small files that others store: segments of an archive that many
// processes write. Each segment is complete in itself: no record refers to another segment. A
// packer is safe for concurrent use.
type Packer struct {
	cfg      Config
	host     string
	builders chan *recordBuilder // limits how many exchanges are processed at once, and their memory
}

// NewPacker returns a packer. Only what the config says about the crawl is used.
func NewPacker(cfg Config) *Packer {
	cfg.Robots = cmp.Or(cfg.Robots, "obey")
	return &Packer{cfg: cfg, host: hostName(), builders: newBuilders()}
}

// Records returns the records of an exchange, each a gzip member. The first has the response,
// and response is its length.
func (k *Packer) Records(ctx context.Context, x *output.Exchange) (records []byte, response int64, err error) {
	var p *recordBuilder
	select {
	case p = <-k.builders:
	case <-ctx.Done():
		return nil, 0, context.Cause(ctx)
	}
	defer func() {
		p.reset()
		k.builders <- p
	}()
	made, err := buildRecords(p, x, func(digest) (original, bool) { return original{}, false })
	if err != nil {
		return nil, 0, fmt.Errorf("archive %s: %w", x.Item.URL, err)
	}
	return bytes.Clone(p.out.Bytes()), made.capture.length, nil
}

// Info returns the first record of a segment with this name.
func (k *Packer) Info(name string, now time.Time) ([]byte, error) {
	p := newRecordBuilder()
	if err := p.info(&k.cfg, k.host, name, now); err != nil {
		return nil, fmt.Errorf("begin segment %s: %w", name, err)
	}
	return p.out.Bytes(), nil
}

// ReadResponse reads a response from its record, one gzip member: what the server sent, and
// what a record says about it.
func ReadResponse(member []byte) (*output.Exchange, error) {
	r := &Reader{in: &reader{in: &countingReader{r: bufio.NewReader(bytes.NewReader(member))}}, places: newPlaces()}
	h, err := r.in.read(r.keep)
	switch {
	case err != nil:
		return nil, fmt.Errorf("read response: %w", err)
	case h.kind != typeResponse && h.kind != typeRevisit:
		return nil, fmt.Errorf("read response: record %s is a %s", h.id, h.kind)
	case h.length != int64(len(member)):
		return nil, fmt.Errorf("read response: %d of %d bytes are a record", h.length, len(member))
	}
	x, err := r.response(&h)
	if err != nil {
		return nil, fmt.Errorf("read response: %w", err)
	}
	if _, err := r.in.in.r.Peek(1); !errors.Is(err, io.EOF) {
		return nil, errors.New("read response: more than one record")
	}
	return &x.Exchange, nil
}
