package command

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
)

// warner is a log for a person at a terminal: a line for each warning, in the
// form of all other lines, and nothing below a warning.
type warner struct {
	mu sync.Mutex
	w  io.Writer
}

// NewWarner logs to a person at a terminal: warnings and errors, one line each.
func NewWarner(w io.Writer) *slog.Logger { return slog.New(&warner{w: w}) }

// Enabled implements [slog.Handler].
func (h *warner) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }

// Handle implements [slog.Handler]. A fact that the message begins with is not named
// again: "limit usage: max_pages", not "limit usage: limit max_pages".
func (h *warner) Handle(_ context.Context, r slog.Record) error {
	var facts []string
	first, _, _ := strings.Cut(r.Message, " ")
	r.Attrs(func(a slog.Attr) bool {
		fact := a.Value.String()
		if a.Key != first {
			fact = a.Key + " " + fact
		}
		facts = append(facts, fact)
		return true
	})
	line := "headway: warning: " + r.Message
	if len(facts) > 0 {
		line += ": " + strings.Join(facts, ", ")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	_, err := fmt.Fprintln(h.w, OneLine(line))
	return err
}

// WithAttrs implements [slog.Handler]; facts that hold for all lines are not
// worth repeating here.
func (h *warner) WithAttrs([]slog.Attr) slog.Handler { return h }

// WithGroup implements [slog.Handler].
func (h *warner) WithGroup(string) slog.Handler { return h }
