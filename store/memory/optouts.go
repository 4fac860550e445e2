package memory

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"headway/store"
)

// optOuts is the list of opt-outs.
type optOuts struct {
	names  map[string]store.OptOut
	number int64 // number of changes
}

var _ store.OptOuts = (*Store)(nil)

// AddOptOut implements [store.OptOuts].
func (s *Store) AddOptOut(ctx context.Context, o store.OptOut) (entry store.OptOut, added bool, err error) {
	if err := o.Check(); err != nil {
		return o, false, err
	}
	if err := s.begin(ctx, "add opt-out"); err != nil {
		return o, false, err
	}
	defer s.mu.Unlock()
	if has, ok := s.optOuts.names[o.Name]; ok {
		return has, false, nil
	}
	if n := len(s.optOuts.names); n >= store.MaxOptOuts {
		return o, false, fmt.Errorf("there are %d opt-outs: %w", n, store.ErrConflict)
	}
	o.At = store.Stored(o.At)
	s.optOuts.names[o.Name] = o
	s.optOuts.number++
	return o, true, nil
}

// DropOptOut implements [store.OptOuts].
func (s *Store) DropOptOut(ctx context.Context, name string) error {
	if err := s.begin(ctx, "drop opt-out"); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if _, ok := s.optOuts.names[name]; !ok {
		return fmt.Errorf("opt-out %q: %w", name, store.ErrNotFound)
	}
	delete(s.optOuts.names, name)
	s.optOuts.number++
	return nil
}

// OptOuts implements [store.OptOuts].
func (s *Store) OptOuts(ctx context.Context, after string, most int) ([]store.OptOut, error) {
	if err := s.begin(ctx, "opt-outs"); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	list := slices.DeleteFunc(sorted(s.optOuts.names), func(o store.OptOut) bool { return o.Name <= after })
	return list[:min(len(list), max(most, 0))], nil
}

// OptOutNames implements [store.OptOuts].
func (s *Store) OptOutNames(ctx context.Context, mark string) (names []string, now string, err error) {
	if err := s.begin(ctx, "opt-out names"); err != nil {
		return nil, "", err
	}
	defer s.mu.Unlock()
	now = strconv.FormatInt(s.optOuts.number, 10)
	if now != mark {
		for _, o := range sorted(s.optOuts.names) {
			names = append(names, o.Name)
		}
	}
	return names, now, nil
}

// CoveringOptOut implements [store.OptOuts].
func (s *Store) CoveringOptOut(ctx context.Context, hostname string) (string, error) {
	if err := s.begin(ctx, "covering opt-out"); err != nil {
		return "", err
	}
	defer s.mu.Unlock()
	for name := range store.Above(hostname) {
		if _, ok := s.optOuts.names[name]; ok {
			return name, nil
		}
	}
	return "", nil
}
