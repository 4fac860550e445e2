package csv

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"headway/visit"
)

// Columns are the columns in their order. Times are RFC 3339 in UTC, durations are
// milliseconds, sizes are bytes; a cell without a value is empty. The fields of the same
// name of output/jsonl.Line document their meaning.
var Columns = []string{
	"url", "outcome", "reason", "status", "depth", "via", "found", "hops", "attempt",
	"sent", "first_byte_ms", "total_ms", "wire_bytes", "bytes",
	"content_type", "location", "etag", "last_modified", "retry_after", "protocol", "remote",
	"cache", "cache_by", "cache_age", "cache_barred",
	"title", "description", "canonical", "language", "charset", "directives", "digest", "simhash", "detail",
}

// appendRow appends the row of a visit, in the order of Columns.
func appendRow(b []byte, v *visit.Visit) []byte {
	r := row{b: b}
	r.text(v.Item.URL.String())
	r.text(string(v.Outcome))
	r.text(string(v.Reason))
	r.number(int64(v.Answer.Status))
	r.count(v.Item.Depth)
	r.text(v.Item.Via.String())
	r.text(string(v.Item.Found))
	r.count(v.Item.Hops)
	r.count(v.Item.Attempt)

	r.instant(v.Timing.Sent)
	r.millis(v.Timing.FirstByte)
	r.millis(v.Timing.Total)
	r.number(v.Answer.WireBytes)
	r.number(v.Answer.DecodedBytes)

	r.text(v.Answer.ContentType)
	r.text(v.Answer.Location.String())
	r.text(v.Answer.Validators.ETag)
	r.text(v.Answer.Validators.LastModified)
	r.text(v.Answer.RetryAfter)
	r.text(v.Answer.Protocol)
	r.text(v.Answer.Remote)

	r.text(string(v.Answer.Cache.Verdict))
	r.text(v.Answer.Cache.By)
	r.number(int64(v.Answer.Cache.Age / time.Second))
	r.text(v.Answer.Cache.Barred)

	r.text(v.Page.Title)
	r.text(v.Page.Description)
	r.text(v.Page.Canonical.String())
	r.text(v.Page.Language)
	r.text(v.Page.Charset)
	r.text(strings.Join(v.Page.Robots, ", "))
	r.text(v.Page.Digest)
	r.hash(v.Page.SimHash)
	r.text(v.Detail)
	return append(r.b, "\r\n"...)
}

// row appends cells.
type row struct {
	b    []byte
	some bool // a cell was written
}

func (r *row) next() {
	if r.some {
		r.b = append(r.b, ',')
	}
	r.some = true
}

func (r *row) text(s string) {
	r.next()
	r.b = appendCell(r.b, s)
}

// number leaves the cell empty for zero, which means unknown here.
func (r *row) number(n int64) {
	r.next()
	if n != 0 {
		r.b = strconv.AppendInt(r.b, n, 10)
	}
}

func (r *row) count(n int) {
	r.next()
	r.b = strconv.AppendInt(r.b, int64(n), 10)
}

func (r *row) millis(d time.Duration) {
	r.next()
	if d > 0 {
		r.b = strconv.AppendFloat(r.b, float64(d.Round(time.Microsecond))/float64(time.Millisecond), 'f', -1, 64)
	}
}

func (r *row) instant(t time.Time) {
	r.next()
	if !t.IsZero() {
		r.b = t.UTC().AppendFormat(r.b, "2006-01-02T15:04:05.000Z07:00")
	}
}

func (r *row) hash(n uint64) {
	r.next()
	if n != 0 {
		const digits = "0123456789abcdef"
		for shift := 60; shift >= 0; shift -= 4 {
			r.b = append(r.b, digits[n>>shift&15])
		}
	}
}

// appendCell appends s, escaped and quoted where needed.
func appendCell(b []byte, s string) []byte {
	if !utf8.ValidString(s) || strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\x00", "\ufffd") // many readers stop at a NUL
	}
	risky := isFormula(s)
	if !risky && !strings.ContainsAny(s, ",\"\r\n") && strings.TrimSpace(s) == s {
		return append(b, s...)
	}
	b = append(b, '"')
	if risky {
		b = append(b, '\'')
	}
	for {
		before, after, found := strings.Cut(s, `"`)
		b = append(b, before...)
		if !found {
			return append(b, '"')
		}
		b = append(b, `""`...)
		s = after
	}
}

// isFormula reports whether a spreadsheet may evaluate the cell. Leading apostrophes are
// skipped, so that ours can be distinguished from original ones.
func isFormula(s string) bool {
	r, _ := utf8.DecodeRuneInString(strings.TrimLeft(s, "'"))
	return r != utf8.RuneError && strings.ContainsRune("=+-@\t\r\n＝＋－＠", r)
}

// Plain returns the original text of a cell: it removes the apostrophe that prevents
// evaluation.
func Plain(cell string) string {
	if rest, ok := strings.CutPrefix(cell, "'"); ok && isFormula(rest) {
		return rest
	}
	return cell
}
