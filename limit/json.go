package limit

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// stored is the name of the limit in stores, where durations are in milliseconds.
func (r *Rule) stored() string {
	if r.Kind == Span {
		return string(r.Name) + "_ms"
	}
	return string(r.Name)
}

// MarshalJSON encodes limits as stores keep them: by name, durations in milliseconds, without those
// that are not set. Users see [Fields].
func (l Limits) MarshalJSON() ([]byte, error) {
	text := []byte{'{'}
	for i := range Rules {
		r := &Rules[i]
		amount := *r.at(&l)
		if amount == 0 {
			continue
		}
		if r.Kind == Span {
			amount = milliseconds(time.Duration(amount))
		}
		if len(text) > 1 {
			text = append(text, ',')
		}
		text = append(strconv.AppendQuote(text, r.stored()), ':')
		text = strconv.AppendInt(text, amount, 10)
	}
	return append(text, '}'), nil
}

// UnmarshalJSON decodes what MarshalJSON wrote. Unknown fields are ignored.
func (l *Limits) UnmarshalJSON(data []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	*l = Limits{}
	for i := range Rules {
		r := &Rules[i]
		text, ok := fields[r.stored()]
		if !ok {
			continue
		}
		var amount int64
		if err := json.Unmarshal(text, &amount); err != nil {
			return fmt.Errorf("%s: %w", r.stored(), err)
		}
		if r.Kind == Span {
			amount = int64(time.Duration(amount) * time.Millisecond)
		}
		*r.at(l) = amount
	}
	return nil
}

// milliseconds rounds away from zero, which would mean no limit.
func milliseconds(d time.Duration) int64 {
	switch {
	case d < 0:
		return -1
	case d%time.Millisecond != 0:
		return d.Milliseconds() + 1
	default:
		return d.Milliseconds()
	}
}
