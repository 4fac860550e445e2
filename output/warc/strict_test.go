package warc

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/netip"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// strictRecord is a record parsed by the standard's grammar, independently of the writer.
type strictRecord struct {
	fields         map[string]string
	block          []byte
	offset, length int64
}

func (r *strictRecord) kind() string { return r.fields["WARC-Type"] }
func (r *strictRecord) uri() string  { return r.fields["WARC-Target-URI"] }

// readStrict reads a file of one gzip member per record and refuses whatever the standard
// does not allow.
func readStrict(t testing.TB, path string) []strictRecord {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var list []strictRecord
	ids := map[string]bool{}
	for offset, text := range members(t, data) {
		r, err := parseStrict(text)
		if err == nil && ids[r.fields["WARC-Record-ID"]] {
			err = errors.New("the ID is not unique")
		}
		if err == nil && (len(list) == 0) != (r.kind() == "warcinfo") {
			err = errors.New("warcinfo comes first, and once")
		}
		if err != nil {
			t.Fatalf("%s at %d: %v\n%q", path, offset, err, text[:min(len(text), 2000)])
		}
		ids[r.fields["WARC-Record-ID"]] = true
		r.offset, r.length = offset, int64(len(data))-offset
		if n := len(list); n > 0 {
			list[n-1].length = offset - list[n-1].offset
		}
		list = append(list, r)
	}
	return list
}

// members yields the gzip members of the data, with their positions.
func members(t testing.TB, data []byte) iter.Seq2[int64, []byte] {
	return func(yield func(int64, []byte) bool) {
		in := bytes.NewReader(data)
		for in.Len() > 0 {
			offset := int64(len(data) - in.Len())
			gz, err := gzip.NewReader(in)
			if err != nil {
				t.Fatalf("at %d: %v", offset, err)
			}
			gz.Multistream(false)
			text, err := io.ReadAll(gz)
			if err != nil {
				t.Fatalf("at %d: %v", offset, err)
			}
			if !yield(offset, text) {
				return
			}
		}
	}
}

