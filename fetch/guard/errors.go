package guard

import (
	"errors"
	"fmt"
	"net/netip"
)

// ErrBadPort is wrapped by every [PortError].
var ErrBadPort = errors.New("port not allowed")

// BlockedError reports a host that must not be contacted.
type BlockedError struct {
	Host string
	Addr netip.Addr // the address that decided; zero when the name alone did
	Why  string     // the block it belongs to, such as "loopback"
}

// Error names the host, the address and the reason. The host is quoted: it
// may hold anything.
func (e *BlockedError) Error() string {
	if !e.Addr.IsValid() {
		return fmt.Sprintf("host %q is blocked: %s", e.Host, e.Why)
	}
	return fmt.Sprintf("host %q is blocked: %s is %s", e.Host, e.Addr, e.Why)
}

// PortError reports a port that is not allowed; errors.Is finds [ErrBadPort] in it.
type PortError struct {
	Host string
	Port string // as given: it may not be a number
}

// Error names the host and the port.
func (e *PortError) Error() string {
	return fmt.Sprintf("host %q: port %q not allowed", e.Host, e.Port)
}

// Unwrap returns ErrBadPort.
func (e *PortError) Unwrap() error { return ErrBadPort }

// DNSKind says how a lookup failed.
type DNSKind string

// The ways a lookup fails. The first two are definite answers and are cached; the
// others say nothing about the name and are not.
const (
	NXDomain    DNSKind = "no such name"
	NoAddress   DNSKind = "name without an address"
	ServFail    DNSKind = "name server failure"
	Timeout     DNSKind = "timeout"
	Unreachable DNSKind = "name server unreachable"
)

// DNSError reports a lookup without an address.
type DNSError struct {
	Host string
	Kind DNSKind
	Err  error // the underlying error, or nil
}

// Error names the host and the kind of failure.
func (e *DNSError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("look up %q: %s", e.Host, e.Kind)
	}
	return fmt.Sprintf("look up %q: %s: %v", e.Host, e.Kind, e.Err)
}

// Unwrap returns the underlying error.
func (e *DNSError) Unwrap() error { return e.Err }

// Timeout reports whether the lookup timed out.
func (e *DNSError) Timeout() bool { return e.Kind == Timeout }

// Definite reports whether a name server answered that there is no address, as
// opposed to a failed lookup.
func (e *DNSError) Definite() bool { return e.Kind == NXDomain || e.Kind == NoAddress }
