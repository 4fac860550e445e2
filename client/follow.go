package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Bounds of a stream of events.
const (
	followTries = 10               // consecutive failures before giving up
	followQuiet = time.Minute      // without any data; servers send something every 15 seconds
	followFirst = time.Second      // backoff before reconnecting, unless the server sets it; it doubles
	followLast  = 30 * time.Second // the longest wait
	maxLine     = 1 << 20          // bytes of a line
)

// follow yields events as they happen. After an interruption it reconnects after
// the last event it yielded, or where it began, so that none is missed or repeated. It ends
// with an error: that of ctx, a permanent problem, or the last of
// too many failures in a row.
func follow[T any](ctx context.Context, c *Client, r request) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		f := follower[T]{client: c, request: r, pause: followFirst, yield: yield}
		f.request.header = r.header.Clone() // the iterator may be used again
		f.request.head("Accept", "text/event-stream")
		for failures := 0; ; {
			begun, err := f.connect(ctx)
			switch {
			case errors.Is(err, errEnough):
				return
			case ctx.Err() != nil:
				err = ctx.Err()
			case begun:
				failures = 0
			}
			failures++
			if ctx.Err() != nil || isFinal(err) || failures > followTries {
				var zero T
				yield(zero, err)
				return
			}
			select {
			case <-ctx.Done():
			case <-time.After(min(f.pause<<(failures-1), followLast)):
			}
		}
	}
}

// errEnough says that the caller has stopped reading.
var errEnough = errors.New("iteration stopped")

// isFinal reports whether an error is permanent.
func isFinal(err error) bool {
	p, ok := errors.AsType[*Problem](err)
	return ok && p.Status/100 == 4 && p.Status != http.StatusTooManyRequests && p.Status != http.StatusRequestTimeout || errors.Is(err, errFormat)
}

// errFormat says that the stream contained an invalid event.
var errFormat = errors.New("invalid event")

// follower reads one stream after the other.
type follower[T any] struct {
	client  *Client
	request request
	pause   time.Duration
	yield   func(T, error) bool

	id   string // of the event that is read
	data string
}

// connect reads one stream to its end, and reports whether it had begun.
func (f *follower[T]) connect(ctx context.Context) (begun bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	quiet := time.AfterFunc(followQuiet, func() { cancel(fmt.Errorf("no data from the server for %v", followQuiet)) })
	defer cancel(nil)
	defer quiet.Stop()
	a, err := f.client.send(ctx, f.request)
	if err != nil {
		return false, err
	}
	if a.StatusCode != http.StatusOK {
		return false, readProblem(a)
	}
	defer a.Body.Close()
	lines := bufio.NewScanner(a.Body)
	lines.Buffer(nil, maxLine)
	f.id, f.data = "", ""
	for lines.Scan() {
		quiet.Reset(followQuiet)
		if err := f.line(lines.Text()); err != nil {
			return true, err
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return true, fmt.Errorf("%w: a line of more than %d bytes", errFormat, maxLine)
	case err != nil && context.Cause(ctx) != nil:
		return true, context.Cause(ctx)
	case err != nil:
		return true, fmt.Errorf("reading events: %w", err)
	}
	return true, io.ErrUnexpectedEOF
}

// line reads one line of a stream. A truncated event is
// discarded: it is sent again.
func (f *follower[T]) line(text string) error {
	if text == "" {
		return f.dispatch()
	}
	name, value, _ := strings.Cut(text, ":")
	value = strings.TrimPrefix(value, " ")
	switch name {
	case "id":
		f.id = value
	case "data":
		f.data += value
	case "retry":
		if ms, err := strconv.ParseUint(value, 10, 31); err == nil {
			f.pause = min(time.Duration(ms)*time.Millisecond, followLast)
		}
	}
	return nil
}

// dispatch yields the event that was read, if it was one.
func (f *follower[T]) dispatch() error {
	data, id := f.data, f.id
	f.data, f.id = "", ""
	if data == "" { // the start of the stream: where to reconnect before any event
		f.request.head("Last-Event-ID", id)
		return nil
	}
	var event T
	if err := json.Unmarshal([]byte(data), &event); err != nil {
		return fmt.Errorf("%w: %w", errFormat, err)
	}
	f.request.head("Last-Event-ID", id)
	if !f.yield(event, nil) {
		return errEnough
	}
	return nil
}
