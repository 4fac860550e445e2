package webhook

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"headway/fetch/guard"
	"headway/store"
)

// NewEndpoint makes an endpoint with an id and a secret of its own, to be stored
// with [store.Endpoints].
func NewEndpoint(tenant, address string, kinds []store.EventKind) store.Endpoint {
	return store.Endpoint{ID: "ep_" + strings.ToLower(rand.Text()), Tenant: tenant, URL: address, Kinds: kinds, Secret: NewSecret()}
}

// CheckURL reports an address that nothing is sent to. Where a name leads is only
// known when it is dialled; the guard sees to that.
func CheckURL(address string, private []guard.Range) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.Opaque != "":
		return fmt.Errorf("%q is not an address like https://example.com/hook", address)
	case u.User != nil:
		return errors.New("the address holds credentials: the signature says who sends")
	case u.Fragment != "":
		return errors.New("the address has a fragment, which is never sent")
	case u.Scheme == "https":
		return nil
	case u.Scheme == "http" && isPrivate(u.Hostname(), private):
		return nil
	default:
		return fmt.Errorf("%q is not https: anybody on the way could read what is sent", address)
	}
}

// isPrivate tells an address within ranges that the operator opened. A name is not
// one: it could lead elsewhere tomorrow.
func isPrivate(host string, private []guard.Range) bool {
	a, err := netip.ParseAddr(host)
	return err == nil && slices.ContainsFunc(private, func(r guard.Range) bool { return r.Prefix.Contains(a) })
}
