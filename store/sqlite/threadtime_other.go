//go:build !linux

package sqlite

import "time"

// threadTime is not known: computing in the last statement counts as waiting.
func threadTime() time.Duration { return 0 }
