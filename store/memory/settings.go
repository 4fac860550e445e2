package memory

import (
	"context"
	"fmt"
	"slices"
	"time"

	"headway/store"
)

// settings is the versions of the fleet's settings, oldest first.
type settings []store.SettingsVersion

// newSettings is the settings of a new store.
func newSettings() settings {
	return settings{{Version: 1, By: "new store", FleetSettings: store.NewFleetSettings()}}
}

// newest is the newest version; a new store has one.
func (s settings) newest() store.SettingsVersion { return s[len(s)-1] }

// FleetSettings implements [store.Settings].
func (s *Store) FleetSettings(ctx context.Context) (store.SettingsVersion, error) {
	if err := s.begin(ctx, "fleet settings"); err != nil {
		return store.SettingsVersion{}, err
	}
	defer s.mu.Unlock()
	return s.settings.newest(), nil
}

// SetFleetSettings implements [store.Settings].
func (s *Store) SetFleetSettings(ctx context.Context, now time.Time, by string, after int64, set store.FleetSettings) (store.SettingsVersion, error) {
	next := store.SettingsVersion{Version: after + 1, At: store.Stored(now), By: by, FleetSettings: set}
	if err := set.Check(); err != nil {
		return next, err
	}
	if err := s.begin(ctx, "set fleet settings"); err != nil {
		return next, err
	}
	defer s.mu.Unlock()
	if last := s.settings.newest().Version; last != after {
		return next, fmt.Errorf("set fleet settings: the newest version is %d, not %d: %w", last, after, store.ErrConflict)
	}
	s.settings = append(s.settings, next)
	return next, nil
}

// SettingsHistory implements [store.Settings].
func (s *Store) SettingsHistory(ctx context.Context, below int64, most int) ([]store.SettingsVersion, error) {
	if err := s.begin(ctx, "settings history"); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var list []store.SettingsVersion
	for _, v := range slices.Backward(s.settings) {
		if (below <= 0 || v.Version < below) && len(list) < most {
			list = append(list, v)
		}
	}
	return list, nil
}

// resettle gives jobs that were admitted under other settings the newest safety layer.
func (s *Store) resettle() {
	for _, r := range s.active() {
		if r.Settings == s.settings.newest().Version {
			continue
		}
		limited := r.MaxPages > 0
		r.Resettle(s.settings.newest())
		if limited {
			s.ledger.SetLimit(r.ID, r.MaxPages, s.count(r).Pages())
		}
	}
}
