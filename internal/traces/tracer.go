package traces

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"net/url"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"headway/fetch/guard"
	"headway/output"
	"headway/visit"
)

// Config says where traces are sent.
type Config struct {
	// Endpoint is the URL of a collector; spans go to /v1/traces below it.
	Endpoint string
	// Guard guards the connection to the collector. An IP address in Endpoint may be
	// private; a name must resolve to an address that the guard allows.
	Guard   guard.Config
	Version string // of the program
	Log     *slog.Logger
}

// Tracer makes spans of visits and commits. It is an [output.Writer].
type Tracer struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
}

var (
	_ output.Writer     = (*Tracer)(nil)
	_ output.LinkReader = (*Tracer)(nil)
)

// New returns a tracer. Nothing is sent before there is a span.
func New(ctx context.Context, cfg Config) (*Tracer, error) {
	u, err := url.Parse(cfg.Endpoint)
	if err != nil {
		return nil, fmt.Errorf("collector: %w", err)
	}
	if port, err := strconv.ParseUint(u.Port(), 10, 16); err == nil {
		cfg.Guard.ExtraPorts = []uint16{uint16(port)}
		if addr, err := netip.ParseAddr(u.Hostname()); err == nil {
			cfg.Guard.AllowPrivate = append(cfg.Guard.AllowPrivate[:len(cfg.Guard.AllowPrivate):len(cfg.Guard.AllowPrivate)],
				guard.Range{Prefix: netip.PrefixFrom(addr, addr.BitLen()), Ports: []uint16{uint16(port)}})
		}
	}
	dialer, err := guard.New(cfg.Guard)
	if err != nil {
		return nil, fmt.Errorf("reach the collector: %w", err)
	}
	about, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "headway"), attribute.String("service.version", cfg.Version)),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("read OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	to := &exporter{url: u.JoinPath("v1", "traces").String(), client: dialer.Client(exportTimeout), log: cfg.Log}
	t := &Tracer{provider: sdk.NewTracerProvider(sdk.WithResource(about), sdk.WithBatcher(to))}
	t.tracer = t.provider.Tracer("headway", trace.WithInstrumentationVersion(cfg.Version))
	return t, nil
}

// Shutdown sends the remaining spans.
func (t *Tracer) Shutdown(ctx context.Context) error { return t.provider.Shutdown(ctx) }

// Close implements [output.Writer]. A worker that restarts keeps its tracer: see
// [Tracer.Shutdown].
func (t *Tracer) Close() error { return nil }

// Write implements [output.Writer]: it makes the span of a visit, from the DNS lookup
// to the end of the body. A visit without a request has none.
func (t *Tracer) Write(ctx context.Context, v *visit.Visit) error {
	times := &v.Timing
	if times.Sent.IsZero() {
		return nil
	}
	begun := times.Begun()
	connected := begun.Add(-times.TLS)
	named := connected.Add(-times.Connect)
	began := named.Add(-times.DNS)
	_, span := t.tracer.Start(ctx, "visit", trace.WithNewRoot(), trace.WithSpanKind(trace.SpanKindClient), trace.WithTimestamp(began), trace.WithAttributes(
		attribute.String("http.request.method", "GET"),
		attribute.String("url.full", visit.Redact(v.Item.URL)),
		attribute.String("server.address", v.Item.URL.Hostname()),
		attribute.Int("http.response.status_code", v.Answer.Status),
		attribute.Int64("http.response.body.size", v.Answer.WireBytes),
		attribute.Int64("headway.job", int64(v.Item.Job)),
		attribute.Int("headway.depth", v.Item.Depth),
		attribute.Int("headway.attempt", v.Item.Attempt),
		attribute.String("headway.outcome", string(v.Outcome)),
		attribute.String("headway.reason", string(v.Reason)),
		attribute.Bool("headway.connection_reused", times.Reused),
	))
	event := func(name string, at time.Time, when bool) {
		if when {
			span.AddEvent(name, trace.WithTimestamp(at))
		}
	}
	event("name looked up", named, times.DNS > 0)
	event("connected", connected, times.Connect > 0)
	event("handshake done", begun, times.TLS > 0)
	event("request sent", times.Sent, true)
	event("first byte", begun.Add(times.FirstByte), times.FirstByte > 0)
	if v.Outcome == visit.Failed || v.Outcome == visit.ServerError {
		span.SetStatus(codes.Error, string(v.Reason))
	}
	span.End(trace.WithTimestamp(times.End()))
	return nil
}

// Committed makes the span of a commit.
func (t *Tracer) Committed(began time.Time, took time.Duration, visits int) {
	_, span := t.tracer.Start(context.Background(), "commit", trace.WithNewRoot(), trace.WithTimestamp(began), trace.WithAttributes(attribute.Int("headway.visits", visits)))
	span.End(trace.WithTimestamp(began.Add(took)))
}

// ReadsLinks implements [output.LinkReader].
func (t *Tracer) ReadsLinks() bool { return false }
