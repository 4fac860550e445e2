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
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"headway/fetch/guard"
	"headway/internal/race"
	"headway/weburl"
)

// TestRequestIsNotResentOnStaleConnection closes a kept-alive connection when the second
// request arrives on it: the server has seen that request, so it must not be resent.
func TestRequestIsNotResentOnStaleConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var requests atomic.Int64
		c, p := newPiped(t, Config{}, func(c net.Conn) {
			r := bufio.NewReader(c)
			for i := range 2 {
				if _, err := http.ReadRequest(r); err != nil {
					return
				}
				requests.Add(1)
				if i == 0 {
					io.WriteString(c, response("", []byte("hello")))
				}
			}
		})
		if _, err := get(t, c, "http://site.test/"); err != nil {
			t.Fatal(err)
		}
		_, err := get(t, c, "http://site.test/")
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Reason != Connect || !e.Stale {
			t.Errorf("error %v, want a stale connection", err)
		}
		if requests.Load() != 2 || p.dialled() != 1 {
			t.Errorf("%d requests on %d connections, want 2 on 1", requests.Load(), p.dialled())
		}
		if s := c.Stats(); s.Requests != 2 || s.Stale != 1 || s.Reused != 1 || s.Failures != 1 || s.Answers != 1 {
			t.Errorf("stats %+v", s)
		}
	})
}

// TestDeadConnectionIsReplaced lets the server close an idle connection: nothing is
// sent on it, and the next request gets a new one.
func TestDeadConnectionIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p := newPiped(t, Config{}, once(response("", []byte("hello"))))
		for i := range 3 {
			if _, err := get(t, c, "http://site.test/"); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if layer, idle := c.pool.stats(); layer.Use != 0 || idle != 0 {
				t.Errorf("after %d: %d connections, %d idle, all closed by the server", i, layer.Use, idle)
			}
		}
		if p.dialled() != 3 {
			t.Errorf("%d connections, want 3", p.dialled())
		}
	})
}

func TestIdleConnectionsExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p := newPiped(t, Config{KeepAlive: 10 * time.Second}, say(response("", []byte("hello"))))
		for range 3 {
			if _, err := get(t, c, "http://site.test/"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(9 * time.Second)
		}
		if _, idle := c.pool.stats(); idle != 1 || p.dialled() != 1 {
			t.Errorf("%d idle of %d, want one kept in use", idle, p.dialled())
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if layer, idle := c.pool.stats(); layer.Use != 0 || idle != 0 || len(c.pool.hosts) != 0 {
			t.Errorf("%d open, %d idle, %d hosts after the end of keeping", layer.Use, idle, len(c.pool.hosts))
		}
	})
}

// TestTenThousandHosts fetches from more hosts than there are descriptors. The limit
// always holds, and no host waits because of an idle connection.
func TestTenThousandHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const workers, limit = 512, 600
		hosts := 10_000
		if race.Short() {
			hosts = 2000 // enough to exceed the limit; the race detector is ten times slower
		}
		var open, most atomic.Int64
		c, p := newPiped(t, Config{MaxConns: limit}, say(response("", []byte("hello"))))
		connect := p.connect
		d, err := guard.New(guard.Config{
			Lookup: func(context.Context, string) (guard.Answer, error) {
				return guard.Answer{Addrs: []netip.Addr{netip.MustParseAddr("93.184.215.14")}, TTL: time.Hour}, nil
			},
			Connect: func(ctx context.Context, a netip.AddrPort) (net.Conn, error) {
				n := open.Add(1)
				for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
				}
				time.Sleep(time.Millisecond)
				conn, err := connect(ctx, a)
				return &closing{Conn: conn, closed: func() { open.Add(-1) }}, err
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		c.cfg.Dialer = d
		c.pool.transport = newTransport(c.cfg)
		next := make(chan int)
		var wg sync.WaitGroup
		for range workers {
			wg.Go(func() {
				for i := range next {
					r, err := c.Do(t.Context(), Request{URL: mustURL(fmt.Sprintf("http://h%d.test/", i))})
					if err != nil {
						t.Error(err)
						return
					}
					r.Close()
				}
			})
		}
		for i := range hosts {
			next <- i
		}
		close(next)
		wg.Wait()
		layer, _ := c.pool.stats()
		if layer.Use > limit || len(c.pool.hosts) > limit {
			t.Errorf("%d open connections, %d hosts remembered, want at most %d", layer.Use, len(c.pool.hosts), limit)
		}
		if most.Load() > limit {
			t.Errorf("%d connections at once, want at most %d", most.Load(), limit)
		}
		t.Logf("at most %d connections for %d hosts", most.Load(), hosts)
	})
}

