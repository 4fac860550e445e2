package store

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Keys is a further ability of stores behind a service: who may use its API.
type Keys interface {
	// CreateKey stores a key. ErrConflict says that its tenant has MaxKeys in
	// use.
	CreateKey(ctx context.Context, now time.Time, k APIKey) error
	// APIKey returns one key, in use or not, or ErrNotFound.
	APIKey(ctx context.Context, id string) (APIKey, error)
	// APIKeys returns the keys of a tenant, or of all, by tenant and then age,
	// those that are no longer in use included.
	APIKeys(ctx context.Context, q KeyQuery) ([]APIKey, error)
	// RevokeKey ends a key for good. One that was revoked before stays as it is.
	RevokeKey(ctx context.Context, now time.Time, id string) error
	// RotateKey stores the successor of a key and lets the old one expire at
	// ends, if it does not sooner. ErrConflict says that the old one is no
	// longer in use.
	RotateKey(ctx context.Context, now time.Time, old string, ends time.Time, k APIKey) error
	// UseKey notes that a key was used; see KeyUseStep.
	UseKey(ctx context.Context, now time.Time, id string) error
}

// Bounds of keys.
const (
	MaxKeys    = 1000                // of a tenant, in use
	MaxKeyName = 200                 // bytes
	KeyKeep    = 90 * 24 * time.Hour // how long a key is listed that is no longer in use
	KeyUseStep = time.Hour           // how exactly the last use of a key is known
)

// Scope is what a key opens.
type Scope string

// The scopes. Each includes those before it.
const (
	ScopeRead     Scope = "read"     // look at what is the tenant's
	ScopeWrite    Scope = "write"    // ask for jobs and change them
	ScopeOperator Scope = "operator" // change what all tenants share
)

// Scopes lists the closed set, the weakest first.
var Scopes = []Scope{ScopeRead, ScopeWrite, ScopeOperator}

// APIKey is a key to the API as it is stored: the key itself is not.
type APIKey struct {
	ID     string // its public part
	Tenant string
	Name   string // for people
	Scope  Scope
	Sum    [sha256.Size]byte // of the key

	CreatedAt time.Time
	ExpiresAt time.Time // zero for never
	UsedAt    time.Time // last, to within KeyUseStep; zero for never
	RevokedAt time.Time // zero while it is not
}

// Valid tells whether the key opens anything.
func (k *APIKey) Valid(now time.Time) bool {
	return k.RevokedAt.IsZero() && (k.ExpiresAt.IsZero() || now.Before(k.ExpiresAt))
}

// Opens tells whether the key includes a scope.
func (k *APIKey) Opens(s Scope) bool {
	has, asked := slices.Index(Scopes, k.Scope), slices.Index(Scopes, s)
	return asked >= 0 && has >= asked
}

// Check reports what makes a key impossible to store.
func (k *APIKey) Check() error {
	switch {
	case k.ID == "":
		return errors.New("API key without an id")
	case !slices.Contains(Scopes, k.Scope):
		return fmt.Errorf("key %s: unknown scope %q", k.ID, k.Scope)
	case len(k.Name) > MaxKeyName:
		return fmt.Errorf("key %s: name too long: %d bytes, the maximum is %d", k.ID, len(k.Name), MaxKeyName)
	default:
		return nil
	}
}

// KeyQuery asks for keys.
type KeyQuery struct {
	All    bool   // of all tenants
	Tenant string // else of this one
}
