package jsonl

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"slices"

	"headway/output"
	"headway/visit"
	"headway/weburl"
)

// head is the start of a line.
type head struct {
	url    []byte // as a JSON string; valid until the next line
	ending output.Ending
}

// scan reads lines until one is incomplete, yield returns false or the reader ends, and
// returns the offset up to which yield returned true.
//
// A line truncated by a crash is incomplete, and so is one in which the file system left
// zeros after a power failure.
func scan(from io.Reader, yield func(head) bool) (end int64, err error) {
	r := bufio.NewReaderSize(from, bufferSize)
	for {
		h, size, err := readHead(r)
		if errors.Is(err, io.EOF) || errors.Is(err, errTorn) {
			return end, nil
		}
		if err != nil || !yield(h) {
			return end, err
		}
		end += size
	}
}

var errTorn = errors.New("incomplete line")

// readHead reads one line of any length. Its head fits the buffer.
func readHead(r *bufio.Reader) (h head, size int64, err error) {
	line, err := r.ReadSlice('\n')
	h, whole := parseHead(line)
	if errors.Is(err, bufio.ErrBufferFull) {
		h.url = bytes.Clone(h.url) // the next read overwrites the buffer
	}
	var last byte // before the line feed
	for {
		size += int64(len(line))
		whole = whole && bytes.IndexByte(line, 0) < 0
		if n := len(line); n > 1 && err == nil {
			last = line[n-2]
		} else if n > 0 && err != nil {
			last = line[n-1]
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			break
		}
		line, err = r.ReadSlice('\n')
	}
	if err == nil && (!whole || last != '}') {
		err = errTorn
	}
	return h, size, err
}

// parseHead reads the start of a line written by appendLine.
func parseHead(line []byte) (h head, ok bool) {
	rest, ok := bytes.CutPrefix(line, []byte(`{"url":`))
	if !ok {
		return head{}, false
	}
	n := 1
	for n < len(rest) && rest[n] != '"' {
		if rest[n] == '\\' {
			n++
		}
		n++
	}
	if n >= len(rest) || rest[0] != '"' {
		return head{}, false
	}
	h.url = rest[:n+1]
	rest, ok = bytes.CutPrefix(rest[n+1:], []byte(`,"outcome":"`))
	if !ok {
		return head{}, false
	}
	word, rest, ok := bytes.Cut(rest, []byte(`"`))
	h.ending.Outcome = visit.Outcome(word)
	if after, found := bytes.CutPrefix(rest, []byte(`,"reason":"`)); ok && found {
		word, _, ok = bytes.Cut(after, []byte(`"`))
		h.ending.Reason = visit.Reason(word)
	}
	return h, ok && h.ending.Outcome != visit.Pending && visit.Check(h.ending.Outcome, h.ending.Reason, "") == nil
}

// maxKeys limits the URLs in memory while the file is compared with the ledger: 64 MiB. A
// crawl with more lines of one ending is compared in several rounds. It is a variable for
// tests.
var maxKeys = 4 << 20

// fill adds the missing lines of an ending of which the file has some.
//
// Both sides are too large for memory and in no common order, so they are partitioned by a
// fingerprint of the URL, and compared part by part. The fingerprint is wide and keyed, so
// that collisions do not occur.
func (w *Writer) fill(ctx context.Context, l output.Ledger, e output.Ending) error {
	if err := w.Flush(); err != nil {
		return err
	}
	var secret weburl.Key
	if _, err := rand.Read(secret[:]); err != nil {
		return err
	}
	size, err := w.file.Seek(0, io.SeekCurrent)
	if err != nil {
		return err
	}
	rounds := uint64(w.lines[e])/uint64(maxKeys) + 1
	for round := range rounds {
		mine := func(k weburl.Fingerprint128) bool { return binary.LittleEndian.Uint64(k[:])%rounds == round }
		keys, err := w.keys(size, e, secret, mine)
		if err != nil {
			return err
		}
		err = l.Each(ctx, e, func(v *visit.Visit) error {
			k := v.Item.URL.Fingerprint128(secret)
			if !mine(k) {
				return nil
			}
			if _, found := slices.BinarySearchFunc(keys, k, compareKeys); found {
				return nil
			}
			return w.add(v)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func compareKeys(a, b weburl.Fingerprint128) int { return bytes.Compare(a[:], b[:]) }

// keys returns the sorted fingerprints of the URLs in the first size bytes of the file with
// this ending for which mine is true.
func (w *Writer) keys(size int64, e output.Ending, secret weburl.Key, mine func(weburl.Fingerprint128) bool) ([]weburl.Fingerprint128, error) {
	var keys []weburl.Fingerprint128
	var bad error
	_, err := scan(io.NewSectionReader(w.file, 0, size), func(h head) bool {
		if h.ending != e {
			return true
		}
		var u weburl.URL
		if bad = json.Unmarshal(h.url, &u); bad != nil {
			return false
		}
		if k := u.Fingerprint128(secret); mine(k) {
			keys = append(keys, k)
		}
		return true
	})
	if err = errors.Join(err, bad); err != nil {
		return nil, err
	}
	slices.SortFunc(keys, compareKeys)
	return keys, nil
}
