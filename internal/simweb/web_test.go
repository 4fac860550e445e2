package simweb_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"headway/internal/simweb"
	"headway/lab"
	"headway/lab/temper"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// small is a site whose pages are as cheap as possible: only the profile is simulated.
func small(pages int) lab.Site { return lab.Site{Pages: pages, MinKB: 1, MaxKB: 1, Robots: "open"} }

// hostWith is a host with the given rules.
func hostWith(name string, rules temper.Rules) lab.HostSpec {
	return lab.HostSpec{Name: name, Temper: lab.Temper{Site: small(100), Rules: rules}}
}

// newWeb creates a web that ends with the bubble of t.
func newWeb(t *testing.T, hosts ...lab.HostSpec) *simweb.Web {
	t.Helper()
	w, err := simweb.New(lab.Config{Hosts: hosts})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

// newClient uses a new connection for each request: net/http would resend a request by
// itself when a kept connection breaks, without a decision of ours.
func newClient(w *simweb.Web) *http.Client {
	return &http.Client{Transport: &http.Transport{
		DialContext: w.DialContext, DisableKeepAlives: true, DisableCompression: true,
	}}
}

// get requests a URL and returns its status and header.
func get(ctx context.Context, c *http.Client, url string) (int, http.Header, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, nil, err
	}
	resp, err := c.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, resp.Header, err
}

func TestServesTheLabInVirtualTime(t *testing.T) {
	wall := time.Now()
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(t,
			hostWith("slow.example", temper.Rules{Latency: temper.Constant(time.Hour)}),
			hostWith("shop.example", temper.Rules{Limits: []temper.Limit{{Rate: 1, Burst: 1}}}))
		c, begin := newClient(w), time.Now()

		status, _, err := get(t.Context(), c, "http://slow.example/")
		if err != nil || status != http.StatusOK || time.Since(begin) != time.Hour {
			t.Errorf("slow.example: %d %v after %v", status, err, time.Since(begin))
		}
		for i, want := range []int{200, 429, 429} {
			status, header, err := get(t.Context(), c, "http://shop.example/")
			if err != nil || status != want {
				t.Errorf("shop.example, request %d: %d %v, want %d", i, status, err, want)
			}
			if want == 429 && header.Get("Retry-After") != "1" {
				t.Errorf("shop.example, request %d: Retry-After %q", i, header.Get("Retry-After"))
			}
		}
		shop := w.Host("shop.example")
		if shop.Requests != 3 || shop.Refusals != 2 || shop.InsideRetryAfter != 1 || shop.MinGapMS != 0 || shop.MaxConcurrent != 1 {
			t.Errorf("shop.example counted %+v", shop)
		}
		if st := w.Stats(); st.Total.Requests != 4 {
			t.Errorf("%d requests in all, want 4", st.Total.Requests)
		}
		log := w.Log()
		if len(log) != 4 || log[0].Host != "slow.example" || !log[0].Start.Equal(begin) || log[0].Answer.Sub(begin) != time.Hour || log[3].Status != 429 {
			t.Errorf("log %+v", log)
		}
		if h := w.Host("elsewhere.example"); h != (lab.HostStats{}) {
			t.Errorf("a host without requests counted %+v", h)
		}
	})
	if took := time.Since(wall); took > time.Minute {
		t.Errorf("an hour took %v", took)
	}
}

func TestConcurrentRequestsAreUnderWayTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(t, hostWith("a.example", temper.Rules{Latency: temper.Constant(time.Second)}))
		c, begin := newClient(w), time.Now()
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if status, _, err := get(t.Context(), c, "http://a.example/"); err != nil || status != 200 {
					t.Errorf("%d %v", status, err)
				}
			})
		}
		wg.Wait()
		if got := w.Host("a.example").MaxConcurrent; got != 8 || time.Since(begin) != time.Second {
			t.Errorf("%d at once for %v", got, time.Since(begin))
		}
	})
}

func TestResetReachesTheClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(t, hostWith("a.example", temper.Rules{Outages: []temper.Outage{{Action: temper.Reset}}}))
		_, _, err := get(t.Context(), newClient(w), "http://a.example/")
		if !errors.Is(err, io.EOF) {
			t.Errorf("got %v, want EOF", err)
		}
		if h := w.Host("a.example"); h.Requests != 1 || h.Unanswered != 1 {
			t.Errorf("counted %+v: the client must not send it twice", h)
		}
	})
}

func TestDial(t *testing.T) {
	for _, tt := range []struct {
		name, addr string
		network    simweb.Network
		check      func(err error, after time.Duration) bool
	}{
		{"by name", "a.example:80", simweb.Up, func(err error, _ time.Duration) bool { return err == nil }},
		{"by address", "127.1.0.1:80", simweb.Up, func(err error, _ time.Duration) bool { return err == nil }},
		{"mapped address", "[::ffff:127.1.0.1]:80", simweb.Up, func(err error, _ time.Duration) bool { return err == nil }},
		{"unknown name", "b.example:80", simweb.Up, func(err error, _ time.Duration) bool {
			dns, ok := errors.AsType[*net.DNSError](err)
			return ok && dns.IsNotFound
		}},
		{"unknown address", "127.1.0.2:80", simweb.Up, is(syscall.ECONNREFUSED)},
		{"another port", "a.example:8080", simweb.Up, is(syscall.ECONNREFUSED)},
		{"no port", "a.example", simweb.Up, func(err error, _ time.Duration) bool { return err != nil }},
		{"no route", "a.example:80", simweb.NoRoute, is(syscall.ENETUNREACH)},
		{"silence", "a.example:80", simweb.Silent, func(err error, after time.Duration) bool {
			return errors.Is(err, context.DeadlineExceeded) && after == 10*time.Second
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWeb(t, hostWith("a.example", temper.Rules{}))
				w.SetNetwork(tt.network)
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				begin := time.Now()
				conn, err := w.DialContext(ctx, "tcp", tt.addr)
				if !tt.check(err, time.Since(begin)) {
					t.Errorf("got %v after %v", err, time.Since(begin))
				}
				if err == nil {
					conn.Close()
				} else if op, ok := errors.AsType[*net.OpError](err); !ok || op.Op != "dial" {
					t.Errorf("%v is not the error of a dial", err)
				}
			})
		})
	}
}

func is(want error) func(error, time.Duration) bool {
	return func(err error, after time.Duration) bool { return errors.Is(err, want) && after == 0 }
}

// TestCloseUnderWay closes a web while a request waits for its response and another for a
// silent network: both must end, or the bubble cannot.
func TestCloseUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(t, hostWith("a.example", temper.Rules{Latency: temper.Constant(time.Hour)}))
		c, begin := newClient(w), time.Now()
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, _, err := get(t.Context(), c, "http://a.example/"); err == nil {
				t.Error("a request survived the web")
			}
		})
		synctest.Wait()
		w.SetNetwork(simweb.Silent)
		wg.Go(func() {
			if _, _, err := get(t.Context(), c, "http://a.example/"); !errors.Is(err, syscall.ECONNABORTED) {
				t.Errorf("got %v", err)
			}
		})
		synctest.Wait()
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		wg.Wait()
		w.SetNetwork(simweb.Up)
		if _, err := w.DialContext(t.Context(), "tcp", "a.example:80"); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("a closed web answers: %v", err)
		}
		if h := w.Host("a.example"); h.Requests != 1 || h.Unanswered != 1 || h.InFlight != 0 || !time.Now().Equal(begin) {
			t.Errorf("counted %+v after %v", h, time.Since(begin))
		}
	})
}

func TestNewRefusesABadLab(t *testing.T) {
	if _, err := simweb.New(lab.Config{Hosts: []lab.HostSpec{{Name: "not a name"}}}); err == nil {
		t.Error("accepted")
	}
}

// BenchmarkExchange measures one request on a new connection.
func BenchmarkExchange(b *testing.B) {
	w, err := simweb.New(lab.Config{Hosts: []lab.HostSpec{hostWith("a.example", temper.Rules{})}})
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	c := newClient(w)
	for b.Loop() {
		if _, _, err := get(b.Context(), c, "http://a.example/"); err != nil {
			b.Fatal(err)
		}
	}
}
