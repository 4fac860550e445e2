package store

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Keys is an optional interface of stores behind a service: who may use its API.
type Keys interface {
	// CreateKey stores a key. ErrConflict says that its tenant has MaxKeys in
	// use.
	CreateKey(ctx context.Context, now time.Time, k APIKey) error
	// APIKey returns one key, in use or not, or ErrNotFound.
	APIKey(ctx context.Context, id string) (APIKey, error)
	// APIKeys returns the keys of a tenant, or of all, by tenant and then age, including
	// those no longer in use.
	APIKeys(ctx context.Context, q KeyQuery) ([]APIKey, error)
	// RevokeKey revokes a key permanently. One that is revoked already stays as it is.
	RevokeKey(ctx context.Context, now time.Time, id string) error
	// RotateKey stores the successor of a key and lets the old one expire at ends, if not
	// sooner. ErrConflict says that the old one is no longer in use.
	RotateKey(ctx context.Context, now time.Time, old string, ends time.Time, k APIKey) error
	// UseKey records that a key was used; see KeyUseStep.
	UseKey(ctx context.Context, now time.Time, id string) error
}

// Bounds of keys.
const (
	MaxKeys    = 1000                // of a tenant, in use
	MaxKeyName = 200                 // bytes
	KeyKeep    = 90 * 24 * time.Hour // how long a key that is no longer in use is listed
	KeyUseStep = time.Hour           // precision of the last use of a key
)

// Scope is what a key allows.
type Scope string

// The scopes. Each includes those before it.
const (
	ScopeRead     Scope = "read"     // read what belongs to the tenant
	ScopeWrite    Scope = "write"    // create and change jobs
	ScopeOperator Scope = "operator" // change what all tenants share
)

// Scopes lists all scopes, the weakest first.
var Scopes = []Scope{ScopeRead, ScopeWrite, ScopeOperator}

// APIKey is an API key as stored, without the key itself.
type APIKey struct {
	ID     string // its public part
	Tenant string
	Name   string // for people
	Scope  Scope
	Sum    [sha256.Size]byte // of the key

	CreatedAt time.Time
	ExpiresAt time.Time // zero for never
	UsedAt    time.Time // last, to within KeyUseStep; zero for never
	RevokedAt time.Time // zero if not revoked
}

// Valid reports whether the key is in use at now.
func (k *APIKey) Valid(now time.Time) bool {
	return k.RevokedAt.IsZero() && (k.ExpiresAt.IsZero() || now.Before(k.ExpiresAt))
}

// Opens reports whether the key includes a scope.
func (k *APIKey) Opens(s Scope) bool {
	has, asked := slices.Index(Scopes, k.Scope), slices.Index(Scopes, s)
	return asked >= 0 && has >= asked
}

// Check reports why a key is invalid.
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

// KeyQuery selects keys.
type KeyQuery struct {
	All    bool   // of all tenants
	Tenant string // otherwise of this one
}
