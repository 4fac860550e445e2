package chore

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

// TestWarnings passes on warnings and errors only.
func TestWarnings(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(warnings{slog.NewTextHandler(&out, nil)}).With("a", 1).WithGroup("g")
	log.Info("attempt failed")
	log.Warn("look at this")
	if got := out.String(); strings.Contains(got, "attempt") || !strings.Contains(got, "look at this") || !strings.Contains(got, "a=1") {
		t.Errorf("logged %q", got)
	}
}
