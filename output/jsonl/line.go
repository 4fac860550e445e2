package jsonl

import (
	"encoding/json"
	"strconv"
	"time"
	"unicode/utf8"

	"headway/visit"
)

// Line documents one line: its fields, in the order they are written. A field without a
// value is omitted, except url, outcome and depth. Fields may be added.
type Line struct {
	URL     string `json:"url"`
	Outcome string `json:"outcome"`          // fetched, redirected, dead, skipped …
	Reason  string `json:"reason,omitempty"` // of skipped and failed
	Status  int    `json:"status,omitempty"` // HTTP status
	Depth   int    `json:"depth"`            // links from a seed
	Via     string `json:"via,omitempty"`    // the page, sitemap or redirect where it was found first
	Found   string `json:"found,omitempty"`  // seed, link, sitemap or redirect
	Hops    int    `json:"hops,omitempty"`   // consecutive redirects that led here
	Attempt int    `json:"attempt,omitempty"`

	Sent        string  `json:"sent,omitempty"`          // RFC 3339, UTC, milliseconds
	FirstByteMS float64 `json:"first_byte_ms,omitempty"` // from the first byte sent
	TotalMS     float64 `json:"total_ms,omitempty"`      // from the first byte sent to the end of the body
	WireBytes   int64   `json:"wire_bytes,omitempty"`    // body size as transferred
	Bytes       int64   `json:"bytes,omitempty"`         // body size decompressed

	ContentType  string `json:"content_type,omitempty"`
	Location     string `json:"location,omitempty"` // redirect target
	ETag         string `json:"etag,omitempty"`
	LastModified string `json:"last_modified,omitempty"`
	RetryAfter   string `json:"retry_after,omitempty"`
	Protocol     string `json:"protocol,omitempty"`
	Remote       string `json:"remote,omitempty"` // address and port of the server

	Cache       string `json:"cache,omitempty"`        // hit, stale, revalidated, expired, miss, bypass or dynamic
	CacheBy     string `json:"cache_by,omitempty"`     // the header that says so
	CacheAge    int64  `json:"cache_age,omitempty"`    // age of the cached copy in seconds
	CacheBarred string `json:"cache_barred,omitempty"` // the header that prevents shared caches from reusing the response

	Title       string   `json:"title,omitempty"`
	Description string   `json:"description,omitempty"`
	Canonical   string   `json:"canonical,omitempty"`
	Language    string   `json:"language,omitempty"`
	Charset     string   `json:"charset,omitempty"`
	Directives  []string `json:"directives,omitempty"` // meta robots and X-Robots-Tag
	Digest      string   `json:"digest,omitempty"`     // of the visible text
	SimHash     string   `json:"simhash,omitempty"`    // 16 hex digits; a number would be rounded by many readers

	// Only with --content.
	Author        string `json:"author,omitempty"`
	Published     string `json:"published,omitempty"`      // as the page says it, mostly ISO 8601
	Words         int    `json:"words,omitempty"`          // of the main text
	ContentDigest string `json:"content_digest,omitempty"` // of the main text
	ContentCut    bool   `json:"content_cut,omitempty"`    // the page is too long: the end of its text is missing
	Text          string `json:"text,omitempty"`           // the main text
	Markdown      string `json:"markdown,omitempty"`       // the main text as Markdown
	// AITrain is refused or permitted: what the site says about training AI models. One
	// refusal counts more than any number of permissions.
	AITrain    string   `json:"ai_train,omitempty"`
	AISignals  []string `json:"ai_signals,omitempty"`  // the AI-use signals as written, with their place
	RobotsRule string   `json:"robots_rule,omitempty"` // the line of robots.txt that allowed the page, as in evidence
	RobotsLine int      `json:"robots_line,omitempty"` // its number

	// Only with --extract.
	Fields        visit.Object `json:"fields,omitempty"`         // the values of the rules, by name
	FieldProblems visit.Object `json:"field_problems,omitempty"` // what is cut, invalid or could not be read, by name

	Detail   string           `json:"detail,omitempty"` // one sentence for people
	Evidence []visit.Evidence `json:"evidence,omitempty"`
	Links    []visit.Link     `json:"links,omitempty"` // only with Config.Links
}

