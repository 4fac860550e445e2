package fetch

import (
	"bytes"
	"compress/gzip"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// TestDecoder decodes as a client does, with its limits, and reuses its memory.
func TestDecoder(t *testing.T) {
	text := []byte(strings.Repeat("some text ", 1000))
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	d := NewDecoder(Config{MaxBody: 20_000})
	for _, tc := range []struct {
		name, coding string
		body, want   []byte
		reason       Reason
	}{
		{"plain", "", text, text, ""},
		{"identity", "identity", text, text, ""},
		{"gzip", "gzip", packed.Bytes(), text, ""},
		{"two codings", "gzip, zstd", z.EncodeAll(packed.Bytes(), nil), text, ""},
		{"empty", "gzip", nil, nil, ""},
		{"unknown", "compress", text, nil, BadEncoding},
		{"unknown and empty", "compress", nil, nil, BadEncoding},
		{"torn", "gzip", packed.Bytes()[:packed.Len()/2], nil, BadEncoding},
		{"too large", "zstd", z.EncodeAll(bytes.Repeat(text, 3), nil), nil, TooLarge},
		{"gzip again", "gzip", packed.Bytes(), text, ""},
	} {
		got, err := d.Decode(http.Header{"Content-Encoding": {tc.coding}}, tc.body)
		var failure *Error
		if errors.As(err, &failure) && failure.Reason != tc.reason || (err != nil) != (tc.reason != "") || !bytes.Equal(got, tc.want) {
			t.Errorf("%s: %d bytes, %v", tc.name, len(got), err)
		}
	}
}
