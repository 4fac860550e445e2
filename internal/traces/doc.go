// Package traces tells a collector of OpenTelemetry what a worker does: a span for
// each visit, with its phases as events, and one for each commit.
//
// It fits behind the journey, beside the outputs: a [Tracer] is given visits after
// their commit, as a file is, and makes spans of what was recorded. So nothing of
// it lies on the way of a request, and no request carries a header for it.
//
// It promises to send nothing unless a collector was named, to send it only there,
// through the one guarded dialler, and to keep nobody waiting: what a collector
// does not take in time is dropped, with a warning. URLs are redacted as in logs.
// How many visits are traced is said by OTEL_TRACES_SAMPLER and its argument. It
// refuses to be the process's own tracer: nothing global is set.
package traces
