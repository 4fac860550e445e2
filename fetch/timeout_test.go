package fetch

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"headway/fetch/guard"
)

// drip writes one piece after the other, with a pause before each.
func drip(c net.Conn, pause time.Duration, pieces ...string) {
	for _, piece := range pieces {
		time.Sleep(pause) // virtual time
		if _, err := io.WriteString(c, piece); err != nil {
			return
		}
	}
}

// TestTimeouts tests every timeout, in virtual time and to the instant.
func TestTimeouts(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"
	hang := func(net.Conn) { time.Sleep(time.Hour) } // virtual time
	tests := []struct {
		name   string
		url    string
		req    Request
		serve  func(net.Conn) // after the request was read, unless raw
		raw    bool
		phase  Phase
		took   time.Duration
		reason Reason
	}{
		{name: "handshake hangs", url: "https://site.test/", raw: true, serve: hang, phase: PhaseTLS, took: 10 * time.Second, reason: Timeout},
		{name: "request is not read", raw: true, serve: hang, phase: PhaseHeader, took: 30 * time.Second, reason: Timeout},
		{name: "no answer", serve: hang, phase: PhaseHeader, took: 30 * time.Second, reason: Timeout},
		{name: "header drips", serve: func(c net.Conn) {
			drip(c, time.Second, strings.Split("HTTP/1.1 200 OK\r\nX-Long: "+strings.Repeat("x", 100), "")...)
		}, phase: PhaseHeader, took: 30 * time.Second, reason: Timeout},
		{name: "endless interim answers", serve: func(c net.Conn) {
			for {
				drip(c, time.Second, "HTTP/1.1 102 Processing\r\n\r\n")
				if _, err := c.Write(nil); err != nil {
					return
				}
			}
		}, phase: PhaseHeader, took: 30 * time.Second, reason: Timeout},
		{name: "body hangs", serve: func(c net.Conn) {
			drip(c, 0, head)
			hang(c)
		}, phase: PhaseBody, took: 10 * time.Second, reason: Timeout},
		{name: "body hangs after a fast start", serve: func(c net.Conn) {
			drip(c, 0, head, strings.Repeat("x", 500_000))
			hang(c)
		}, phase: PhaseBody, took: 15 * time.Second, reason: Timeout},
		{name: "body drips a byte a second", serve: func(c net.Conn) {
			drip(c, 0, head)
			drip(c, time.Second, strings.Split(strings.Repeat("x", 100), "")...)
		}, phase: PhaseBody, took: 10 * time.Second, reason: Timeout},
		{name: "body below the least rate after a fast start", serve: func(c net.Conn) {
			drip(c, 0, head, strings.Repeat("x", 20<<10)) // enough for 20 s
			drip(c, time.Second, strings.Split(strings.Repeat("x", 100), "")...)
		}, phase: PhaseBody, took: 20*time.Second + 20*time.Second/1024, reason: Timeout},
		{name: "body just above the least rate ends with the total", serve: func(c net.Conn) {
			drip(c, 0, head)
			for range 100 {
				drip(c, time.Second, strings.Repeat("x", 1200))
			}
		}, phase: PhaseBody, took: 60 * time.Second, reason: Timeout},
		{name: "slow but within everything", serve: func(c net.Conn) {
			time.Sleep(29 * time.Second) // virtual time
			drip(c, 0, "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n")
			drip(c, 4*time.Second, "0123456789", "0123456789")
		}, took: 37 * time.Second},
		{name: "the request's own total", req: Request{Timeout: 5 * time.Second}, serve: hang, phase: PhaseHeader, took: 5 * time.Second, reason: Timeout},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, p := newPiped(t, Config{}, func(c net.Conn) {
					if !tt.raw {
						if _, err := http.ReadRequest(bufio.NewReader(c)); err != nil {
							return
						}
					}
					tt.serve(c)
				})
				tt.req.URL = parseURL(t, "http://site.test/")
				if tt.url != "" {
					tt.req.URL = parseURL(t, tt.url)
				}
				start := time.Now()
				r, err := c.Do(t.Context(), tt.req)
				if took := time.Since(start); took.Round(time.Millisecond) != tt.took.Round(time.Millisecond) {
					t.Errorf("took %v, want %v", took, tt.took)
				}
				if reasonOf(err) != tt.reason {
					t.Fatalf("error %v, want reason %q", err, tt.reason)
				}
				if tt.reason == "" {
					r.Close()
					return
				}
				e, _ := errors.AsType[*Error](err)
				if e.Phase != tt.phase || e.Host != "http://site.test" && e.Host != "https://site.test" {
					t.Errorf("phase %q host %q, want %q", e.Phase, e.Host, tt.phase)
				}
				if layer, idle := c.pool.stats(); layer.Use != 0 || idle != 0 {
					t.Errorf("%d connections left, %d idle", layer.Use, idle)
				}
				if p.dialled() != 1 {
					t.Errorf("%d connections for one request", p.dialled())
				}
			})
		})
	}
}

func TestDialTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, err := guard.New(guard.Config{Connect: func(ctx context.Context, _ netip.AddrPort) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}})
		if err != nil {
			t.Fatal(err)
		}
		c, err := New(Config{Dialer: d, Identity: contact})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		_, err = c.Do(t.Context(), Request{URL: parseURL(t, "http://93.184.215.14/")})
		e, ok := errors.AsType[*Error](err)
		if took := time.Since(start); !ok || e.Reason != Timeout || e.Phase != PhaseConnect || took != 10*time.Second {
			t.Errorf("%v after %v, want a timeout after 10s", err, took)
		}
	})
}

// TestCallerStops distinguishes cancellation by the caller from a host failure.
func TestCallerStops(t *testing.T) {
	why := errors.New("page limit")
	for _, phase := range []string{"header", "body"} {
		t.Run(phase, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, _ := newPiped(t, Config{}, func(c net.Conn) {
					http.ReadRequest(bufio.NewReader(c))
					if phase == "body" {
						drip(c, 0, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")
					}
					time.Sleep(time.Hour)
				})
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(time.Second, func() { cancel(why) })
				r, err := c.Do(ctx, Request{URL: parseURL(t, "http://site.test/")})
				if _, ok := errors.AsType[*Error](err); ok || !errors.Is(err, why) {
					t.Errorf("error %v, want the caller's own", err)
				}
				if r.Timing.Sent.IsZero() {
					t.Error("the request was sent, the result does not say so")
				}
			})
		})
	}
}

// TestWaitingForMemoryIsNotTheServersFault makes a server wait longer than every
// timeout.
func TestWaitingForMemoryIsNotTheServersFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 200 << 10
		c, _ := newPiped(t, Config{BodyMemory: 1 << 20, MaxBody: 1 << 20}, say(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", size, strings.Repeat("x", size))))
		other := c.budget.open()
		if err := other.grow(t.Context(), 1<<20-leastBuffer, nil, nil); err != nil {
			t.Fatal(err)
		}
		// Another exchange may exceed the limit, so that we wait.
		express := c.budget.open()
		c.budget.mu.Lock()
		c.budget.express = express
		c.budget.mu.Unlock()
		time.AfterFunc(5*time.Minute, func() {
			express.release()
			other.release()
		})
		start := time.Now()
		r, err := c.Do(t.Context(), Request{URL: parseURL(t, "http://site.test/")})
		if err != nil || len(r.Body) != size {
			t.Errorf("%d bytes, %v", len(r.Body), err)
		}
		if took := time.Since(start); took != 5*time.Minute {
			t.Errorf("took %v", took)
		}
		r.Close()
		if layer := c.budget.layer(); layer.Use != 0 || layer.Waits == 0 || layer.Waited == 0 {
			t.Errorf("layer %+v", layer)
		}
	})
}
