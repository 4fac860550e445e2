package cli

import (
	"bytes"
	"context"
	"io"
	"log/slog"

	"headway/internal/config"
)

// newRecords returns the log of a program that runs for long, and the stream for
// people beside it. In JSON there is one stream: what people would be told is a
// record like all others, so that whoever collects them can read every line.
func newRecords(format string, w io.Writer) (*slog.Logger, io.Writer) {
	if format != config.LogJSON {
		return slog.New(slog.NewTextHandler(w, nil)), w
	}
	log := slog.New(slog.NewJSONHandler(w, nil))
	return log, recorded{log}
}

// recorded makes records of lines for people.
type recorded struct{ log *slog.Logger }

// Write implements [io.Writer].
func (r recorded) Write(b []byte) (int, error) {
	for line := range bytes.Lines(b) {
		text, level := bytes.TrimPrefix(bytes.TrimSpace(line), []byte("headway: ")), slog.LevelInfo
		if warning, ok := bytes.CutPrefix(text, []byte("warning: ")); ok {
			text, level = warning, slog.LevelWarn
		}
		if len(text) > 0 {
			r.log.Log(context.Background(), level, string(text))
		}
	}
	return len(b), nil
}
