package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Endpoints is a further ability of stores behind a service: where tenants want
// their events sent.
type Endpoints interface {
	// CreateEndpoint stores an endpoint. It is sent what happens from now on.
	// ErrConflict says that its tenant has MaxEndpoints.
	CreateEndpoint(ctx context.Context, now time.Time, e Endpoint) error
	// Endpoint returns one endpoint, or ErrNotFound.
	Endpoint(ctx context.Context, id string) (Endpoint, error)
	// Endpoints returns the endpoints of a tenant, or of all, by tenant and then
	// age.
	Endpoints(ctx context.Context, q EndpointQuery) ([]Endpoint, error)
	// SetEndpoint changes the address and the kinds of an endpoint.
	SetEndpoint(ctx context.Context, id, url string, kinds []EventKind) error
	// EnableEndpoint turns an endpoint on, which is sent what happens from now
	// on. One that is on stays as it is.
	EnableEndpoint(ctx context.Context, now time.Time, id string) error
	// DisableEndpoint turns an endpoint off. One that is off keeps its reason.
	DisableEndpoint(ctx context.Context, now time.Time, id, reason string) error
	// RotateEndpoint gives an endpoint a new secret. What is sent until ends is
	// signed with the old one, too, and no longer with the one before that.
	RotateEndpoint(ctx context.Context, id string, secret []byte, ends time.Time) error
	// DropEndpoint forgets an endpoint and what was not sent to it.
	DropEndpoint(ctx context.Context, id string) error
}

// Bounds of endpoints.
const (
	MaxEndpoints   = 50   // of a tenant
	MaxEndpointURL = 2048 // bytes
	MinSecret      = 24   // bytes, by the standard
	MaxSecret      = 64   // likewise
	MaxDisabled    = 200  // bytes of a reason
)

// Endpoint is where events of a tenant are sent.
type Endpoint struct {
	ID     string
	Tenant string
	URL    string
	Kinds  []EventKind // none for all
	After  EventNumber // it is sent what came after this

	Secret    []byte
	OldSecret []byte // before it was rotated
	OldEnds   time.Time

	CreatedAt  time.Time
	DisabledAt time.Time // zero while it is on
	Disabled   string    // why it is off
}

// Enabled tells whether events are sent.
func (e *Endpoint) Enabled() bool { return e.DisabledAt.IsZero() }

// Wants tells whether an event is for this endpoint.
func (e *Endpoint) Wants(v *Event) bool {
	return e.Enabled() && v.Tenant == e.Tenant && v.Number > e.After && (len(e.Kinds) == 0 || slices.Contains(e.Kinds, v.Kind))
}

// Secrets are those that sign now, the newest first.
func (e *Endpoint) Secrets(now time.Time) [][]byte {
	if len(e.OldSecret) > 0 && now.Before(e.OldEnds) {
		return [][]byte{e.Secret, e.OldSecret}
	}
	return [][]byte{e.Secret}
}

// Check reports what makes an endpoint impossible to store. Whether its address
// may be sent to is the business of whoever sends.
func (e *Endpoint) Check() error {
	switch {
	case e.ID == "":
		return errors.New("webhook endpoint without an id")
	case e.Tenant == "":
		return fmt.Errorf("webhook endpoint %s: no tenant", e.ID)
	}
	if err := CheckSecret(e.Secret); err != nil {
		return fmt.Errorf("webhook endpoint %s: %w", e.ID, err)
	}
	return CheckEndpoint(e.URL, e.Kinds)
}

// CheckEndpoint reports an address or kinds that cannot be stored.
func CheckEndpoint(url string, kinds []EventKind) error {
	if url == "" || len(url) > MaxEndpointURL {
		return fmt.Errorf("webhook URL too long: %d bytes, the maximum is %d", len(url), MaxEndpointURL)
	}
	all := EventKinds()
	for _, k := range kinds {
		if !slices.Contains(all, k) {
			return fmt.Errorf("unknown event kind %q", k)
		}
	}
	return nil
}

// CheckSecret reports a secret that the standard does not allow.
func CheckSecret(secret []byte) error {
	if n := len(secret); n < MinSecret || n > MaxSecret {
		return fmt.Errorf("invalid secret length: %d bytes, must be %d to %d", n, MinSecret, MaxSecret)
	}
	return nil
}

// EndpointQuery asks for endpoints.
type EndpointQuery struct {
	All    bool   // of all tenants
	Tenant string // else of this one
}
