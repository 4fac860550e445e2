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
	// Tries is how often a request is sent when the server asks to come later,
	// unless [Config] says otherwise.
	Tries = 4
	// MaxWait is how long a server is waited for at most before the next try. One
	// that asks for more is not asked again.
	MaxWait = time.Minute

	maxAnswer   = 64 << 20         // bytes of an answer that is read whole
	maxProblem  = 1 << 20          // bytes of a problem
	headTime    = 2 * time.Minute  // until an answer begins
	firstWait   = time.Second      // before the second try, where the server names no time; it doubles
	connections = 16               // idle ones that are kept
	idleTime    = 90 * time.Second // how long they are
)

// Config says how to reach a server.
type Config struct {
	// Server is where it is, such as https://headway.example.com.
	Server string
	// Key is sent with every request, as headway admin key create printed it. A
	// server that asks for none does without.
	Key string
	// HTTP sends the requests, nil for a client of this package's own. It should
	// not have a timeout: streams last. Redirects are not followed whatever it says.
	HTTP *http.Client
	// Tries is how often a request is sent at most when the server asks to come
	// later; zero is [Tries].
	Tries int
}

// Client speaks to one server. Make one with [New].
type Client struct {
	base, key string
	http      *http.Client
	tries     int
}

// New makes a client.
func New(c Config) (*Client, error) {
	u, err := url.Parse(c.Server)
	if err != nil {
		return nil, fmt.Errorf("reading the address of the server: %w", err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("%q is no address of a server, which looks like https://headway.example.com", u.Redacted())
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

// answer sends a request and reads what is answered.
func answer[T any](ctx context.Context, c *Client, r request) (*T, error) {
	body, err := c.stream(ctx, r)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	text, err := io.ReadAll(io.LimitReader(body, maxAnswer+1))
	if err != nil {
		return nil, fmt.Errorf("reading the answer of %s: %w", r, err)
	}
	if len(text) > maxAnswer {
		return nil, fmt.Errorf("the answer of %s has more than %d bytes", r, maxAnswer)
	}
	into := new(T)
	if err := json.Unmarshal(text, into); err != nil {
		return nil, fmt.Errorf("reading the answer of %s: %w", r, err)
	}
	return into, nil
}

// carryOut sends a request whose answer has no body.
func (c *Client) carryOut(ctx context.Context, r request) error {
	body, err := c.stream(ctx, r)
	if err != nil {
		return err
	}
	return body.Close()
}

// stream sends a request, again where the server asks for that, and returns the body
// of a good answer.
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

// later says whether to send a request again, and when. One that was refused for
// coming too often was not carried out; of other answers that is not known.
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
