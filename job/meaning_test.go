package job

import (
	"strings"
	"testing"
)

// TestMeanings expects a sentence for every state.
func TestMeanings(t *testing.T) {
	for _, s := range States {
		if m := s.Meaning(); m == "" || strings.HasSuffix(m, ".") || strings.ContainsAny(m, "|\n") {
			t.Errorf("%s means %q", s, m)
		}
	}
	if len(meanings) != len(States) {
		t.Errorf("%d meanings of %d states", len(meanings), len(States))
	}
}