// closing signals when it is closed.
type closing struct {
	net.Conn
	once   sync.Once
	closed func()
}

func (c *closing) Close() error {
	c.once.Do(c.closed)
	return c.Conn.Close()
}

func mustURL(raw string) weburl.URL {
	u, err := weburl.Parse(raw)
	if err != nil {
		panic(err)
	}
	return u
}

// TestConnectionsPerHost sends many requests to one host with few connections.
func TestConnectionsPerHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p := newPiped(t, Config{MaxConnsPerHost: 3}, func(c net.Conn) {
			r := bufio.NewReader(c)
			for {
				if _, err := http.ReadRequest(r); err != nil {
					return
				}
				time.Sleep(time.Second)
				io.WriteString(c, response("", []byte("hello")))
			}
		})
		start := time.Now()
		var wg sync.WaitGroup
		for range 12 {
			wg.Go(func() {
				r, err := c.Do(t.Context(), Request{URL: mustURL("http://site.test/")})
				if err != nil {
					t.Error(err)
					return
				}
				r.Close()
			})
		}
		synctest.Wait()
		if layer, _ := c.pool.stats(); layer.Use != 3 || layer.Waiting != 9 {
			t.Errorf("layer %+v, want 3 in use and 9 waiting", layer)
		}
		// A waiting exchange can be cancelled; another host is not delayed.
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := c.Do(ctx, Request{URL: mustURL("http://site.test/")}); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		wg.Wait()
		if took := time.Since(start); took != 4*time.Second || p.dialled() != 3 {
			t.Errorf("12 requests took %v on %d connections, want 4s on 3", took, p.dialled())
		}
	})
}

// TestMoreExchangesThanConnections has more exchanges than connections, all over
// different hosts.
func TestMoreExchangesThanConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := newPiped(t, Config{MaxConns: 2}, func(c net.Conn) {
			r := bufio.NewReader(c)
			for {
				if _, err := http.ReadRequest(r); err != nil {
					return
				}
				time.Sleep(time.Second)
				io.WriteString(c, response("", []byte("hello")))
			}
		})
		var wg sync.WaitGroup
		for i := range 10 {
			wg.Go(func() {
				r, err := c.Do(t.Context(), Request{URL: mustURL(fmt.Sprintf("http://h%d.test/", i))})
				if err != nil {
					t.Error(err)
					return
				}
				r.Close()
			})
		}
		wg.Wait()
		if layer, _ := c.pool.stats(); layer.Use > 2 || layer.Waiting != 0 || layer.Waits == 0 {
			t.Errorf("layer %+v", layer)
		}
	})
}

// TestSentHook checks that Sent is called before the response arrives.
func TestSentHook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := make(chan time.Time, 2)
		c, _ := newPiped(t, Config{}, func(c net.Conn) {
			if _, err := http.ReadRequest(bufio.NewReader(c)); err != nil {
				return
			}
			time.Sleep(time.Second)
			if len(told) != 1 {
				t.Errorf("Sent called %d times before the response", len(told))
			}
			io.WriteString(c, response("", []byte("late")))
		})
		r, err := do(t, c, Request{URL: mustURL("http://site.test/"), Sent: func(at time.Time) { told <- at }})
		if err != nil {
			t.Fatal(err)
		}
		if at := <-told; len(told) != 0 || !at.Equal(r.Timing.Sent) {
			t.Errorf("Sent called with %v, the request was sent at %v", at, r.Timing.Sent)
		}
	})
}

// TestBeforeSend stops a request at the last moment; the connection is kept.
func TestBeforeSend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fenced := errors.New("lease lost")
		var requests atomic.Int64
		c, p := newPiped(t, Config{}, func(c net.Conn) {
			r := bufio.NewReader(c)
			for {
				if _, err := http.ReadRequest(r); err != nil {
					return
				}
				requests.Add(1)
				io.WriteString(c, response("", []byte("hello")))
			}
		})
		r, err := do(t, c, Request{URL: mustURL("http://site.test/"), BeforeSend: func() error { return fenced }})
		if !errors.Is(err, fenced) || !r.Timing.Sent.IsZero() || requests.Load() != 0 {
			t.Errorf("%v, sent %v, %d requests", err, r.Timing.Sent, requests.Load())
		}
		if _, err := do(t, c, Request{URL: mustURL("http://site.test/"), BeforeSend: func() error { return nil }}); err != nil {
			t.Error(err)
		}
		if requests.Load() != 1 || p.dialled() != 1 {
			t.Errorf("%d requests on %d connections, want 1 on 1", requests.Load(), p.dialled())
		}
	})
}

