package store

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// OwnedHosts is a further ability of stores that many processes share: which hosts
// are a tenant's own. That a tenant says so is not enough: a host is owned once its
// proof was noted. Several tenants may own one host.
type OwnedHosts interface {
	// ClaimHost notes that a tenant says that a host is its own, and returns what
	// is stored then: a claim that is there already stays as it is. ErrConflict
	// says that the tenant has MaxOwnedHosts.
	ClaimHost(ctx context.Context, h OwnedHost) (OwnedHost, error)
	// ProveHost notes why a claim is true, or says ErrNotFound.
	ProveHost(ctx context.Context, now time.Time, tenant, host string, p Proof, by string) error
	// OwnedHosts returns the claims of a tenant, by host.
	OwnedHosts(ctx context.Context, tenant string) ([]OwnedHost, error)
	// DropHost forgets a claim, or says ErrNotFound.
	DropHost(ctx context.Context, tenant, host string) error
	// BeginCheck notes that a host of a domain is about to be asked for a token.
	// It may not be while less than CheckEvery has passed since one was, for
	// whomever.
	BeginCheck(ctx context.Context, now time.Time, domain string) (ok bool, err error)
}

// Bounds of owned hosts.
const (
	MaxOwnedHosts = 1000 // of a tenant
	CheckEvery    = 10 * time.Second
)

// Proof is why a host is known to be a tenant's.
type Proof string

// The proofs.
const (
	NoProof    Proof = ""         // it is not
	ByFile     Proof = "file"     // the token was in a file of the host
	ByDNS      Proof = "dns"      // the token was in a record of the name
	ByOperator Proof = "operator" // an operator said so
)

// Proofs lists the closed set.
var Proofs = []Proof{ByFile, ByDNS, ByOperator}

// OwnedHost is a host that a tenant says is its own.
type OwnedHost struct {
	Tenant  string // empty for jobs that are nobody's
	Host    string // as [ParseHost] reads it
	Token   string // what proves it, where it is found
	AskedAt time.Time

	OwnedAt time.Time // zero while it is not proven
	Proof   Proof
	By      string // who proved it
}

// Owned tells whether the host is the tenant's.
func (h *OwnedHost) Owned() bool { return h.Proof != NoProof }

// Check reports what makes a claim impossible to store.
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
