package parse

import (
	"bufio"
	"compress/gzip"
	"io"
	"strings"

	"golang.org/x/text/transform"

	"headway/internal/htmltoken"
	"headway/weburl"
)

// open prepares a sitemap to be read as UTF-8 and detects its form: it decompresses gzip
// and decodes the encoding of a byte order mark or XML declaration.
func (s *Sitemap) open() error {
	sent, plain := s.limits[0], s.limits[1]
	raw := bufio.NewReader(sent)
	plain.r = raw
	if head, err := raw.Peek(2); err == nil && head[0] == 0x1f && head[1] == 0x8b {
		unzipped, err := gzip.NewReader(raw)
		if err != nil {
			return err
		}
		s.report.Gzipped = true
		plain.r = unzipped
	}
	s.r = bufio.NewReaderSize(plain, xmlBuffer)
	head, err := s.r.Peek(prescanLength)
	if len(head) == 0 && !isEnd(err) {
		return err
	}
	enc, charset, mark := encodingOf(head, "")
	if _, err := s.r.Discard(mark); err != nil {
		return err
	}
	if charset.Name != utf8Name && charset.From != FromGuess {
		s.r = bufio.NewReaderSize(transform.NewReader(s.r, enc.NewDecoder()), xmlBuffer)
	}
	return s.findForm()
}

// findForm distinguishes XML from plain text by the first non-space byte.
func (s *Sitemap) findForm() error {
	for {
		c, err := s.r.ReadByte()
		if isEnd(err) {
			return ErrNotSitemap
		}
		if err != nil {
			return err
		}
		if htmltoken.IsSpace(c) {
			continue
		}
		if err := s.r.UnreadByte(); err != nil {
			return err
		}
		if c == '<' {
			s.xml.r, s.next = s.r, s.nextItem
			return nil
		}
		s.report.Form, s.next = FormText, s.nextLine
		return nil
	}
}

// limitedReader ends the input at a limit and records whether more followed. An error of
// the underlying reader is repeated, because a caller that peeked ahead may have seen it
// already.
type limitedReader struct {
	r       io.Reader
	left    int64
	reached bool
	err     error
}

// Read implements [io.Reader].
func (l *limitedReader) Read(p []byte) (n int, err error) {
	if l.err != nil {
		return 0, l.err
	}
	if l.left > 0 {
		n, l.err = l.r.Read(p[:min(int64(len(p)), l.left)])
		l.left -= int64(n)
		return n, l.err
	}
	var next [1]byte
	if n, l.err = l.r.Read(next[:]); n > 0 {
		l.reached, l.err = true, io.EOF
	}
	return 0, l.err
}

// site is what a sitemap may list: a host in either scheme, with or without "www.".
type site struct {
	name string
	port uint16 // 0 for the default of the scheme
}

func siteOf(u weburl.URL) site {
	s := site{strings.TrimPrefix(u.Hostname(), "www."), u.Port()}
	if s.port == 80 && u.Scheme() == "http" || s.port == 443 && u.Scheme() == "https" {
		s.port = 0
	}
	return s
}