// TestBeforeFirstByte stops a request already passed to its connection, before its
// first byte is written.
func TestBeforeFirstByte(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fenced := errors.New("lease lost")
		var requests, asked atomic.Int64
		c, _ := newPiped(t, Config{}, func(c net.Conn) {
			if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
				requests.Add(1)
				io.WriteString(c, response("", []byte("hello")))
			}
		})
		r, err := do(t, c, Request{URL: mustURL("http://site.test/"), BeforeSend: func() error {
			if asked.Add(1) > 1 {
				return fenced
			}
			return nil
		}})
		synctest.Wait()
		if !errors.Is(err, fenced) || !r.Timing.Sent.IsZero() || requests.Load() != 0 || asked.Load() != 2 {
			t.Errorf("%v, sent %v, %d requests, asked %d times", err, r.Timing.Sent, requests.Load(), asked.Load())
		}
		asked.Store(-100)
		if _, err := do(t, c, Request{URL: mustURL("http://site.test/"), BeforeSend: func() error { asked.Add(1); return nil }}); err != nil || asked.Load() != -98 {
			t.Errorf("%v, asked %d times, want twice", err, asked.Load()+100)
		}
	})
}

// TestNothingIsSentAfterCancel: nothing is sent on a kept-alive connection after the
// caller cancelled.
func TestNothingIsSentAfterCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var requests atomic.Int64
		c, _ := newPiped(t, Config{}, func(c net.Conn) {
			r := bufio.NewReader(c)
			for {
				if _, err := http.ReadRequest(r); err != nil {
					return
				}
				requests.Add(1)
				io.WriteString(c, response("", []byte("hello")))
			}
		})
		if _, err := get(t, c, "http://site.test/"); err != nil {
			t.Fatal(err)
		}
		why := errors.New("lease lost")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(why)
		for range 100 {
			r, err := c.Do(ctx, Request{URL: mustURL("http://site.test/")})
			if !errors.Is(err, why) || !r.Timing.Sent.IsZero() {
				t.Fatalf("error %v, sent %v", err, r.Timing.Sent)
			}
		}
		synctest.Wait()
		if requests.Load() != 1 {
			t.Errorf("%d requests, want 1", requests.Load())
		}
	})
}

// TestSentIsNeverEarly compares Sent with the time the server receives the request.
func TestSentIsNeverEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var arrived time.Time
		c, _ := newPiped(t, Config{}, func(c net.Conn) {
			time.Sleep(3 * time.Second) // the request cannot be sent before it is read
			http.ReadRequest(bufio.NewReader(c))
			arrived = time.Now()
			time.Sleep(2 * time.Second)
			io.WriteString(c, response("", []byte("hello")))
		})
		r, err := get(t, c, "http://site.test/")
		if err != nil {
			t.Fatal(err)
		}
		if r.Timing.Sent.Before(arrived) {
			t.Errorf("sent %v, arrived %v", r.Timing.Sent, arrived)
		}
		if r.Timing.Send != 3*time.Second || r.Timing.FirstByte != 5*time.Second || r.Timing.Total != 5*time.Second {
			t.Errorf("timing %+v", r.Timing)
		}
	})
}

// lateWriter is a connection whose writes return long after the bytes were sent, as on
// a busy machine.
type lateWriter struct {
	net.Conn
	late time.Duration
}

func (c lateWriter) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	time.Sleep(c.late) // virtual time
	return n, err
}

// TestTimings measures exchanges, including some whose response arrives before the
// write returns: times count from the start of the writing.
func TestTimings(t *testing.T) {
	for _, late := range []time.Duration{0, 500 * time.Millisecond, 1500 * time.Millisecond} {
		t.Run(late.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, p := newPiped(t, Config{}, func(c net.Conn) {
					if _, err := http.ReadRequest(bufio.NewReader(c)); err != nil {
						return
					}
					time.Sleep(time.Second)
					io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
					time.Sleep(time.Second)
					io.WriteString(c, "hello")
				})
				p.wrap = func(c net.Conn) net.Conn { return lateWriter{c, late} }
				began := time.Now()
				r, err := get(t, c, "http://site.test/")
				if err != nil {
					t.Fatal(err)
				}
				defer time.Sleep(late) // until the writer is done
				// The reported time is never early, and never after the response.
				if send := min(late, time.Second); r.Timing.Send != send || !r.Timing.Sent.Equal(began.Add(send)) {
					t.Errorf("sent %v after the beginning, send %v, want %v", r.Timing.Sent.Sub(began), r.Timing.Send, send)
				}
				if r.Timing.FirstByte != time.Second || r.Timing.Total != 2*time.Second {
					t.Errorf("first byte %v, total %v", r.Timing.FirstByte, r.Timing.Total)
				}
			})
		})
	}
}
