package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"headway/limit"
)

// Settings is the settings that all processes of a fleet share. They are versioned: each
// change adds a version, and the newest applies.
type Settings interface {
	// FleetSettings returns the newest version. Version 0 says that there is none yet, as in
	// a database that held jobs before it had settings: nothing is admitted until they are
	// set.
	FleetSettings(ctx context.Context) (SettingsVersion, error)
	// SetFleetSettings adds a version after another, 0 for the first. ErrConflict says that
	// there is a newer one than that. A store with a control log records the change there, in
	// the same transaction.
	SetFleetSettings(ctx context.Context, now time.Time, by string, after int64, s FleetSettings) (SettingsVersion, error)
	// SettingsHistory returns versions below a number, newest first; 0 means from the newest
	// on.
	SettingsHistory(ctx context.Context, below int64, most int) ([]SettingsVersion, error)
}

// FleetSettings is the settings of a fleet.
type FleetSettings struct {
	// Safety is the operator's layer of limits, which no plan, job or worker can raise. Its
	// ConcurrentCrawls is for the whole fleet.
	Safety limit.Limits
	// Lease is how long a worker keeps its slots after its last heartbeat; see [TermsOf].
	Lease time.Duration
	// CommitGap is the minimum interval between two commits of a worker.
	CommitGap time.Duration
}

// SettingsVersion is a version of the settings: who made it, and when.
type SettingsVersion struct {
	Version int64     // from 1
	At      time.Time // zero for that of a new database
	By      string
	FleetSettings
}

// Bounds of fleet settings.
const (
	MinLease     = time.Second
	MaxLease     = time.Hour
	MaxCommitGap = 250 * time.Millisecond
)

// NewFleetSettings is the settings of a new fleet.
func NewFleetSettings() FleetSettings {
	return FleetSettings{Safety: limit.NewService().Limits, Lease: DefaultTerms.TakeOver, CommitGap: 100 * time.Millisecond}
}

// Check reports why settings are invalid.
func (s *FleetSettings) Check() error {
	for _, n := range limit.Names {
		if s.Safety.Of(n) < 0 {
			return fmt.Errorf("fleet settings: negative %s", n)
		}
	}
	switch {
	case s.Lease < MinLease || s.Lease > MaxLease:
		return fmt.Errorf("fleet settings: lease %s is not between %s and %s", s.Lease, MinLease, MaxLease)
	case s.CommitGap < 0 || s.CommitGap > MaxCommitGap:
		return fmt.Errorf("fleet settings: commit gap %s is not between 0s and %s", s.CommitGap, MaxCommitGap)
	default:
		return nil
	}
}

// String formats the settings as in `max_pages 50, max_time 1m; lease 30s, commit gap 100ms`.
func (s FleetSettings) String() string {
	return fmt.Sprintf("%s; lease %s, commit gap %s", s.Safety, s.Lease, s.CommitGap)
}

// TermsOf are the terms of a lease: no request starts after half of it, none continues after
// three quarters, and a candidate may take over at its end.
func TermsOf(lease time.Duration) Terms {
	return Terms{Renew: lease / 6, Start: lease / 2, Cancel: lease * 22 / 30, TakeOver: lease}
}

// ErrSettingsChanged says that the lease or the commit gap of the fleet changed while a
// worker ran: it must open the store and join again.
var ErrSettingsChanged = errors.New("the fleet's lease or commit gap has changed")
