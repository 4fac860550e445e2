package store

import (
	"context"
	"fmt"
	"maps"
	"time"
)

// RateWindows is an optional interface of stores that many workers share: windows of a
// tenant's time, each reserved for one worker. Workers that send a tenant's requests only
// within their own windows, at the tenant's rate, keep that rate together. If a worker
// dies, nothing has to be returned.
type RateWindows interface {
	// ReserveRate reserves a window for each tenant, not before now and after all windows
	// reserved before, and returns the time until each begins. A store shared by several
	// machines uses its own clock.
	ReserveRate(ctx context.Context, now time.Time, wants []RateWindow) ([]time.Duration, error)
}

// Bounds of rate windows.
const (
	MaxRateWindows = 10_000      // in one call
	MaxRateWindow  = time.Minute // length of one
)

// RateWindow is a window of a tenant's time.
type RateWindow struct {
	Tenant string
	Length time.Duration
}

// CheckRateWindows reports an invalid list: too long, with an invalid length, or with a
// tenant twice.
func CheckRateWindows(list []RateWindow) error {
	if len(list) > MaxRateWindows {
		return fmt.Errorf("%d rate windows, at most %d", len(list), MaxRateWindows)
	}
	seen := make(map[string]bool, len(list))
	for _, s := range list {
		if s.Length <= 0 || s.Length > MaxRateWindow || seen[s.Tenant] {
			return fmt.Errorf("rate window of %v for tenant %q", s.Length, s.Tenant)
		}
		seen[s.Tenant] = true
	}
	return nil
}

// Timeline is, for each tenant, the end of the last reserved window.
type Timeline map[string]time.Time

// maxPast is the number of tenants from which on those with only past windows are removed.
const maxPast = 1000

// Take reserves a window and returns the time until it begins.
func (l Timeline) Take(now time.Time, s RateWindow) time.Duration {
	if len(l) > maxPast {
		maps.DeleteFunc(l, func(_ string, until time.Time) bool { return !until.After(now) })
	}
	wait := max(l[s.Tenant].Sub(now), 0)
	l[s.Tenant] = now.Add(wait + s.Length)
	return wait
}
