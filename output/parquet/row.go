package parquet

import (
	"strings"
	"time"

	"headway/visit"
)

// Page is one URL that ended. A column without a value is null. Columns keep their names and
// types; new ones are added at the end. The fields of the same name of output/jsonl.Line
// document their meaning.
type Page struct {
	URL     string `parquet:"url"`
	Outcome string `parquet:"outcome,dict"`
	Reason  string `parquet:"reason,optional,dict"`
	Status  int32  `parquet:"status,optional"`
	Depth   int32  `parquet:"depth"`
	Via     string `parquet:"via,optional,dict"`
	Found   string `parquet:"found,optional,dict"`
	Hops    int32  `parquet:"hops"`
	Attempt int32  `parquet:"attempt"`

	Sent        int64   `parquet:"sent,optional,timestamp(millisecond)"`
	FirstByteMS float64 `parquet:"first_byte_ms,optional"`
	TotalMS     float64 `parquet:"total_ms,optional"`
	WireBytes   int64   `parquet:"wire_bytes,optional"`
	Bytes       int64   `parquet:"bytes,optional"`

	ContentType  string `parquet:"content_type,optional,dict"`
	Location     string `parquet:"location,optional"`
	ETag         string `parquet:"etag,optional"`
	LastModified string `parquet:"last_modified,optional"`
	RetryAfter   string `parquet:"retry_after,optional,dict"`
	Protocol     string `parquet:"protocol,optional,dict"`
	Remote       string `parquet:"remote,optional,dict"`

	Cache       string `parquet:"cache,optional,dict"`
	CacheBy     string `parquet:"cache_by,optional,dict"`
	CacheAge    int64  `parquet:"cache_age,optional"`
	CacheBarred string `parquet:"cache_barred,optional,dict"`

	Title       string   `parquet:"title,optional"`
	Description string   `parquet:"description,optional"`
	Canonical   string   `parquet:"canonical,optional"`
	Language    string   `parquet:"language,optional,dict"`
	Charset     string   `parquet:"charset,optional,dict"`
	Directives  []string `parquet:"directives,list"`
	Digest      string   `parquet:"digest,optional"`
	SimHash     uint64   `parquet:"simhash,optional"`

	Detail string `parquet:"detail,optional"`

	// Why it was allowed to be fetched.
	RobotsRule   string `parquet:"robots_rule,optional,dict"`
	RobotsLine   int32  `parquet:"robots_line,optional"`
	RobotsSHA256 string `parquet:"robots_sha256,optional,dict"`

	// Only with --content.
	Author        string `parquet:"author,optional,dict"`
	Published     string `parquet:"published,optional"`
	Words         int32  `parquet:"words,optional"`
	ContentDigest string `parquet:"content_digest,optional"`
	ContentCut    bool   `parquet:"content_cut,optional"`
	Text          string `parquet:"text,optional"`
	Markdown      string `parquet:"markdown,optional"`

	AITrain   string   `parquet:"ai_train,optional,dict"`
	AISignals []string `parquet:"ai_signals,list"`

	// Only with --extract: JSON objects by the name of the field.
	Fields        string `parquet:"fields,optional"`
	FieldProblems string `parquet:"field_problems,optional"`
}

// Link is one link from a page to a URL, in page order.
type Link struct {
	From     string `parquet:"from,dict"`
	To       string `parquet:"to"`
	Kind     string `parquet:"kind,dict"` // the element or header it was in
	Nofollow bool   `parquet:"nofollow"`

	// Only with --links.
	Anchor   string `parquet:"anchor,optional"`   // the text of the link
	Rel      string `parquet:"rel,optional,dict"` // as written
	Position int32  `parquet:"position,optional"` // 1 is the first link of the page
}

// pageOf returns the row of a visit.
func pageOf(v *visit.Visit) Page {
	p := Page{
		URL: v.Item.URL.String(), Outcome: string(v.Outcome), Reason: string(v.Reason), Status: int32(v.Answer.Status), Depth: int32(v.Item.Depth),
		Via: v.Item.Via.String(), Found: string(v.Item.Found), Hops: int32(v.Item.Hops), Attempt: int32(v.Item.Attempt),
		FirstByteMS: millis(v.Timing.FirstByte), TotalMS: millis(v.Timing.Total), WireBytes: v.Answer.WireBytes, Bytes: v.Answer.DecodedBytes,
		ContentType: text(v.Answer.ContentType), Location: v.Answer.Location.String(), ETag: text(v.Answer.Validators.ETag),
		LastModified: text(v.Answer.Validators.LastModified), RetryAfter: text(v.Answer.RetryAfter), Protocol: v.Answer.Protocol, Remote: v.Answer.Remote,
		Cache: string(v.Answer.Cache.Verdict), CacheBy: text(v.Answer.Cache.By), CacheAge: int64(v.Answer.Cache.Age / time.Second), CacheBarred: text(v.Answer.Cache.Barred),
		Title: text(v.Page.Title), Description: text(v.Page.Description), Canonical: v.Page.Canonical.String(), Language: text(v.Page.Language),
		Charset: text(v.Page.Charset), Digest: v.Page.Digest, SimHash: v.Page.SimHash, Detail: text(v.Detail),
	}
	if !v.Timing.Sent.IsZero() {
		p.Sent = v.Timing.Sent.UnixMilli()
	}
	for _, d := range v.Page.Robots {
		p.Directives = append(p.Directives, text(d))
	}
	if e := v.RobotsEvidence(); e != nil {
		p.RobotsRule, p.RobotsLine, p.RobotsSHA256 = text(e.Rule), int32(e.Line), e.Source
	}
	p.AITrain = string(v.Page.Training())
	for _, s := range v.Page.Signals {
		p.AISignals = append(p.AISignals, text(s.String()))
	}
	if c := v.Page.Content; c != nil {
		p.Author, p.Published, p.Words, p.ContentDigest, p.ContentCut = text(c.Author), text(c.Published), int32(c.Words), c.Digest, c.Cut
		p.Text, p.Markdown = text(c.Text), text(c.Markdown)
		p.Fields, p.FieldProblems = text(string(c.Fields)), text(string(c.FieldProblems))
	}
	return p
}

// size is the approximate size of the row before compression.
func (p *Page) size() int64 {
	const fixed = 200 // numbers, lengths and short words
	n := fixed + len(p.URL) + len(p.Via) + len(p.Location) + len(p.ETag) + len(p.CacheBy) + len(p.CacheBarred) +
		len(p.Title) + len(p.Description) + len(p.Canonical) + len(p.Detail) +
		len(p.RobotsRule) + len(p.RobotsSHA256) + len(p.Author) + len(p.Text) + len(p.Markdown) + len(p.Fields) + len(p.FieldProblems)
	for _, list := range [][]string{p.Directives, p.AISignals} {
		for _, s := range list {
			n += len(s)
		}
	}
	return int64(n)
}

func (l *Link) size() int64 {
	const fixed = 32
	return int64(fixed + len(l.From) + len(l.To) + len(l.Anchor) + len(l.Rel))
}

// text returns s as valid UTF-8, which Parquet requires.
func text(s string) string { return strings.ToValidUTF8(s, "\ufffd") }

func millis(d time.Duration) float64 {
	return float64(d.Round(time.Microsecond)) / float64(time.Millisecond)
}
