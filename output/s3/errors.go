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
	errNoRegion      = errors.New("no region configured")
	errNoCredentials = errors.New("no credentials found")
)

// Error is a failure with a hint.
type Error struct {
	What string // the operation and its object
	Err  error
	hint string
}

// Error says what failed and why.
func (e *Error) Error() string { return e.What + ": " + e.Err.Error() }

// Unwrap returns the underlying error.
func (e *Error) Unwrap() error { return e.Err }

// Hint says what to do, in one sentence; empty if only a retry may help.
func (e *Error) Hint() string { return e.hint }

// isRefusal reports whether our guard refused to connect.
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

// codeOf is the server's error code; empty if the error is not from the server.
func codeOf(err error) string {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return api.ErrorCode()
	}
	return ""
}

// serverErrors are the server's error codes in words, with hints.
var serverErrors = map[string]struct{ says, hint string }{
	"NoSuchBucket":          {"bucket not found", "create it first, or check its name"},
	"PermanentRedirect":     {"the bucket is in another region", "set AWS_REGION to its region"},
	"InvalidAccessKeyId":    {"unknown access key", "check AWS_ACCESS_KEY_ID, or the profile in AWS_PROFILE"},
	"SignatureDoesNotMatch": {"the secret key does not match the access key", "check AWS_SECRET_ACCESS_KEY"},
	"ExpiredToken":          {"the credentials have expired", "renew them, for example with aws sso login, and run the same command again"},
	"AccessDenied":          {"access denied", "the key needs s3:PutObject and s3:AbortMultipartUpload there"},
	"NoSuchUpload":          {"another process is uploading the same file", "wait for it to finish, then run the same command again"},
	"NotImplemented":        {"the server does not support this operation", "use a server that supports multipart uploads"},
	"RequestTimeTooSkewed":  {"the clock of this machine is wrong", "set the clock"},
}

// explain turns a failure into an [Error]. name is empty for the bucket as a whole. Internal
// steps of the SDK are left out if the reason is known.
func (b *Bucket) explain(did, name string, err error) error {
	if known, ok := errors.AsType[*Error](err); ok {
		return known
	}
	what := did + " " + b.cfg.Place.at(name)
	is := func(err error, hint string) error { return &Error{What: what, Err: err, hint: hint} }
	if a, ok := serverErrors[codeOf(err)]; ok {
		return is(errors.New(a.says), a.hint)
	}
	if errors.Is(err, errNoCredentials) {
		return is(errNoCredentials, "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE; an instance role needs "+b.cfg.PrivateFlag+" 169.254.169.254")
	}
	if errors.Is(err, errNoRegion) {
		return is(err, "set AWS_REGION, or AWS_ENDPOINT_URL for your own server")
	}
	if blocked, ok := errors.AsType[*guard.BlockedError](err); ok {
		return is(blocked, "to allow it, use "+b.cfg.PrivateFlag+" "+b.rangeOf(blocked.Addr).String())
	}
	if port, ok := errors.AsType[*guard.PortError](err); ok {
		return is(port, "add the port to "+b.cfg.PrivateFlag+", for example 10.0.0.5:9000")
	}
	if dns, ok := errors.AsType[*guard.DNSError](err); ok {
		return is(dns, "check AWS_ENDPOINT_URL and AWS_REGION")
	}
	if bad, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return is(bad, "set AWS_CA_BUNDLE to the CA certificate of the server")
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return is(op, "check that the server at AWS_ENDPOINT_URL is running")
	}
	return is(err, "")
}

// rangeOf is the range that allows one address for the server.
func (b *Bucket) rangeOf(a netip.Addr) guard.Range {
	r := guard.Range{Prefix: netip.PrefixFrom(a, a.BitLen())}
	if b.port != 0 {
		r.Ports = []uint16{b.port}
	}
	return r
}