var (
	tokenPattern = regexp.MustCompile(`^[!#$%&'*+\-.^_` + "`" + `|~0-9A-Za-z]+$`)
	idPattern    = regexp.MustCompile(`^<urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}>$`)
	// uriPattern has scheme, host and port of RFC 3986, followed by the request
	// target, which may contain more than that RFC allows.
	uriPattern  = regexp.MustCompile(`^https?://(\[[0-9a-f:.]+\]|([0-9A-Za-z\-._~!$&'()*+,;=]|%[0-9A-F]{2})+)(:[0-9]+)?/[!$-;=?-~]*$`)
	datePattern = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$`)
)

// allowed are the fields of each type, in addition to the common ones. Capitalised ones are
// required.
var allowed = map[string]string{
	"warcinfo": "WARC-FILENAME!",
	"response": "WARC-TARGET-URI! WARC-IP-Address WARC-PAYLOAD-DIGEST! WARC-Truncated X-Headway-Omitted",
	"revisit":  "WARC-TARGET-URI! WARC-PROFILE! WARC-IP-Address WARC-Payload-Digest WARC-Truncated WARC-Refers-To WARC-Refers-To-Target-URI WARC-Refers-To-Date X-Headway-Omitted",
	"request":  "WARC-TARGET-URI! WARC-CONCURRENT-TO! WARC-IP-Address X-Headway-Omitted",
	"metadata": "WARC-TARGET-URI! WARC-CONCURRENT-TO!",
}

// parseStrict parses one record from text, which must contain nothing else.
func parseStrict(text []byte) (r strictRecord, err error) {
	if r, err = frameStrict(text); err != nil {
		return r, err
	}
	return r, r.checkBlock()
}

// frameStrict is parseStrict without checking the block.
func frameStrict(text []byte) (r strictRecord, err error) {
	r.fields = map[string]string{}
	head, rest, ok := bytes.Cut(text, []byte("\r\n\r\n"))
	if !ok {
		return r, errors.New("no end of the fields")
	}
	for i, l := range strings.Split(string(head), "\r\n") {
		if strings.ContainsAny(l, "\r\n") || strings.ContainsFunc(l, func(c rune) bool { return c < ' ' || c == 0x7f }) {
			return r, fmt.Errorf("control character in %q", l)
		}
		if i == 0 {
			if l != "WARC/1.1" {
				return r, fmt.Errorf("version %q", l)
			}
			continue
		}
		name, value, ok := strings.Cut(l, ": ")
		if !ok || !tokenPattern.MatchString(name) || value == "" || value != strings.TrimSpace(value) {
			return r, fmt.Errorf("field %q", l)
		}
		if _, twice := r.fields[name]; twice {
			return r, fmt.Errorf("two %s", name)
		}
		r.fields[name] = value
	}
	if err := r.checkFields(); err != nil {
		return r, err
	}
	size, err := strconv.Atoi(r.fields["Content-Length"])
	if err != nil || len(rest) != size+4 || string(rest[size:]) != "\r\n\r\n" {
		return r, fmt.Errorf("%d bytes behind the fields, want %d and two line ends", len(rest), size)
	}
	r.block = rest[:size]
	if sum := strictDigest(r.block); r.fields["WARC-Block-Digest"] != sum {
		return r, fmt.Errorf("block digest %s", sum)
	}
	return r, nil
}

func strictDigest(p []byte) string {
	sum := sha256.Sum256(p)
	return "sha256:" + base32.StdEncoding.EncodeToString(sum[:])
}

// checkFields checks the fields against the record type.
func (r *strictRecord) checkFields() error {
	more, ok := allowed[r.kind()]
	if !ok {
		return fmt.Errorf("type %q", r.kind())
	}
	known := map[string]bool{}
	for _, f := range strings.Fields("WARC-TYPE! WARC-RECORD-ID! WARC-DATE! CONTENT-LENGTH! CONTENT-TYPE! WARC-BLOCK-DIGEST! " + more) {
		name, must := strings.CutSuffix(f, "!")
		found := false
		for have := range r.fields {
			if strings.EqualFold(have, name) {
				found, known[have] = true, true
			}
		}
		if must && !found {
			return fmt.Errorf("no %s", name)
		}
	}
	for name := range r.fields {
		if !known[name] {
			return fmt.Errorf("a %s has a field %s", r.kind(), name)
		}
	}
	for _, name := range []string{"WARC-Record-ID", "WARC-Concurrent-To", "WARC-Refers-To"} {
		if v, ok := r.fields[name]; ok && !idPattern.MatchString(v) {
			return fmt.Errorf("%s %q", name, v)
		}
	}
	for _, name := range []string{"WARC-Date", "WARC-Refers-To-Date"} {
		if v, ok := r.fields[name]; ok {
			if _, err := time.Parse(time.RFC3339Nano, v); err != nil || !datePattern.MatchString(v) {
				return fmt.Errorf("%s %q", name, v)
			}
		}
	}
	for _, name := range []string{"WARC-Target-URI", "WARC-Refers-To-Target-URI", "WARC-Profile"} {
		if v, ok := r.fields[name]; ok {
			if !uriPattern.MatchString(v) {
				return fmt.Errorf("%s %q", name, v)
			}
		}
	}
	if v, ok := r.fields["WARC-IP-Address"]; ok {
		if _, err := netip.ParseAddr(v); err != nil {
			return err
		}
	}
	switch r.fields["WARC-Truncated"] {
	case "", "length", "time", "disconnect", "unspecified":
		return nil
	default:
		return fmt.Errorf("WARC-Truncated %q", r.fields["WARC-Truncated"])
	}
}

// checkBlock parses the block according to its type.
func (r *strictRecord) checkBlock() error {
	switch r.kind() {
	case "warcinfo", "metadata":
		if r.fields["Content-Type"] != "application/warc-fields" {
			return fmt.Errorf("Content-Type %q", r.fields["Content-Type"])
		}
		for l := range strings.Lines(string(r.block)) {
			name, value, ok := strings.Cut(strings.TrimSuffix(l, "\r\n"), ": ")
			if !ok || !strings.HasSuffix(l, "\r\n") || !tokenPattern.MatchString(name) || value == "" {
				return fmt.Errorf("field %q", l)
			}
		}
	case "request":
		if r.fields["Content-Type"] != "application/http;msgtype=request" {
			return fmt.Errorf("Content-Type %q", r.fields["Content-Type"])
		}
		_, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(r.block)))
		return err
	case "response", "revisit":
		if r.fields["Content-Type"] != "application/http;msgtype=response" {
			return fmt.Errorf("Content-Type %q", r.fields["Content-Type"])
		}
		head, payload, ok := bytes.Cut(r.block, []byte("\r\n\r\n"))
		if !ok {
			return errors.New("no end of the head")
		}
		resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(append(bytes.Clone(head), "\r\n\r\n"...))), nil)
		if err != nil {
			return err
		}
		resp.Body.Close()
		if len(resp.TransferEncoding) > 0 {
			return errors.New("transfer framing")
		}
		if r.kind() == "revisit" && len(payload) > 0 {
			return errors.New("a revisit with a payload")
		}
		if r.kind() == "response" {
			if sum := strictDigest(payload); r.fields["WARC-Payload-Digest"] != sum {
				return fmt.Errorf("payload digest %s", sum)
			}
			if resp.ContentLength >= 0 && r.fields["WARC-Truncated"] == "" && resp.ContentLength != int64(len(payload)) {
				return fmt.Errorf("%d bytes of payload, Content-Length %d", len(payload), resp.ContentLength)
			}
		}
	}
	return nil
}
