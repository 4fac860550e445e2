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

// CheckURL reports a URL that events cannot be sent to. The IP address of a name is only
// known when it is dialled; the guard checks it then.
func CheckURL(address string, private []guard.Range) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.Opaque != "":
		return fmt.Errorf("invalid webhook URL %q", address)
	case u.User != nil:
		return errors.New("the webhook URL contains credentials; verify the signature instead")
	case u.Fragment != "":
		return errors.New("the webhook URL has a fragment, which is never sent")
	case u.Scheme == "https":
		return nil
	case u.Scheme == "http" && isPrivate(u.Hostname(), private):
		return nil
	default:
		return fmt.Errorf("webhook URL %q is not https", address)
	}
}

// isPrivate reports whether an IP address is within ranges that the operator allowed. A name
// never is: it could resolve to another address tomorrow.
func isPrivate(host string, private []guard.Range) bool {
	a, err := netip.ParseAddr(host)
	return err == nil && slices.ContainsFunc(private, func(r guard.Range) bool { return r.Prefix.Contains(a) })
}