// appendLine appends v as one line. It is hand-written because it runs for every page: a
// third of the time of encoding/json, and no garbage.
func appendLine(b []byte, v *visit.Visit, links bool) ([]byte, error) {
	o := object{b: append(b, '{')}
	o.text("url", v.Item.URL.String())
	o.text("outcome", string(v.Outcome))
	o.text("reason", string(v.Reason))
	o.number("status", int64(v.Answer.Status))
	o.key("depth")
	o.b = strconv.AppendInt(o.b, int64(v.Item.Depth), 10)
	o.text("via", v.Item.Via.String())
	o.text("found", string(v.Item.Found))
	o.number("hops", int64(v.Item.Hops))
	o.number("attempt", int64(v.Item.Attempt))

	o.instant("sent", v.Timing.Sent)
	o.millis("first_byte_ms", v.Timing.FirstByte)
	o.millis("total_ms", v.Timing.Total)
	o.number("wire_bytes", v.Answer.WireBytes)
	o.number("bytes", v.Answer.DecodedBytes)

	o.text("content_type", v.Answer.ContentType)
	o.text("location", v.Answer.Location.String())
	o.text("etag", v.Answer.Validators.ETag)
	o.text("last_modified", v.Answer.Validators.LastModified)
	o.text("retry_after", v.Answer.RetryAfter)
	o.text("protocol", v.Answer.Protocol)
	o.text("remote", v.Answer.Remote)

	o.text("cache", string(v.Answer.Cache.Verdict))
	o.text("cache_by", v.Answer.Cache.By)
	o.number("cache_age", int64(v.Answer.Cache.Age/time.Second))
	o.text("cache_barred", v.Answer.Cache.Barred)

	o.text("title", v.Page.Title)
	o.text("description", v.Page.Description)
	o.text("canonical", v.Page.Canonical.String())
	o.text("language", v.Page.Language)
	o.text("charset", v.Page.Charset)
	o.texts("directives", v.Page.Robots)
	o.text("digest", v.Page.Digest)
	o.hex("simhash", v.Page.SimHash)
	if c := v.Page.Content; c != nil {
		o.content(c)
	}
	if v.Page.Content != nil || len(v.Page.Signals) > 0 {
		o.permission(v)
	}
	if c := v.Page.Content; c != nil {
		o.object("fields", c.Fields)
		o.object("field_problems", c.FieldProblems)
	}

	o.text("detail", v.Detail)
	o.evidence(v.Evidence)
	if links {
		if err := o.links(v.Links); err != nil {
			return b, err
		}
	}
	return append(o.b, "}\n"...), nil
}

// object appends the members of a JSON object, omitting empty ones.
type object struct {
	b    []byte
	some bool // a member was written
}

func (o *object) key(name string) {
	if o.some {
		o.b = append(o.b, ',')
	}
	o.some = true
	o.b = append(o.b, '"')
	o.b = append(o.b, name...)
	o.b = append(o.b, `":`...)
}

func (o *object) text(name, value string) {
	if value != "" {
		o.key(name)
		o.b = appendString(o.b, value)
	}
}

func (o *object) object(name string, value visit.Object) {
	if value != "" {
		o.key(name)
		o.b = append(o.b, value...)
	}
}

func (o *object) number(name string, n int64) {
	if n != 0 {
		o.key(name)
		o.b = strconv.AppendInt(o.b, n, 10)
	}
}

func (o *object) millis(name string, d time.Duration) {
	if d > 0 {
		o.key(name)
		o.b = strconv.AppendFloat(o.b, float64(d.Round(time.Microsecond))/float64(time.Millisecond), 'f', -1, 64)
	}
}

func (o *object) instant(name string, t time.Time) {
	if !t.IsZero() {
		o.key(name)
		o.b = append(o.b, '"')
		o.b = t.UTC().AppendFormat(o.b, "2006-01-02T15:04:05.000Z07:00")
		o.b = append(o.b, '"')
	}
}

