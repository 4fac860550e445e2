package warc

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"headway/output"
)

// Names that are not part of the standard.
const (
	// hiddenField lists the header fields that were left out of a record.
	hiddenField = "X-Headway-Omitted"
	revisitType = "warc/revisit" // of a revisit record in an index
)

// builtRecords is an exchange with its finished records.
type builtRecords struct {
	capture  capture
	payload  digest
	original original
	fresh    bool // the payload is new and will be remembered
}

// buildRecords builds the records of an exchange. A payload that is archived already is
// referenced.
func (w *Writer) buildRecords(p *recordBuilder, x *output.Exchange) (builtRecords, error) {
	return buildRecords(p, x, w.known)
}

// buildRecords builds the records of an exchange: response, request and metadata. known returns
// the record that already holds a payload.
func buildRecords(p *recordBuilder, x *output.Exchange, known func(digest) (original, bool)) (made builtRecords, err error) {
	head := message(x.Response, len(x.Body), x.Cut == "")
	id, target := newID(), targetURI(x)
	made.original = original{id: id, url: target, date: date(x.Timing.Sent)}
	made.capture = capture{url: target, at: x.Timing.Sent, media: mediaOf(head), status: x.Status}

	var more fields
	common(&more, x)
	more.add(hiddenField, strings.Join(x.Hidden, ", "))
	kind, body := typeResponse, x.Body
	switch {
	case x.Status == http.StatusNotModified:
		kind, body = typeRevisit, nil
		more.add("WARC-Profile", profileNotModified)
		made.capture.media = revisitType
	case x.Cut != "":
		more.add("WARC-Truncated", string(x.Cut))
		made.payload = digestOf(x.Body)
	default:
		made.payload = digestOf(x.Body)
		made.fresh = len(x.Body) > 0
		if o, ok := known(made.payload); ok {
			kind, body, made.fresh = typeRevisit, nil, false
			more.add("WARC-Profile", profileSame)
			more.add("WARC-Refers-To", o.id)
			more.add("WARC-Refers-To-Target-URI", o.url)
			more.add("WARC-Refers-To-Date", o.date)
			more.add("WARC-Truncated", string(output.CutLength))
			made.capture.media = revisitType
		}
	}
	if x.Status != http.StatusNotModified {
		made.capture.payload = made.payload.String()
		more.add("WARC-Payload-Digest", made.capture.payload)
	}
	if err := p.record(kind, id, x.Timing.Sent, typeHTTPIn, &more, block{head: head, body: body, compressed: isCompressed(head)}); err != nil {
		return made, err
	}
	made.capture.length = int64(p.out.Len())

	more.text = more.text[:0]
	common(&more, x)
	more.add("WARC-Concurrent-To", id)
	more.add(hiddenField, strings.Join(x.Hidden, ", "))
	if err := p.record(typeRequest, newID(), x.Timing.Sent, typeHTTPOut, &more, block{head: x.Request}); err != nil {
		return made, err
	}

	more.text = more.text[:0]
	more.add("WARC-Target-URI", target)
	more.add("WARC-Concurrent-To", id)
	return made, p.record(typeMetadata, newID(), x.Timing.Sent, typeFields, &more, block{head: about(x).text})
}

// common adds the fields that response and request records share.
func common(more *fields, x *output.Exchange) {
	more.add("WARC-Target-URI", targetURI(x))
	if x.Remote.IsValid() {
		more.add("WARC-IP-Address", x.Remote.Unmap().WithZone("").String())
	}
}

// notInNames escapes characters that the URL standard allows in a host, but RFC 3986, the
// grammar of WARC-Target-URI, does not. URL parsers of the standard read the same host from
// both.
var notInNames = strings.NewReplacer(`"`, "%22", "`", "%60", "{", "%7B", "}", "%7D")

// targetURI is the URL of an exchange as written in records. Its query is unchanged: there, a
// character and its escape are different URLs.
func targetURI(x *output.Exchange) string {
	u := x.Item.URL
	if host := u.Host(); strings.ContainsAny(host, "\"`{}") {
		return notInNames.Replace(host) + u.PathQuery()
	}
	return u.String()
}

// about is the block of a metadata record. Names that other tools use are spelled as there.
func about(x *output.Exchange) *fields {
	var f fields
	f.add("purpose", string(x.Purpose))
	if !x.Item.Via.IsZero() {
		f.add("via", x.Item.Via.String())
	}
	if x.Purpose == output.ForPage {
		f.add("found", string(x.Item.Found))
		f.add("depth", strconv.Itoa(x.Item.Depth))
		f.add("attempt", strconv.Itoa(x.Item.Attempt))
	}
	f.add("protocol", x.Protocol)
	f.add("firstByteTimeMs", strconv.FormatInt(x.Timing.FirstByte.Milliseconds(), 10))
	f.add("fetchTimeMs", strconv.FormatInt(x.Timing.Total.Milliseconds(), 10))
	return &f
}

// known returns the record that already holds a payload.
func (w *Writer) known(d digest) (original, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	o, ok := w.seen.byDigest[d]
	return o, ok
}

// info builds the first record of a file.
func (p *recordBuilder) info(cfg *Config, host, name string, now time.Time) error {
	var f fields
	f.add("software", cfg.Software)
	f.add("format", "WARC File Format 1.1")
	f.add("conformsTo", "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/")
	f.add("operator", cfg.Operator)
	f.add("hostname", host)
	f.add("http-header-user-agent", cfg.UserAgent)
	f.add("robots", cfg.Robots)
	f.add("description", "Bodies are as they were sent, with content codings and without transfer framing. "+
		"Credentials are removed from headers; the record lists the removed fields in "+hiddenField+".")
	var more fields
	more.add("WARC-Filename", name)
	return p.record(typeInfo, newID(), now, typeFields, &more, block{head: f.text})
}
