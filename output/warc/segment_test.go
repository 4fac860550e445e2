package warc

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"headway/output"
	"headway/visit"
	"headway/weburl"
)

// TestSegment builds a segment with the same page twice: each response can be read alone, by
// its offset and length, and the whole is a WARC file.
func TestSegment(t *testing.T) {
	k := NewPacker(Config{Software: "headway/1", UserAgent: "headway", Operator: "a@example.com"})
	now := time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC)
	segment, err := k.Info("job-1/a.warc.gz", now)
	if err != nil {
		t.Fatal(err)
	}
	u, err := weburl.Parse("http://a.example/page")
	if err != nil {
		t.Fatal(err)
	}
	body := bytes.Repeat([]byte("<p>Text.</p>"), 1000)
	x := &output.Exchange{
		Purpose: output.ForPage, Item: visit.Item{URL: u}, Timing: visit.Timing{Sent: now}, Status: 200, Protocol: "HTTP/1.1",
		Request: []byte("GET /page HTTP/1.1\r\nHost: a.example\r\n\r\n"), Response: []byte("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"), Body: body,
	}
	for range 2 {
		records, length, err := k.Records(t.Context(), x)
		if err != nil || length <= 0 || length >= int64(len(records)) {
			t.Fatalf("%d of %d bytes, %v", length, len(records), err)
		}
		at := len(segment)
		segment = append(segment, records...)
		got, err := ReadResponse(segment[at : at+int(length)])
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Body, body) || got.Item.URL != u || got.Status != 200 || got.Cut != "" || !got.Timing.Sent.Equal(now) {
			t.Errorf("read %+v with %d bytes", got, len(got.Body))
		}
		for name, part := range map[string][]byte{
			"cut": records[:length-1], "too long": records[:length+1], "two records": records, "nothing": nil, "another record": records[length:],
			"damaged": slices.Concat(records[:20], []byte{records[20] ^ 1}, records[21:length]),
		} {
			if _, err := ReadResponse(part); err == nil {
				t.Errorf("%s: no error", name)
			}
		}
	}
	w := &Writer{seen: newSeen()}
	if err := w.scan(bytes.NewReader(segment)); err != nil || w.size != int64(len(segment)) || len(w.lines) != 2 {
		t.Errorf("%d of %d bytes are exchanges, %d of them, %v", w.size, len(segment), len(w.lines), err)
	}
}
