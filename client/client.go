package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Bounds of a client.
const (
	// Tries is how often a request is sent at most when the server asks to retry,
	// unless [Config] says otherwise.
	Tries = 4
	// MaxWait is the longest wait before a retry. If the
	// server asks for more, the request is not retried.
	MaxWait = time.Minute

	maxAnswer   = 64 << 20         // bytes of a response body
	maxProblem  = 1 << 20          // bytes of a problem
	headTime    = 2 * time.Minute  // until a response begins
	firstWait   = time.Second      // backoff before the first retry without Retry-After; it doubles
	connections = 16               // idle connections kept open
	idleTime    = 90 * time.Second // how long they are kept
)

// Config says how to reach a server.
type Config struct {
	// Server is the base URL, such as https://headway.example.com.
	Server string
	// Key is the API key as printed by headway admin key create. It may be empty
	// for a server that runs without keys.
	Key string
	// HTTP sends the requests; nil for a default client. It should
	// not have a timeout, because streams are long. Redirects are never followed.
	HTTP *http.Client
	// Tries is how often a request is sent at most when the server asks to retry;
	// zero means [Tries].
	Tries int
}

// Client sends requests to one server. Make one with [New].
type Client struct {
	base, key string
	http      *http.Client
	tries     int
}

// New makes a client.
func New(c Config) (*Client, error) {
	u, err := url.Parse(c.Server)
	if err != nil {
		return nil, fmt.Errorf("invalid server URL: %w", err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("invalid server URL %q: use a URL such as https://headway.example.com", u.Redacted())
	}
	own := &http.Client{Transport: &http.Transport{
		Proxy: http.ProxyFromEnvironment, ResponseHeaderTimeout: headTime, ForceAttemptHTTP2: true,
		MaxIdleConnsPerHost: connections, IdleConnTimeout: idleTime,
	}}
	if c.HTTP != nil {
		*own = *c.HTTP
	}
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{base: strings.TrimSuffix(c.Server, "/"), key: strings.TrimSpace(c.Key), http: own, tries: cmp.Or(c.Tries, Tries)}, nil
}

// answer sends a request and decodes the response.
func answer[T any](ctx context.Context, c *Client, r request) (*T, error) {
	body, err := c.stream(ctx, r)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	text, err := io.ReadAll(io.LimitReader(body, maxAnswer+1))
	if err != nil {
		return nil, fmt.Errorf("reading the response to %s: %w", r, err)
	}
	if len(text) > maxAnswer {
		return nil, fmt.Errorf("the response to %s has more than %d bytes", r, maxAnswer)
	}
	into := new(T)
	if err := json.Unmarshal(text, into); err != nil {
		return nil, fmt.Errorf("reading the response to %s: %w", r, err)
	}
	return into, nil
}

// carryOut sends a request whose response has no body.
func (c *Client) carryOut(ctx context.Context, r request) error {
	body, err := c.stream(ctx, r)
	if err != nil {
		return err
	}
	return body.Close()
}

// stream sends a request, with retries if the server asks for them, and returns the body
// of a successful response.
func (c *Client) stream(ctx context.Context, r request) (io.ReadCloser, error) {
	for try := 1; ; try++ {
		a, err := c.send(ctx, r)
		if err != nil {
			return nil, err
		}
		if a.StatusCode/100 == 2 {
			return a.Body, nil
		}
		problem := readProblem(a)
		wait, ok := later(a, r, try)
		if !ok || try >= c.tries {
			return nil, problem
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), problem)
		case <-time.After(wait):
		}
	}
}

// send sends a request once.
func (c *Client) send(ctx context.Context, r request) (*http.Response, error) {
	q, err := r.make(ctx, c.base)
	if err != nil {
		return nil, err
	}
	if c.key != "" {
		q.Header.Set("Authorization", "Bearer "+c.key)
	}
	return c.http.Do(q)
}

// later reports whether to retry a request, and when. A request refused by the rate
// limit was not carried out; for other responses that is not known.
func later(a *http.Response, r request, try int) (time.Duration, bool) {
	if a.StatusCode != http.StatusTooManyRequests && (a.StatusCode != http.StatusServiceUnavailable || !r.repeatable()) {
		return 0, false
	}
	wait := firstWait << (try - 1)
	if text := a.Header.Get("Retry-After"); text != "" {
		if seconds, err := time.ParseDuration(text + "s"); err == nil {
			wait = seconds
		} else if at, err := http.ParseTime(text); err == nil {
			wait = time.Until(at)
		}
	}
	return max(wait, 0), wait <= MaxWait
}
