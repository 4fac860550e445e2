package parquet

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"strings"

	"github.com/klauspost/compress/zstd"

	"headway/visit"
)

// A spool is a file in which links are collected: independent frames, so that it can be
// truncated after any of them. A frame is the length of its content and a checksum, four
// bytes each, then the content: lines of text, compressed with zstd.
//
//	>https://example.com/          the links of this page follow
//	https://example.com/a 1 anchor a link; 1 says nofollow
//	+https://example.com/          more of them in another frame
//	.                              those were all
//	-https://example.com/b         this page has none any more
const (
	pageBegin = ">"
	pageMore  = "+"
	pageEnd   = "."
	pageGone  = "-"
)

const (
	frameHead = 8
	frameSize = 64 << 10 // of text, after which a frame is written: what a kill may lose
	frameMost = 16 << 20 // a larger frame is not ours
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// spool appends to a spool file.
type spool struct {
	file  *os.File
	text  []byte
	frame []byte
	zip   *zstd.Encoder
	pages int64 // complete pages, in the file and the buffer
}

// openSpool opens a spool, truncates it where it is incomplete and counts its content. The
// first line of a spool is its name.
func openSpool(path, name string) (s *spool, is string, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, "", err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	s = &spool{file: f}
	if s.zip, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(frameSize*2)); err != nil {
		return nil, "", err
	}
	end, err := readSpool(f, func(line string) error {
		switch {
		case is == "":
			is = line
		case line == pageEnd:
			s.pages++
		}
		return nil
	})
	if err != nil {
		return nil, "", err
	}
	if is == "" {
		is = name
		s.text = append(s.text, name+"\n"...)
	}
	if err := f.Truncate(end); err != nil {
		return nil, "", err
	}
	_, err = f.Seek(end, io.SeekStart)
	return s, is, err
}

// add appends the links of a page.
func (s *spool) add(v *visit.Visit) error {
	from := v.Item.URL.String()
	s.text = fmt.Appendf(s.text, "%s%s\n", pageBegin, from)
	for i := range v.Links {
		if len(s.text) >= frameSize {
			if err := s.flush(); err != nil {
				return err
			}
			s.text = fmt.Appendf(s.text, "%s%s\n", pageMore, from)
		}
		l := &v.Links[i]
		s.text = append(s.text, l.URL.String()...)
		if l.Nofollow {
			s.text = append(s.text, " 1 "...)
		} else {
			s.text = append(s.text, " 0 "...)
		}
		s.text = append(s.text, l.Kind...)
		s.text = append(s.text, '\n')
	}
	s.text = append(s.text, pageEnd+"\n"...)
	s.pages++
	if len(s.text) >= frameSize {
		return s.flush()
	}
	return nil
}

// forget records that a page has no links any more.
func (s *spool) forget(v *visit.Visit) error {
	s.text = fmt.Appendf(s.text, "%s%s\n", pageGone, v.Item.URL)
	if len(s.text) >= frameSize {
		return s.flush()
	}
	return nil
}

// flush writes what was added as a frame.
func (s *spool) flush() error {
	if len(s.text) == 0 {
		return nil
	}
	s.frame = s.zip.EncodeAll(s.text, append(s.frame[:0], make([]byte, frameHead)...))
	s.text = s.text[:0]
	binary.LittleEndian.PutUint32(s.frame, uint32(len(s.frame)-frameHead))
	binary.LittleEndian.PutUint32(s.frame[4:], crc32.Checksum(s.frame[frameHead:], castagnoli))
	_, err := s.file.Write(s.frame)
	return err
}

func (s *spool) close() error {
	return errors.Join(s.flush(), s.file.Close(), s.zip.Close())
}

// readSpool calls yield for each line of the complete frames, and returns where they end.
func readSpool(from io.ReadSeeker, yield func(line string) error) (end int64, err error) {
	if _, err := from.Seek(0, io.SeekStart); err != nil {
		return 0, err
	}
	unzip, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(frameMost))
	if err != nil {
		return 0, err
	}
	defer unzip.Close()
	r := bufio.NewReaderSize(from, frameSize)
	var frame, text []byte
	for {
		var head [frameHead]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return end, torn(err)
		}
		n := binary.LittleEndian.Uint32(head[:])
		if n == 0 || n > frameMost {
			return end, nil
		}
		frame = append(frame[:0], make([]byte, n)...)
		if _, err := io.ReadFull(r, frame); err != nil {
			return end, torn(err)
		}
		if crc32.Checksum(frame, castagnoli) != binary.LittleEndian.Uint32(head[4:]) {
			return end, nil
		}
		if text, err = unzip.DecodeAll(frame, text[:0]); err != nil {
			return end, nil // not one of our frames; stop here
		}
		for line := range strings.Lines(string(text)) {
			if err := yield(strings.TrimSuffix(line, "\n")); err != nil {
				return end, err
			}
		}
		end += int64(frameHead) + int64(n)
	}
}

// torn treats the end of a file as a truncated frame.
func torn(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}
