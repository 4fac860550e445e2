package s3

import (
	"crypto/tls"
	"errors"
	"net"
	"net/netip"

	"github.com/aws/smithy-go"

	"headway/fetch/guard"
)

var (
	errNoRegion      = errors.New("no region is named")
	errNoCredentials = errors.New("no credentials are to be had")
)

// Error is a failure with what to do about it.
type Error struct {
	What string // what was tried, on what
	Err  error
	hint string
}

// Error says what was tried and what was answered.
func (e *Error) Error() string { return e.What + ": " + e.Err.Error() }

// Unwrap returns what was answered.
func (e *Error) Unwrap() error { return e.Err }

// Hint is what to do next, one sentence.
func (e *Error) Hint() string { return e.hint }

// isRefusal tells whether we refused to connect, for good.
func isRefusal(err error) bool {
	if dns, ok := errors.AsType[*guard.DNSError](err); ok {
		return dns.Definite()
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return true
	}
	_, blocked := errors.AsType[*guard.BlockedError](err)
	return blocked || errors.Is(err, guard.ErrBadPort)
}

// codeOf is what the server called a failure, empty if it was not the server.
func codeOf(err error) string {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return api.ErrorCode()
	}
	return ""
}

// answers are what servers say, in words, with what to do.
var answers = map[string]struct{ says, hint string }{
	"NoSuchBucket":          {"there is no such bucket", "make it first, or look for a slip in its name"},
	"PermanentRedirect":     {"the bucket lies in another region", "name its region in AWS_REGION"},
	"InvalidAccessKeyId":    {"the server does not know the access key", "look at AWS_ACCESS_KEY_ID, or at the profile that AWS_PROFILE names"},
	"SignatureDoesNotMatch": {"the secret key is not that of the access key", "look at AWS_SECRET_ACCESS_KEY"},
	"ExpiredToken":          {"the credentials have expired", "get new ones, such as with aws sso login, and run the same command again"},
	"AccessDenied":          {"access denied", "the key needs s3:PutObject and s3:AbortMultipartUpload there"},
	"NoSuchUpload":          {"another process sends the same file", "let one of them finish; the same command sends it again"},
	"NotImplemented":        {"the server does not know how", "it must know multipart uploads"},
	"RequestTimeTooSkewed":  {"the clock of this machine is wrong", "set the clock"},
}

// explain turns a failure into an [Error]. The name of an object is empty for the
// place as a whole. What the SDK says of its own inner steps is left out where the
// reason is known.
func (b *Bucket) explain(did, name string, err error) error {
	if known, ok := errors.AsType[*Error](err); ok {
		return known
	}
	what := did + " " + b.cfg.Place.at(name)
	is := func(err error, hint string) error { return &Error{What: what, Err: err, hint: hint} }
	if a, ok := answers[codeOf(err)]; ok {
		return is(errors.New(a.says), a.hint)
	}
	if errors.Is(err, errNoCredentials) {
		return is(errNoCredentials, "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE; the role of a machine needs --to-private 169.254.169.254")
	}
	if errors.Is(err, errNoRegion) {
		return is(err, "name it in AWS_REGION, or a server of your own in AWS_ENDPOINT_URL")
	}
	if blocked, ok := errors.AsType[*guard.BlockedError](err); ok {
		return is(blocked, "if you mean it, allow it with --to-private "+b.rangeOf(blocked.Addr).String())
	}
	if port, ok := errors.AsType[*guard.PortError](err); ok {
		return is(port, "name the port in --to-private, such as 10.0.0.5:9000")
	}
	if dns, ok := errors.AsType[*guard.DNSError](err); ok {
		return is(dns, "look at AWS_ENDPOINT_URL and AWS_REGION")
	}
	if bad, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return is(bad, "name who vouches for the server in AWS_CA_BUNDLE")
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return is(op, "look whether the server that AWS_ENDPOINT_URL names runs; what was made is on the disk, the same command sends it again")
	}
	return is(err, "what was made is on the disk; the same command sends it again")
}

// rangeOf is what opens one address for the server.
func (b *Bucket) rangeOf(a netip.Addr) guard.Range {
	r := guard.Range{Prefix: netip.PrefixFrom(a, a.BitLen())}
	if b.port != 0 {
		r.Ports = []uint16{b.port}
	}
	return r
}
