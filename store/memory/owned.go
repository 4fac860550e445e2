package memory

import (
	"context"
	"fmt"
	"maps"
	"time"

	"headway/store"
)

// owned are the claimed hosts of tenants.
type owned struct {
	tenants map[string]map[string]store.OwnedHost // by tenant and host
	checks  map[string]time.Time                  // by domain
}

var _ store.OwnedHosts = (*Store)(nil)

// ClaimHost implements [store.OwnedHosts].
func (s *Store) ClaimHost(ctx context.Context, h store.OwnedHost) (store.OwnedHost, error) {
	if err := h.Check(); err != nil {
		return h, err
	}
	if err := s.begin(ctx, "claim host"); err != nil {
		return h, err
	}
	defer s.mu.Unlock()
	hosts := s.owned.tenants[h.Tenant]
	if has, ok := hosts[h.Host]; ok {
		return has, nil
	}
	if n := len(hosts); n >= store.MaxOwnedHosts {
		return h, fmt.Errorf("tenant %q has %d hosts: %w", h.Tenant, n, store.ErrConflict)
	}
	if hosts == nil {
		hosts = map[string]store.OwnedHost{}
		s.owned.tenants[h.Tenant] = hosts
	}
	h.AskedAt = store.Stored(h.AskedAt)
	hosts[h.Host] = h
	return h, nil
}

// ProveHost implements [store.OwnedHosts].
func (s *Store) ProveHost(ctx context.Context, now time.Time, tenant, host string, p store.Proof, by string) error {
	if err := s.begin(ctx, "prove host"); err != nil {
		return err
	}
	defer s.mu.Unlock()
	h, ok := s.owned.tenants[tenant][host]
	if !ok {
		return fmt.Errorf("host %s of %q: %w", host, tenant, store.ErrNotFound)
	}
	h.OwnedAt, h.Proof, h.By = store.Stored(now), p, by
	s.owned.tenants[tenant][host] = h
	return nil
}

// OwnedHosts implements [store.OwnedHosts].
func (s *Store) OwnedHosts(ctx context.Context, tenant string) ([]store.OwnedHost, error) {
	if err := s.begin(ctx, "owned hosts"); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	return sorted(s.owned.tenants[tenant]), nil
}

// DropHost implements [store.OwnedHosts].
func (s *Store) DropHost(ctx context.Context, tenant, host string) error {
	if err := s.begin(ctx, "drop host"); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if _, ok := s.owned.tenants[tenant][host]; !ok {
		return fmt.Errorf("host %s of %q: %w", host, tenant, store.ErrNotFound)
	}
	delete(s.owned.tenants[tenant], host)
	return nil
}

// BeginCheck implements [store.OwnedHosts].
func (s *Store) BeginCheck(ctx context.Context, now time.Time, domain string) (bool, error) {
	if err := s.begin(ctx, "begin check"); err != nil {
		return false, err
	}
	defer s.mu.Unlock()
	maps.DeleteFunc(s.owned.checks, func(_ string, at time.Time) bool { return !now.Before(at.Add(store.CheckEvery)) })
	if _, ok := s.owned.checks[domain]; ok {
		return false, nil
	}
	s.owned.checks[domain] = now
	return true, nil
}
