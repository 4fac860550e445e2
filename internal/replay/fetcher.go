package replay

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"net/textproto"

	"headway/fetch"
	"headway/output"
	"headway/output/warc"
	"headway/weburl"
)

// fetcher returns the response of one archived exchange.
type fetcher struct {
	decoder *fetch.Decoder
	x       *warc.Archived
}

var _ fetch.Fetcher = (*fetcher)(nil)

// Do returns the response as a client would.
func (f *fetcher) Do(_ context.Context, req fetch.Request) (*fetch.Result, error) {
	x := f.x
	res := &fetch.Result{
		URL: req.URL, Status: x.Status, Proto: x.Protocol, WireBytes: int64(len(x.Body)),
		Timing: fetch.Timing{Sent: x.Timing.Sent, FirstByte: x.Timing.FirstByte, Total: x.Timing.Total},
	}
	if x.Remote.IsValid() {
		res.Remote = netip.AddrPortFrom(x.Remote, req.URL.Port())
	}
	var err error
	if res.Header, err = readHeader(x.Response); err == nil {
		res.Body, err = f.body(res.Header)
	}
	if err != nil {
		res.Body = nil
	}
	if err != nil && x.Status >= http.StatusMultipleChoices { // the status alone decides
		res.BodyErr, err = err, nil
	}
	return res, err
}

// body returns the decoded body, or why it was not received.
func (f *fetcher) body(header http.Header) ([]byte, error) {
	if _, err := f.decoder.Decode(header, nil); err != nil { // its body was not read
		return nil, err
	}
	if reason, cut := cuts[f.x.Cut]; cut {
		return nil, &fetch.Error{Host: f.x.Item.URL.Host(), Reason: reason, Phase: fetch.PhaseBody, Err: fmt.Errorf("archived body is incomplete: %s", f.x.Cut)}
	}
	return f.decoder.Decode(header, f.x.Body)
}

// cuts are the errors of incomplete bodies.
var cuts = map[output.Cut]fetch.Reason{
	output.CutLength: fetch.TooLarge, output.CutTime: fetch.Timeout, output.CutDisconnect: fetch.Truncated, output.CutOther: fetch.Protocol,
}

// Robots returns the response to a request for robots.txt. Redirects are not followed.
func (f *fetcher) Robots(ctx context.Context, req fetch.Request) (*fetch.Result, []weburl.URL, error) {
	res, err := f.Do(ctx, req)
	return res, []weburl.URL{req.URL}, err
}

// readHeader reads the header of a response, after its first line.
func readHeader(head []byte) (http.Header, error) {
	_, fields, _ := bytes.Cut(head, []byte("\n"))
	h, err := textproto.NewReader(bufio.NewReader(bytes.NewReader(fields))).ReadMIMEHeader()
	if err != nil {
		return http.Header(h), fmt.Errorf("archived header: %w", err)
	}
	return http.Header(h), nil
}
