package store

import (
	"context"
	"fmt"
	"maps"
	"time"
)

// Stretches is a further ability of stores that many workers share: stretches of a
// tenant's time, each of which is one worker's alone. Whoever makes the requests of a
// tenant within stretches of its own, at the tenant's rate, keeps to that rate together
// with all others, whatever becomes of them: there is nothing to be given back.
type Stretches interface {
	// Stretch gives a stretch of the time of each tenant, not before now and after all
	// that were given before, and returns in how long each begins. A store that
	// several machines share goes by its own clock.
	Stretch(ctx context.Context, now time.Time, wants []Stretch) ([]time.Duration, error)
}

// Bounds of stretches.
const (
	MaxStretches = 10_000      // at a time
	MaxStretch   = time.Minute // of one
)

// Stretch is a part of a tenant's time.
type Stretch struct {
	Tenant string
	Length time.Duration
}

// CheckStretches reports what cannot be given: too much, nothing, or of one tenant
// twice.
func CheckStretches(list []Stretch) error {
	if len(list) > MaxStretches {
		return fmt.Errorf("%d stretches, at most %d", len(list), MaxStretches)
	}
	seen := make(map[string]bool, len(list))
	for _, s := range list {
		if s.Length <= 0 || s.Length > MaxStretch || seen[s.Tenant] {
			return fmt.Errorf("a stretch of %v of tenant %q", s.Length, s.Tenant)
		}
		seen[s.Tenant] = true
	}
	return nil
}

// Timeline is until when the time of each tenant was given.
type Timeline map[string]time.Time

// maxPast is how many tenants are kept whose stretches may all be over.
const maxPast = 1000

// Take gives a stretch and returns in how long it begins.
func (l Timeline) Take(now time.Time, s Stretch) time.Duration {
	if len(l) > maxPast {
		maps.DeleteFunc(l, func(_ string, until time.Time) bool { return !until.After(now) })
	}
	wait := max(l[s.Tenant].Sub(now), 0)
	l[s.Tenant] = now.Add(wait + s.Length)
	return wait
}
