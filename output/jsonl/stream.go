package jsonl

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"headway/output"
	"headway/visit"
)

// Stream writes the lines of a crawl to a pipe or a socket while it runs: the lines that
// the part file gets. It is used by one goroutine.
//
// Nothing can be read back from a pipe, so there is no Finish: a URL that ends without a
// visit has no line, and a resumed crawl does not repeat the lines of earlier runs.
type Stream struct {
	buffer *bufio.Writer
	links  bool
	line   []byte
	broken error
}

var (
	_ output.Writer     = (*Stream)(nil)
	_ output.Flusher    = (*Stream)(nil)
	_ output.LinkReader = (*Stream)(nil)
)

// NewStream returns a stream to w, which it does not close.
func NewStream(w io.Writer, links bool) *Stream {
	return &Stream{buffer: bufio.NewWriterSize(w, bufferSize), links: links}
}

// Write writes the line of a visit, unless its ending may still change.
func (s *Stream) Write(_ context.Context, v *visit.Visit) error {
	if s.broken != nil {
		return s.broken
	}
	if err := v.Check(); err != nil {
		return err
	}
	if !output.EndingOf(v).Settled() {
		return nil
	}
	line, err := appendLine(s.line[:0], v, s.links)
	if err != nil {
		return fmt.Errorf("line of %s: %w", v.Item.URL, err)
	}
	s.line = line
	if _, err := s.buffer.Write(line); err != nil {
		return s.fail(err)
	}
	return nil
}

// Flush passes the lines written so far to the reader.
func (s *Stream) Flush() error {
	if s.broken != nil {
		return s.broken
	}
	if err := s.buffer.Flush(); err != nil {
		return s.fail(err)
	}
	return nil
}

// Close flushes the stream.
func (s *Stream) Close() (err error) {
	if s.broken == nil {
		err = s.Flush()
	}
	if s.broken == nil {
		s.broken = errors.New("write output: already closed")
	}
	return err
}

func (s *Stream) fail(err error) error {
	s.broken = fmt.Errorf("write output: %w", err)
	return s.broken
}

// ReadsLinks implements [output.LinkReader].
func (s *Stream) ReadsLinks() bool { return s.links }
