// Package traces sends traces to an OpenTelemetry collector: a span for each visit,
// with its phases as events, and one for each commit.
//
// A [Tracer] is an output: it gets visits after their commit, as a file does, and
// makes spans of the recorded times. So tracing delays no request, and no request
// carries a trace header.
//
// Promises: nothing is sent unless a collector is configured, and only to that
// collector, through the one guarded dialler; nothing waits for a collector: spans it
// does not accept in time are dropped, with a warning. URLs are redacted as in logs.
// OTEL_TRACES_SAMPLER and its argument set the share of visits that are traced. It
// sets no global tracer.
package traces
