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

// Secrets are request headers for one owned host: extra headers and basic
// authentication. They are never sent to another host, not even after a redirect, and
// never appear in an error, a log or a [Wire].
type Secrets struct {
	host  string
	names []string // field names, in canonical form
	// add sets the values in a header. They exist only in this closure, so that
	// printing the struct cannot show them.
	add func(http.Header)
}

// reservedFields are set by the exchange itself, or identify us.
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

// isFieldValue reports whether s is a valid header value.
func isFieldValue(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

// NotOwnedError reports secrets for a host that is not owned.
type NotOwnedError struct{ Host string }

// Error names the host.
func (e *NotOwnedError) Error() string {
	return fmt.Sprintf("fetch %s: extra headers and credentials are sent only to owned hosts", e.Host)
}

// Hint says what to do about it.
func (e *NotOwnedError) Hint() string { return "if you own the host, declare it as owned" }
