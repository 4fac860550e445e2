package limit

import (
	"fmt"
	"slices"
)

// Ceiling is one limit in force. The zero Ceiling limits nothing.
type Ceiling struct {
	Limit     Name
	Layer     Level // the layer that set it; empty if there is none
	Max       int64 // durations in nanoseconds
	Requested int64 // what the job requested; 0 if no limit
}

// Limited reports whether there is a ceiling.
func (c Ceiling) Limited() bool { return c.Layer != "" }

// Allows reports whether amount is within the ceiling.
func (c Ceiling) Allows(amount int64) bool { return !c.Limited() || amount <= c.Max }

// Reached reports whether nothing is left: amount has reached the ceiling.
func (c Ceiling) Reached(amount int64) bool { return c.Limited() && amount >= c.Max }

// Capped reports whether the job requested more than it got.
func (c Ceiling) Capped() bool { return c.Limited() && c.Requested > c.Max }

// String formats the ceiling as in `max_pages 50 (safety; requested 100)`.
func (c Ceiling) String() string {
	switch {
	case !c.Limited():
		return fmt.Sprintf("%s none", c.Limit)
	case c.Capped():
		return fmt.Sprintf("%s %s (%s; requested %s)", c.Limit, c.Limit.format(c.Max), c.Layer, c.Limit.format(c.Requested))
	default:
		return fmt.Sprintf("%s %s (%s)", c.Limit, c.Limit.format(c.Max), c.Layer)
	}
}

// Effective is the combined limits of all layers. It is a value and may be copied; the zero Effective
// limits nothing.
type Effective struct {
	ceilings []Ceiling // limited ones, in the order of Names; never changed
}

// Resolve combines the layers and keeps the strictest limit of each kind with the layer that set it. The
// order of the arguments does not matter; of a layer given twice the stricter limits apply. An unknown
// level is a bug in the caller and panics.
func Resolve(layers ...Layer) Effective {
	var e Effective
	for _, n := range Names {
		c := Ceiling{Limit: n}
		rank := len(Levels)
		for i := range layers {
			r := slices.Index(Levels, layers[i].Level)
			if r < 0 {
				panic(fmt.Sprintf("limit: unknown level %q", layers[i].Level))
			}
			amount := layers[i].Limits.Of(n)
			if amount == 0 {
				continue
			}
			if layers[i].Level == Job && (c.Requested == 0 || amount < c.Requested) {
				c.Requested = amount
			}
			amount = max(amount, 0) // a negative limit allows nothing
			if !c.Limited() || amount < c.Max || amount == c.Max && r < rank {
				c.Layer, c.Max, rank = layers[i].Level, amount, r
			}
		}
		if c.Limited() {
			e.ceilings = append(e.ceilings, c)
		}
	}
	return e
}

// Of returns the ceiling of this kind; an unlimited one if there is none.
func (e Effective) Of(n Name) Ceiling {
	for _, c := range e.ceilings {
		if c.Limit == n {
			return c
		}
	}
	return Ceiling{Limit: n}
}

// Max returns the value of a ceiling, durations in nanoseconds; 0 if there is none. If 0 itself is the
// limit, see [Ceiling.Limited].
func (e Effective) Max(n Name) int64 { return e.Of(n).Max }

// Ceilings returns those in force, in the order of [Names].
func (e Effective) Ceilings() []Ceiling { return slices.Clone(e.ceilings) }

// Capped returns the ceilings below what the job requested, to report before the crawl begins.
func (e Effective) Capped() []Ceiling {
	var capped []Ceiling
	for _, c := range e.ceilings {
		if c.Capped() {
			capped = append(capped, c)
		}
	}
	return capped
}
