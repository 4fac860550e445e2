package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
)

// onceHeader makes a request that creates something safe to retry.
const onceHeader = "Idempotency-Key"

// request is what an operation sends.
type request struct {
	method, path string
	query        url.Values
	header       http.Header
	body         any
}

// String names a request.
func (r request) String() string { return r.method + " " + r.path }

// text adds a parameter unless it is empty.
func (r *request) text(name, value string) {
	if value != "" {
		if r.query == nil {
			r.query = url.Values{}
		}
		r.query.Set(name, value)
	}
}

// number adds a parameter unless it is zero.
func (r *request) number(name string, n int64) {
	if n != 0 {
		r.text(name, strconv.FormatInt(n, 10))
	}
}

// head adds a header unless it is empty.
func (r *request) head(name, value string) {
	if value != "" {
		if r.header == nil {
			r.header = http.Header{}
		}
		r.header.Set(name, value)
	}
}

// once makes a request safe to retry: with the caller's idempotency key, or a new one.
func (r *request) once(key string) {
	if key == "" {
		key = rand.Text()
	}
	r.head(onceHeader, key)
}

// repeatable reports whether a request is safe to retry.
func (r *request) repeatable() bool {
	return r.method == http.MethodGet || r.method == http.MethodDelete || r.header.Get(onceHeader) != ""
}

// make makes the request that is sent.
func (r *request) make(ctx context.Context, base string) (*http.Request, error) {
	var body io.Reader
	if r.body != nil {
		text, err := json.Marshal(r.body)
		if err != nil {
			return nil, fmt.Errorf("writing the body of %s: %w", r, err)
		}
		body = bytes.NewReader(text)
	}
	address := base + r.path
	if len(r.query) > 0 {
		address += "?" + r.query.Encode()
	}
	q, err := http.NewRequestWithContext(ctx, r.method, address, body)
	if err != nil {
		return nil, fmt.Errorf("making %s: %w", r, err)
	}
	for name, values := range r.header {
		q.Header[name] = values
	}
	if r.body != nil {
		q.Header.Set("Content-Type", "application/json")
	}
	return q, nil
}