func (o *object) texts(name string, list []string) {
	if len(list) == 0 {
		return
	}
	o.key(name)
	for i, s := range list {
		o.b = append(o.b, "[,"[min(i, 1)])
		o.b = appendString(o.b, s)
	}
	o.b = append(o.b, ']')
}

func (o *object) hex(name string, n uint64) {
	if n == 0 {
		return
	}
	o.key(name)
	o.b = append(o.b, '"')
	for shift := 60; shift >= 0; shift -= 4 {
		o.b = append(o.b, hexDigits[n>>shift&15])
	}
	o.b = append(o.b, '"')
}

func (o *object) content(c *visit.Content) {
	o.text("author", c.Author)
	o.text("published", c.Published)
	o.number("words", int64(c.Words))
	o.text("content_digest", c.Digest)
	if c.Cut {
		o.key("content_cut")
		o.b = append(o.b, "true"...)
	}
	o.text("text", c.Text)
	o.text("markdown", c.Markdown)
}

// permission writes what the site says about the use of the page.
func (o *object) permission(v *visit.Visit) {
	o.text("ai_train", string(v.Page.Training()))
	for i, s := range v.Page.Signals {
		if i == 0 {
			o.key("ai_signals")
		}
		o.b = append(o.b, "[,"[min(i, 1)])
		o.b = appendString(o.b, s.String())
	}
	if len(v.Page.Signals) > 0 {
		o.b = append(o.b, ']')
	}
	if e := v.RobotsEvidence(); e != nil {
		o.text("robots_rule", e.Rule)
		o.number("robots_line", int64(e.Line))
	}
}

func (o *object) evidence(list []visit.Evidence) {
	if len(list) == 0 {
		return
	}
	o.key("evidence")
	for i := range list {
		e := &list[i]
		o.b = append(o.b, "[,"[min(i, 1)])
		fact := object{b: append(o.b, '{')}
		fact.text("kind", string(e.Kind))
		fact.instant("at", e.At)
		fact.text("rule", e.Rule)
		fact.number("line", int64(e.Line))
		fact.text("group", e.Group)
		fact.text("source", e.Source)
		fact.instant("source_at", e.SourceAt)
		fact.text("confidence", string(e.Confidence))
		fact.text("note", e.Note)
		fact.b = append(fact.b, '}')
		o.b = fact.b
	}
	o.b = append(o.b, ']')
}

func (o *object) links(list []visit.Link) error {
	if len(list) == 0 {
		return nil
	}
	text, err := json.Marshal(list)
	if err == nil {
		o.key("links")
		o.b = append(o.b, text...)
	}
	return err
}

const hexDigits = "0123456789abcdef"

// appendString appends s as a JSON string on one line, also for readers that treat other
// characters than the line feed as the end of a line.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		for ; i+8 <= len(s); i += 8 { // most texts are long
			if c := s[i : i+8]; !(asIs[c[0]] && asIs[c[1]] && asIs[c[2]] && asIs[c[3]] && asIs[c[4]] && asIs[c[5]] && asIs[c[6]] && asIs[c[7]]) {
				break
			}
		}
		for i < len(s) && asIs[s[i]] {
			i++
		}
		if i == len(s) {
			break
		}
		c := s[i]
		if c < utf8.RuneSelf {
			b = append(b, s[start:i]...)
			switch c {
			case '"', '\\':
				b = append(b, '\\', c)
			case '\n':
				b = append(b, '\\', 'n')
			case '\t':
				b = append(b, '\\', 't')
			default:
				b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
			}
			i++
			start = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 || r == 0x85 || r == 0x2028 || r == 0x2029 {
			b = append(b, s[start:i]...)
			b = append(b, '\\', 'u', hexDigits[r>>12], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
			start = i + size
		}
		i += size
	}
	b = append(b, s[start:]...)
	return append(b, '"')
}

// asIs are the ASCII characters that are written as they are.
var asIs = func() (t [256]bool) {
	for c := ' '; c < 0x7f; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()
