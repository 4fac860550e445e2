// Package pace writes what was learned of a host into what is stored of it.
package pace

import (
	"fmt"
	"time"

	"headway/politeness"
	"headway/store"
)

// Stored is what is stored of a host's pace.
type Stored struct {
	learned, floor time.Duration
	hold           time.Time
}

// Of is the pace of a host as it is stored.
func Of(h *store.Host) Stored { return Stored{h.Pace, h.Floor, h.HoldUntil} }

// Write writes a state into what is stored of a host, and says there whether that is
// slower or faster than before.
func Write(h *store.Host, state politeness.State, before Stored) error {
	var err error
	if h.Politeness, err = state.MarshalBinary(); err != nil {
		return fmt.Errorf("encode the state of %s: %w", h.Host, err)
	}
	h.Pace, h.Floor, h.HoldUntil, h.LastSent = state.Learned(), state.Floor(), state.HeldUntil(), state.LastSent()
	switch {
	case h.Pace > before.learned, h.Floor > before.floor, h.HoldUntil.After(before.hold):
		h.Change = store.Slower
	case h.Pace < before.learned, h.Floor < before.floor:
		h.Change = store.Faster
	default:
		h.Change = store.Same
	}
	return nil
}
