package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Endpoints is an optional interface of stores behind a service: the webhooks of tenants.
type Endpoints interface {
	// CreateEndpoint stores an endpoint. It gets events from now on. ErrConflict says that
	// its tenant has MaxEndpoints.
	CreateEndpoint(ctx context.Context, now time.Time, e Endpoint) error
	// Endpoint returns one endpoint, or ErrNotFound.
	Endpoint(ctx context.Context, id string) (Endpoint, error)
	// Endpoints returns the endpoints of a tenant, or of all, by tenant and then
	// age.
	Endpoints(ctx context.Context, q EndpointQuery) ([]Endpoint, error)
	// SetEndpoint changes the URL and the kinds of an endpoint.
	SetEndpoint(ctx context.Context, id, url string, kinds []EventKind) error
	// EnableEndpoint enables an endpoint, which gets events from now on. One that is
	// enabled already stays as it is.
	EnableEndpoint(ctx context.Context, now time.Time, id string) error
	// DisableEndpoint disables an endpoint. One that is disabled already keeps its reason.
	DisableEndpoint(ctx context.Context, now time.Time, id, reason string) error
	// RotateEndpoint gives an endpoint a new secret. Until ends, events are also signed
	// with the old one, but no longer with the one before that.
	RotateEndpoint(ctx context.Context, id string, secret []byte, ends time.Time) error
	// DropEndpoint deletes an endpoint and its unsent events.
	DropEndpoint(ctx context.Context, id string) error
}

// Bounds of endpoints.
const (
	MaxEndpoints   = 50   // of a tenant
	MaxEndpointURL = 2048 // bytes
	MinSecret      = 24   // bytes, by the Standard Webhooks specification
	MaxSecret      = 64   // likewise
	MaxDisabled    = 200  // bytes of a reason
)

// Endpoint is where events of a tenant are sent.
type Endpoint struct {
	ID     string
	Tenant string
	URL    string
	Kinds  []EventKind // empty for all
	After  EventNumber // it gets events after this one

	Secret    []byte
	OldSecret []byte // before the last rotation
	OldEnds   time.Time

	CreatedAt  time.Time
	DisabledAt time.Time // zero while it is enabled
	Disabled   string    // why it is disabled
}

// Enabled reports whether events are sent.
func (e *Endpoint) Enabled() bool { return e.DisabledAt.IsZero() }

// Wants reports whether an event is for this endpoint.
func (e *Endpoint) Wants(v *Event) bool {
	return e.Enabled() && v.Tenant == e.Tenant && v.Number > e.After && (len(e.Kinds) == 0 || slices.Contains(e.Kinds, v.Kind))
}

// Secrets are the signing secrets valid now, the newest first.
func (e *Endpoint) Secrets(now time.Time) [][]byte {
	if len(e.OldSecret) > 0 && now.Before(e.OldEnds) {
		return [][]byte{e.Secret, e.OldSecret}
	}
	return [][]byte{e.Secret}
}

// Check reports why an endpoint is invalid. The sender checks whether its address is
// allowed.
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

// CheckEndpoint reports an invalid URL or kind.
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

// CheckSecret reports a secret of invalid length.
func CheckSecret(secret []byte) error {
	if n := len(secret); n < MinSecret || n > MaxSecret {
		return fmt.Errorf("invalid secret length: %d bytes, must be %d to %d", n, MinSecret, MaxSecret)
	}
	return nil
}

// EndpointQuery selects endpoints.
type EndpointQuery struct {
	All    bool   // of all tenants
	Tenant string // otherwise of this one
}
