package fleettest

import "testing"

// TestAPIGuide runs docs/guide/api.md.
func TestAPIGuide(t *testing.T) {
	t.Parallel()
	runGuide(t, "../../docs/guide/api.md", nil, "8780", "8788")
}
