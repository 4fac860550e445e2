package ask

import (
	"encoding/json"
	"fmt"
	"math"
	"time"
)

// Seconds is a duration that is a number of seconds in JSON, to the microsecond.
type Seconds time.Duration

// MaxSeconds is the longest duration that is read.
const MaxSeconds = math.MaxInt64 / int64(time.Second)

// Duration returns it as a time.Duration.
func (s Seconds) Duration() time.Duration { return time.Duration(s) }

// MarshalJSON implements [json.Marshaler].
func (s Seconds) MarshalJSON() ([]byte, error) {
	return json.Marshal(time.Duration(s).Round(time.Microsecond).Seconds())
}

// UnmarshalJSON implements [json.Unmarshaler].
func (s *Seconds) UnmarshalJSON(b []byte) error {
	var n float64
	if err := json.Unmarshal(b, &n); err != nil {
		return err
	}
	if math.Abs(n) > float64(MaxSeconds) {
		return fmt.Errorf("%g seconds are more than %d", n, MaxSeconds)
	}
	*s = FromSeconds(n)
	return nil
}

// FromSeconds is a number of seconds, to the microsecond.
func FromSeconds(n float64) Seconds {
	return Seconds(math.Round(n*float64(time.Second/time.Microsecond))) * Seconds(time.Microsecond)
}
