package store

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// OwnedHosts is an optional interface of stores that many processes share: which hosts
// belong to a tenant. A claim alone is not enough: a host is owned once its proof is
// recorded. Several tenants may own one host.
type OwnedHosts interface {
	// ClaimHost records a tenant's claim to own a host, and returns what is stored: an
	// existing claim stays as it is. ErrConflict says that the tenant has MaxOwnedHosts.
	ClaimHost(ctx context.Context, h OwnedHost) (OwnedHost, error)
	// ProveHost records the proof of a claim; ErrNotFound if there is no claim.
	ProveHost(ctx context.Context, now time.Time, tenant, host string, p Proof, by string) error
	// OwnedHosts returns the claims of a tenant, by host.
	OwnedHosts(ctx context.Context, tenant string) ([]OwnedHost, error)
	// DropHost deletes a claim; ErrNotFound if there is none.
	DropHost(ctx context.Context, tenant, host string) error
	// BeginCheck records that a host of a domain is about to be checked for a token. It is
	// not ok within CheckEvery of the last check of the domain by any tenant.
	BeginCheck(ctx context.Context, now time.Time, domain string) (ok bool, err error)
}

// Bounds of owned hosts.
const (
	MaxOwnedHosts = 1000 // of a tenant
	CheckEvery    = 10 * time.Second
)

// Proof is how the ownership of a host was proved.
type Proof string

// The proofs.
const (
	NoProof    Proof = ""         // not proved
	ByFile     Proof = "file"     // the token was in a file of the host
	ByDNS      Proof = "dns"      // the token was in a record of the name
	ByOperator Proof = "operator" // an operator said so
)

// Proofs lists all proofs.
var Proofs = []Proof{ByFile, ByDNS, ByOperator}

// OwnedHost is a tenant's claim to own a host.
type OwnedHost struct {
	Tenant  string // empty for jobs without a tenant
	Host    string // as [ParseHost] reads it
	Token   string // proves ownership when it is found on the host
	AskedAt time.Time

	OwnedAt time.Time // zero while it is not proven
	Proof   Proof
	By      string // who proved it
}

// Owned reports whether the ownership is proved.
func (h *OwnedHost) Owned() bool { return h.Proof != NoProof }

// Check reports why a claim is invalid.
func (h *OwnedHost) Check() error {
	if _, err := ParseHost(h.Host); err != nil {
		return err
	}
	if h.Token == "" {
		return fmt.Errorf("host %q: no token", h.Host)
	}
	if h.Owned() {
		return errors.New("a new claim cannot be verified already")
	}
	return nil
}
