package fleet

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"sync/atomic"

	"headway/internal/config"
	"headway/store"
)

// newRecords returns the log of a long-running command, and the stream for messages
// to people. In JSON both are one stream of records, so that a log collector can
// parse every line. After joined was called, each record has the id of the worker.
func newRecords(format string, w io.Writer) (log *slog.Logger, people io.Writer, joined func(store.WorkerID)) {
	id := new(atomic.Int64)
	joined = func(w store.WorkerID) { id.Store(int64(w)) }
	if format != config.LogJSON {
		return slog.New(workerLog{slog.NewTextHandler(w, nil), id}), w, joined
	}
	log = slog.New(workerLog{slog.NewJSONHandler(w, &slog.HandlerOptions{ReplaceAttr: inSeconds}), id})
	return log, recorded{log}, joined
}

// inSeconds writes durations as seconds, with the unit in the key: slog's JSON has
// nanoseconds.
func inSeconds(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() != slog.KindDuration {
		return a
	}
	return slog.Float64(a.Key+"_seconds", a.Value.Duration().Seconds())
}

// workerLog adds the id of the worker to each record, once it is known. A worker
// that rejoins the fleet has a new id.
type workerLog struct {
	slog.Handler
	id *atomic.Int64 // 0 until it is known
}

// Handle implements [slog.Handler].
func (l workerLog) Handle(ctx context.Context, r slog.Record) error {
	if id := l.id.Load(); id != 0 {
		r = r.Clone()
		r.AddAttrs(slog.Int64("worker", id))
	}
	return l.Handler.Handle(ctx, r)
}

// WithAttrs implements [slog.Handler].
func (l workerLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	return workerLog{l.Handler.WithAttrs(attrs), l.id}
}

// WithGroup implements [slog.Handler].
func (l workerLog) WithGroup(name string) slog.Handler {
	return workerLog{l.Handler.WithGroup(name), l.id}
}

// recorded makes records of messages to people.
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
