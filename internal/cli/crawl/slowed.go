package crawl

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// maxSlowed bounds the times a host was slowed that are remembered.
const maxSlowed = 1000

// slowedLog remembers when hosts were slowed and why, as the crawl logs it, and
// passes everything on.
type slowedLog struct {
	next slog.Handler

	mu   sync.Mutex
	seen []slowedHost
}

// slowedHost is one time that a host was slowed.
type slowedHost struct {
	At   time.Time `json:"at"`
	Host string    `json:"host"`
	Why  string    `json:"why"`
}

func (l *slowedLog) logger() *slog.Logger { return slog.New(l) }

// list copies what is remembered, oldest first.
func (l *slowedLog) list() []slowedHost {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]slowedHost{}, l.seen...)
}

// slowedMessage is what the crawl logs when it slows a host.
const slowedMessage = "host slowed"

// Enabled implements [slog.Handler].
func (l *slowedLog) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }

// Handle implements [slog.Handler].
func (l *slowedLog) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == slowedMessage {
		s := slowedHost{At: r.Time.UTC()}
		r.Attrs(func(a slog.Attr) bool {
			switch a.Key {
			case "host":
				s.Host = a.Value.String()
			case "why":
				s.Why = a.Value.String()
			}
			return true
		})
		l.mu.Lock()
		if len(l.seen) < maxSlowed {
			l.seen = append(l.seen, s)
		}
		l.mu.Unlock()
	}
	if !l.next.Enabled(ctx, r.Level) {
		return nil
	}
	return l.next.Handle(ctx, r)
}

// WithAttrs implements [slog.Handler]; the crawl adds none that matter here.
func (l *slowedLog) WithAttrs([]slog.Attr) slog.Handler { return l }

// WithGroup implements [slog.Handler].
func (l *slowedLog) WithGroup(string) slog.Handler { return l }
