package fetch

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"headway/weburl"
)

// Secrets are request fields for one owned host: extra headers and basic
// authentication. A request to another host does not carry them, whatever it
// was redirected from. They never stand in an error, a log or a [Wire].
type Secrets struct {
	host  string
	names []string // field names, in canonical form
	// add puts the values into a header. They live in the closure and nowhere
	// else, so that no way of printing the struct can show them.
	add func(http.Header)
}

// reservedFields belong to the exchange, or say who we are.
var reservedFields = []string{
	"User-Agent", "Host", "Accept-Encoding", "Content-Length", "Transfer-Encoding", "Connection", "Upgrade", "Te", "Trailer", "Expect",
}

// NewSecrets returns secrets for the host of u: the fields of header, and
// basic authentication unless user and password are empty.
func NewSecrets(u weburl.URL, header http.Header, user, password string) (Secrets, error) {
	if u.IsZero() {
		return Secrets{}, errors.New("secrets without a host")
	}
	fields := http.Header{}
	for name, values := range header {
		name = http.CanonicalHeaderKey(name)
		if !isToken(name) || slices.Contains(reservedFields, name) {
			return Secrets{}, fmt.Errorf("secrets for %s: field %q cannot be set", u.Host(), name)
		}
		for _, v := range values {
			if !isFieldValue(v) {
				return Secrets{}, fmt.Errorf("secrets for %s: the value of %q has control characters", u.Host(), name)
			}
		}
		fields[name] = slices.Clone(values)
	}
	if user != "" || password != "" {
		if strings.Contains(user, ":") {
			return Secrets{}, fmt.Errorf("secrets for %s: a user name cannot contain a colon", u.Host())
		}
		fields["Authorization"] = []string{"Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))}
	}
	return Secrets{
		host:  u.Host(),
		names: slices.Sorted(maps.Keys(fields)),
		add:   func(h http.Header) { maps.Copy(h, fields) },
	}, nil
}

// Host returns the host the secrets are for, or "".
func (s Secrets) Host() string { return s.host }

// isFor reports whether a request to u carries the secrets.
func (s Secrets) isFor(u weburl.URL) bool { return s.host != "" && s.host == u.Host() }

// String names the host and the fields, not their values.
func (s Secrets) String() string {
	if s.host == "" {
		return "none"
	}
	return fmt.Sprintf("for %s: %s (values hidden)", s.host, strings.Join(s.names, ", "))
}

// MarshalText hides the values from encoders.
func (s Secrets) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// isFieldValue accepts what may stand in a field line.
func isFieldValue(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

// NotOwnedError refuses to send secrets to a host that is not owned.
type NotOwnedError struct{ Host string }

// Error names the host.
func (e *NotOwnedError) Error() string {
	return fmt.Sprintf("fetch %s: extra headers and credentials are sent only to owned hosts", e.Host)
}

// Hint says what to do about it.
func (e *NotOwnedError) Hint() string { return "if you own the host, declare it as owned" }
