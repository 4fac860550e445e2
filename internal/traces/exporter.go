package traces

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// Bounds of an export.
const (
	exportTimeout = 10 * time.Second
	maxAnswer     = 64 << 10 // bytes read of a response
	warnEvery     = time.Minute
)

// exporter sends spans as OTLP JSON over HTTP. Spans that are not accepted are
// dropped: they are not worth memory, and a crawl must not wait for a collector.
type exporter struct {
	url    string
	client *http.Client
	log    *slog.Logger

	warned  time.Time // the SDK exports one batch at a time
	dropped int
}

// ExportSpans implements [sdk.SpanExporter]. It returns no error, which the SDK
// would print.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	err := e.send(ctx, spans)
	if err == nil {
		return nil
	}
	e.dropped += len(spans)
	if time.Since(e.warned) >= warnEvery {
		e.log.Warn("cannot export spans, dropping them", "err", err, "dropped", e.dropped)
		e.warned, e.dropped = time.Now(), 0
	}
	return nil
}

// Shutdown implements [sdk.SpanExporter].
func (e *exporter) Shutdown(context.Context) error {
	e.client.CloseIdleConnections()
	return nil
}

func (e *exporter) send(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	body, err := encode(spans)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := e.client.Do(req)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, io.LimitReader(res.Body, maxAnswer))
	if res.StatusCode != http.StatusOK {
		err = fmt.Errorf("it answered %s", res.Status)
	}
	return errors.Join(err, res.Body.Close())
}

// The parts of OTLP messages that are used.
type (
	message struct {
		ResourceSpans []resourceSpans `json:"resourceSpans"`
	}
	resourceSpans struct {
		Resource   attributes   `json:"resource"`
		ScopeSpans []scopeSpans `json:"scopeSpans"`
	}
	attributes struct {
		Attributes []keyValue `json:"attributes"`
	}
	scopeSpans struct {
		Scope scope  `json:"scope"`
		Spans []span `json:"spans"`
	}
	scope struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	span struct {
		TraceID    string     `json:"traceId"`
		SpanID     string     `json:"spanId"`
		Name       string     `json:"name"`
		Kind       int        `json:"kind"`
		Start      string     `json:"startTimeUnixNano"`
		End        string     `json:"endTimeUnixNano"`
		Attributes []keyValue `json:"attributes"`
		Events     []event    `json:"events,omitempty"`
		Status     status     `json:"status"`
	}
	event struct {
		Time string `json:"timeUnixNano"`
		Name string `json:"name"`
	}
	status struct {
		Code    int    `json:"code,omitempty"`
		Message string `json:"message,omitempty"`
	}
	keyValue struct {
		Key   string `json:"key"`
		Value value  `json:"value"`
	}
	value struct {
		String *string `json:"stringValue,omitempty"`
		Int    *string `json:"intValue,omitempty"` // 64 bits are text in this JSON
		Bool   *bool   `json:"boolValue,omitempty"`
	}
)

// statusError is the OTLP number of [codes.Error].
const statusError = 2

// encode writes a message of spans, all of one resource and one scope.
func encode(spans []sdk.ReadOnlySpan) ([]byte, error) {
	if len(spans) == 0 {
		return nil, errors.New("no spans")
	}
	list := make([]span, len(spans))
	for i, s := range spans {
		list[i] = span{
			TraceID: s.SpanContext().TraceID().String(), SpanID: s.SpanContext().SpanID().String(), Name: s.Name(), Kind: int(s.SpanKind()),
			Start: nanos(s.StartTime()), End: nanos(s.EndTime()), Attributes: keyValues(s.Attributes()),
		}
		for _, e := range s.Events() {
			list[i].Events = append(list[i].Events, event{nanos(e.Time), e.Name})
		}
		if s.Status().Code == codes.Error {
			list[i].Status = status{statusError, s.Status().Description}
		}
	}
	by := spans[0].InstrumentationScope()
	return json.Marshal(message{[]resourceSpans{{
		Resource:   attributes{keyValues(spans[0].Resource().Attributes())},
		ScopeSpans: []scopeSpans{{scope{by.Name, by.Version}, list}},
	}}})
}

func nanos(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

func keyValues(list []attribute.KeyValue) []keyValue {
	out := make([]keyValue, len(list))
	for i, a := range list {
		out[i].Key = string(a.Key)
		switch a.Value.Type() {
		case attribute.INT64:
			out[i].Value.Int = new(strconv.FormatInt(a.Value.AsInt64(), 10))
		case attribute.BOOL:
			out[i].Value.Bool = new(a.Value.AsBool())
		default:
			out[i].Value.String = new(a.Value.String())
		}
	}
	return out
}
