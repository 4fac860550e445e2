package guard

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"code.dny.dev/ssrf"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"headway/fetch/guard/guardtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errNoNetwork = errors.New("no network in this test")

// newDialer fails the test on a bad config. Without a Connect in cfg nothing can be
// dialled.
func newDialer(t testing.TB, cfg Config) *Dialer {
	t.Helper()
	d, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// ranges parses valid ranges.
func ranges(t testing.TB, texts ...string) (rs []Range) {
	t.Helper()
	for _, text := range texts {
		r, err := ParseRange(text)
		if err != nil {
			t.Fatal(err)
		}
		rs = append(rs, r)
	}
	return rs
}

func public(ttl time.Duration) Answer {
	return Answer{Addrs: []netip.Addr{netip.MustParseAddr("93.184.215.14")}, TTL: ttl}
}

func TestCacheFollowsLifetimes(t *testing.T) {
	nxdomain := &DNSError{Host: "site.test", Kind: NXDomain}
	tests := []struct {
		name    string
		answer  Answer
		err     error
		after   time.Duration // between first and second question
		lookups int64
	}{
		{"within its lifetime", public(time.Minute), nil, 59 * time.Second, 1},
		{"at the end of its lifetime", public(time.Minute), nil, time.Minute, 2},
		{"no lifetime", public(0), nil, 0, 2},
		{"a lifetime of years ends after a day", public(1e6 * time.Hour), nil, maxTTL, 2},
		{"no such name", Answer{TTL: time.Minute}, nxdomain, 59 * time.Second, 1},
		{"no such name, at most five minutes", Answer{TTL: time.Hour}, nxdomain, 5 * time.Minute, 2},
		{"no address", Answer{TTL: time.Minute}, &DNSError{Host: "site.test", Kind: NoAddress}, time.Second, 1},
		{"an empty answer has no address", Answer{TTL: time.Minute}, nil, time.Second, 1},
		{"server failure is not remembered", Answer{TTL: time.Hour}, &DNSError{Host: "site.test", Kind: ServFail}, 0, 2},
		{"timeout is not remembered", Answer{TTL: time.Hour}, &DNSError{Host: "site.test", Kind: Timeout}, 0, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var lookups atomic.Int64
				d := newDialer(t, Config{Lookup: func(context.Context, string) (Answer, error) {
					lookups.Add(1)
					return tt.answer, tt.err
				}})
				_, first := d.Resolve(t.Context(), "site.test", 80)
				time.Sleep(tt.after)
				_, second := d.Resolve(t.Context(), "SITE.test.", 443) // the same name
				if fmt.Sprint(first) != fmt.Sprint(second) {
					t.Errorf("first %v, then %v", first, second)
				}
				if wantErr := tt.err != nil || len(tt.answer.Addrs) == 0; (first != nil) != wantErr {
					t.Errorf("error %v, want one: %v", first, wantErr)
				}
				if lookups.Load() != tt.lookups {
					t.Errorf("%d lookups, want %d", lookups.Load(), tt.lookups)
				}
			})
		})
	}
}

func TestSingleFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lookups atomic.Int64
		d := newDialer(t, Config{Lookup: func(context.Context, string) (Answer, error) {
			lookups.Add(1)
			time.Sleep(time.Second)
			return public(0), nil
		}})
		// The first caller leaves early; the lookup continues for the others.
		first, leave := context.WithTimeout(t.Context(), time.Millisecond)
		defer leave()
		var wg sync.WaitGroup
		for i := range 100 {
			ctx := t.Context()
			if i == 0 {
				ctx = first
			}
			wg.Go(func() {
				_, err := d.Resolve(ctx, "site.test", 80)
				if gone := ctx == first; gone != errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("caller %d: %v", i, err)
				}
			})
			synctest.Wait()
		}
		wg.Wait()
		if lookups.Load() != 1 {
			t.Errorf("%d lookups for one name, want 1", lookups.Load())
		}
	})
}

func TestLookupIsCancelledWithLastCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cancelled := make(chan struct{})
		d := newDialer(t, Config{Lookup: func(ctx context.Context, _ string) (Answer, error) {
			<-ctx.Done()
			close(cancelled)
			return Answer{}, ctx.Err()
		}})
		ctx, leave := context.WithTimeout(t.Context(), time.Millisecond)
		defer leave()
		if _, err := d.Resolve(ctx, "site.test", 80); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		<-cancelled
	})
}

func TestLookupsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int64
		d := newDialer(t, Config{Lookup: func(context.Context, string) (Answer, error) {
			most.Store(max(most.Load(), now.Add(1)))
			defer now.Add(-1)
			time.Sleep(900 * time.Millisecond) // fast enough to count towards MaxLookups
			return public(time.Hour), nil
		}})
		var wg sync.WaitGroup
		for i := range 1000 {
			wg.Go(func() {
				if _, err := d.Resolve(t.Context(), fmt.Sprintf("h%d.test", i), 80); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		want := Layer{Limit: 256, Use: 256, Waiting: 744, Waits: 744}
		if got := d.Stats().Lookups; got != want {
			t.Errorf("layer %+v, want %+v", got, want)
		}
		wg.Wait()
		if most.Load() != 256 {
			t.Errorf("%d lookups at once, want 256", most.Load())
		}
		if waited := d.Stats().Lookups.Waited; waited != (256*1+256*2+232*3)*900*time.Millisecond {
			t.Errorf("waited %v in all", waited)
		}
	})
}

// TestSlowLookups looks up 1,000 names that no name server answers, then one that is
// answered at once: it waits only as long as the others count towards MaxLookups.
func TestSlowLookups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now atomic.Int64
		d := newDialer(t, Config{LookupTimeout: 10 * time.Second, Lookup: func(ctx context.Context, host string) (Answer, error) {
			now.Add(1)
			defer now.Add(-1)
			if host != "good.test" {
				<-ctx.Done()
				return Answer{}, &DNSError{Host: host, Kind: Timeout}
			}
			return public(time.Hour), nil
		}})
		var wg sync.WaitGroup
		for i := range 1000 {
			wg.Go(func() {
				if _, err := d.Resolve(t.Context(), fmt.Sprintf("h%d.test", i), 80); err == nil {
					t.Error("an address for an unanswered name")
				}
			})
		}
		synctest.Wait()
		began := time.Now()
		if _, err := d.Resolve(t.Context(), "good.test", 80); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > 3*slowLookup {
			t.Errorf("a name after 1,000 unanswered ones took %v", took)
		}
		if got := d.Stats().Lookups; got.Use > got.Limit {
			t.Errorf("layer %+v", got)
		}
		wg.Wait()
		if got := d.Stats().Lookups; got.Use != 0 || got.Waiting != 0 || now.Load() != 0 {
			t.Errorf("layer %+v, %d under way at the end", got, now.Load())
		}
	})
}

func TestCacheIsBounded(t *testing.T) {
	const limit = 64 * cacheShards
	c := newCache(limit)
	for i := range 10 * limit {
		c.put(fmt.Sprintf("h%d.test", i), public(0).Addrs, "", time.Hour)
	}
	entries, evicted := c.size()
	if entries > limit || entries < limit/2 {
		t.Errorf("%d entries, want at most and nearly %d", entries, limit)
	}
	if int(evicted) != 10*limit-entries {
		t.Errorf("%d evicted of %d put, %d left", evicted, 10*limit, entries)
	}
}

func TestLongAnswersAreCutButNotTrusted(t *testing.T) {
	var addrs []netip.Addr
	for i := range 4000 {
		addrs = append(addrs, netip.AddrFrom4([4]byte{93, 184, byte(i >> 8), byte(i)}))
	}
	addrs = append(addrs, netip.MustParseAddr("10.0.0.5"))
	d := newDialer(t, Config{Lookup: func(context.Context, string) (Answer, error) {
		return Answer{Addrs: addrs, TTL: time.Hour}, nil
	}})
	for range 2 { // looked up, then from the cache
		_, err := d.Resolve(t.Context(), "site.test", 80)
		if blocked, ok := errors.AsType[*BlockedError](err); !ok || blocked.Addr != addrs[4000] {
			t.Errorf("error %v, want the last address refused", err)
		}
	}
	addrs = addrs[:4000]
	target, err := d.Resolve(t.Context(), "other.test", 80)
	if err != nil || len(target.Addrs()) != maxAddrs {
		t.Errorf("%d addresses and %v, want %d", len(target.Addrs()), err, maxAddrs)
	}
}

func TestHappyEyeballs(t *testing.T) {
	const v6, v4, other4 = "2606:4700::1", "93.184.215.14", "93.184.215.15"
	fail := func(after time.Duration) func(context.Context) error {
		return func(ctx context.Context) error {
			select {
			case <-time.After(after):
				return errNoNetwork
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	succeed := func(after time.Duration) func(context.Context) error {
		return func(ctx context.Context) error {
			if err := fail(after)(ctx); !errors.Is(err, errNoNetwork) {
				return err
			}
			return nil
		}
	}
	tests := []struct {
		name     string
		family   Family
		behave   map[string]func(context.Context) error
		won      string // "" if none connected
		attempts []string
		took     time.Duration
	}{
		{"the first answers", Auto, map[string]func(context.Context) error{v6: succeed(0)}, v6, []string{v6}, 0},
		{
			"the first is slow", Auto,
			map[string]func(context.Context) error{v6: succeed(time.Minute), v4: succeed(10 * time.Millisecond)},
			v4,
			[]string{v6, v4},
			260 * time.Millisecond,
		},
		{
			"the first fails at once", Auto,
			map[string]func(context.Context) error{v6: fail(0), v4: succeed(0)},
			v4,
			[]string{v6, v4},
			0,
		},
		{
			"a late winner is still first", Auto,
			map[string]func(context.Context) error{v6: succeed(300 * time.Millisecond), v4: fail(0)},
			v6,
			[]string{v6, v4, other4},
			300 * time.Millisecond,
		},
		{
			"all hang", Auto,
			map[string]func(context.Context) error{},
			"",
			[]string{v6, v4, other4},
			10 * time.Second,
		},
		{
			"all fail", Auto,
			map[string]func(context.Context) error{v6: fail(0), v4: fail(0), other4: fail(0)},
			"",
			[]string{v6, v4, other4},
			0,
		},
		{"only IPv4", IPv4, map[string]func(context.Context) error{v4: succeed(0)}, v4, []string{v4}, 0},
		{"only IPv6", IPv6, map[string]func(context.Context) error{v6: succeed(0)}, v6, []string{v6}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				var attempts []string
				open := map[string]net.Conn{}
				d := newDialer(t, Config{
					IP: tt.family,
					Lookup: func(context.Context, string) (Answer, error) {
						return Answer{Addrs: []netip.Addr{netip.MustParseAddr(v4), netip.MustParseAddr(other4), netip.MustParseAddr(v6)}}, nil
					},
					Connect: func(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
						a := addr.Addr().String()
						mu.Lock()
						attempts = append(attempts, a)
						mu.Unlock()
						do := tt.behave[a]
						if do == nil {
							do = fail(time.Hour)
						}
						if err := do(ctx); err != nil {
							return nil, err
						}
						near, far := net.Pipe()
						t.Cleanup(func() { far.Close() })
						mu.Lock()
						open[a] = near
						mu.Unlock()
						return near, nil
					},
				})
				start := time.Now()
				conn, err := d.DialContext(t.Context(), "tcp", "site.test:443")
				if took := time.Since(start); took != tt.took {
					t.Errorf("took %v, want %v", took, tt.took)
				}
				if !slices.Equal(attempts, tt.attempts) {
					t.Errorf("tried %v, want %v", attempts, tt.attempts)
				}
				if (err == nil) != (tt.won != "") || err == nil && conn != open[tt.won] {
					t.Errorf("connection %v, error %v, want %q", conn, err, tt.won)
				}
				if err == nil {
					conn.Close()
				}
			})
		})
	}
}

// TestSlowerConnectionIsClosed lets two addresses connect at the same instant.
func TestSlowerConnectionIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var far []net.Conn
		var mu sync.Mutex
		d := newDialer(t, Config{
			Lookup: func(context.Context, string) (Answer, error) {
				return Answer{Addrs: []netip.Addr{netip.MustParseAddr("93.184.215.14"), netip.MustParseAddr("93.184.215.15")}}, nil
			},
			Connect: func(context.Context, netip.AddrPort) (net.Conn, error) {
				time.Sleep(attemptDelay * 2) // ignores ctx: both connect
				near, f := net.Pipe()
				mu.Lock()
				far = append(far, f)
				mu.Unlock()
				return near, nil
			},
		})
		conn, err := d.DialContext(t.Context(), "tcp", "site.test:80")
		if err != nil {
			t.Fatal(err)
		}
		closed := 0
		for _, f := range far {
			f.SetReadDeadline(time.Now().Add(time.Second))
			if _, err := f.Read(make([]byte, 1)); !errors.Is(err, context.DeadlineExceeded) && !strings.Contains(err.Error(), "timeout") {
				closed++
			}
			f.Close()
		}
		if len(far) != 2 || closed != 1 {
			t.Errorf("%d connections, %d closed, want 2 and 1", len(far), closed)
		}
		conn.Close()
	})
}

// TestControl tests the second check: the address that the operating system is about
// to connect to.
func TestControl(t *testing.T) {
	d := newDialer(t, Config{AllowPrivate: ranges(t, "10.1.0.0/16:8080")})
	tests := []struct {
		network, address string
		blocked, badPort bool
	}{
		{"tcp4", "93.184.215.14:80", false, false},
		{"tcp6", "[2606:4700::1]:443", false, false},
		{"tcp4", "10.1.2.3:8080", false, false},
		{"tcp4", "127.0.0.1:80", true, false},
		{"tcp6", "[::1]:80", true, false},
		{"tcp6", "[::ffff:10.1.2.3]:8080", true, false},
		{"tcp6", "[fe80::1%eth0]:80", true, false},
		{"tcp4", "169.254.169.254:80", true, false},
		{"tcp4", "93.184.215.14:22", false, true},
		{"tcp4", "10.1.2.3:80", false, true},
		{"udp4", "93.184.215.14:80", true, false},
		{"unix", "/run/docker.sock", true, false},
	}
	for _, tt := range tests {
		t.Run(tt.network+" "+tt.address, func(t *testing.T) {
			err := d.control(tt.network, tt.address, nil)
			_, blocked := errors.AsType[*BlockedError](err)
			if badPort := errors.Is(err, ErrBadPort); blocked != tt.blocked || badPort != tt.badPort {
				t.Errorf("error %v, want blocked %v, bad port %v", err, tt.blocked, tt.badPort)
			}
		})
	}
}

// TestControlIsCalled: a Dialer that is made to return an unchecked address still cannot
// connect to it.
func TestControlIsCalled(t *testing.T) {
	trap := guardtest.SetTrap(t, "127.0.0.1")
	d := newDialer(t, Config{ExtraPorts: []uint16{trap.Addr.Port()}})
	unchecked := Target{dialer: d, host: "site.test", port: trap.Addr.Port(), addrs: []netip.Addr{trap.Addr.Addr()}}
	_, err := d.DialContext(unchecked.Pin(t.Context()), "tcp", fmt.Sprintf("site.test:%d", trap.Addr.Port()))
	if blocked, ok := errors.AsType[*BlockedError](err); !ok || blocked.Why != "loopback" {
		t.Errorf("error %v, want the loopback refused", err)
	}
}

func TestAllowPrivate(t *testing.T) {
	srv := httptest.NewServer(http.NotFoundHandler())
	defer srv.Close()
	addr := netip.MustParseAddrPort(srv.Listener.Addr().String())
	port := addr.Port()
	dial := func(allow, hostport string) error {
		d := newDialer(t, Config{AllowPrivate: ranges(t, allow)})
		conn, err := d.DialContext(t.Context(), "tcp", hostport)
		if err == nil {
			conn.Close()
		}
		return err
	}
	if err := dial(fmt.Sprintf("127.0.0.0/8:%d", port), addr.String()); err != nil {
		t.Errorf("range with the port: %v", err)
	}
	if err := dial(fmt.Sprintf("127.0.0.1:%d", port), fmt.Sprintf("localhost:%d", port)); err != nil {
		t.Errorf("localhost by name: %v", err)
	}
	if err := dial(fmt.Sprintf("127.0.0.1:%d", port), fmt.Sprintf("app.localhost:%d", port)); err != nil {
		t.Errorf("a name below localhost: %v", err)
	}
	if err := dial("127.0.0.0/8", addr.String()); !errors.Is(err, ErrBadPort) {
		t.Errorf("range without ports: %v", err)
	}
	if err := dial(fmt.Sprintf("10.0.0.0/8:%d", port), addr.String()); err == nil {
		t.Error("another range opened the loopback")
	}
	if err := dial(fmt.Sprintf("10.0.0.0/8:%d", port), fmt.Sprintf("localhost:%d", port)); err == nil {
		t.Error("another range opened localhost")
	}
}

func TestPrivateCountsAsOwned(t *testing.T) {
	answers := map[string]string{"in.test": "10.0.0.1", "out.test": "93.184.215.14", "nat.test": "64:ff9b::5db8:d70e", "hole.test": "64:ff9b::a00:1"}
	d := newDialer(t, Config{
		AllowPrivate: ranges(t, "10.0.0.0/24", "64:ff9b::/96"),
		Lookup: func(_ context.Context, host string) (Answer, error) {
			return Answer{Addrs: []netip.Addr{netip.MustParseAddr(answers[host])}}, nil
		},
	})
	for host, want := range map[string]bool{"in.test": true, "out.test": false, "nat.test": false} {
		target, err := d.Resolve(t.Context(), host, 80)
		if err != nil || target.Private() != want {
			t.Errorf("%s: private %v, error %v, want %v", host, target.Private(), err, want)
		}
	}
	if target, err := d.Resolve(t.Context(), "hole.test", 80); err != nil || target.Private() {
		t.Errorf("NAT64 to an opened range: %v, private %v", err, target.Private())
	}
	answers["hole.test"] = "64:ff9b::a00:101" // 10.0.1.1, not allowed
	if _, err := d.Resolve(t.Context(), "hole.test", 80); err == nil {
		t.Error("NAT64 reached an address that was not opened")
	}
}

func TestParseRange(t *testing.T) {
	tests := []struct{ in, out string }{
		{"10.0.0.0/8", "10.0.0.0/8"},
		{"10.1.2.3/8", "10.0.0.0/8"},
		{"127.0.0.0/8:8080", "127.0.0.0/8:8080"},
		{"127.0.0.0/8:8080,8443", "127.0.0.0/8:8080,8443"},
		{"fd00::/8", "fd00::/8"},
		{"fd00::/8:8080,80", "fd00::/8:8080,80"},
		{"127.0.0.1", "127.0.0.1/32"},
		{"127.0.0.1:99", "127.0.0.1/32:99"},
		{"::1", "::1/128"},
		{"[::1]:99", "::1/128:99"},
		{"[::1]", "::1/128"},
		{"", ""},
		{"10.0.0.0/33", ""},
		{"10.0.0.0/8:", ""},
		{"10.0.0.0/8:0", ""},
		{"10.0.0.0/8:65536", ""},
		{"10.0.0.0/8:80,", ""},
		{"10.0.0.0/8:+80", ""},
		{"localhost:80", ""},
		{"fe80::1%eth0", ""},
		{"[::1]x", ""},
		{"[::1", ""},
		// Wider than the private block, or of public addresses.
		{"0.0.0.0/0", ""},
		{"::/0", ""},
		{"::/9", ""},
		{"10.0.0.0/7", ""},
		{"172.0.0.0/8", ""},
		{"93.184.215.0/24", ""},
		{"93.184.215.14", ""},
		// Allowed only by exact address.
		{"169.254.0.0/16", ""},
		{"169.254.169.254/31", ""},
		{"fe80::/10", ""},
		{"fd00:ec2::/32", ""},
		{"169.254.169.254:80", "169.254.169.254/32:80"},
		{"fe80::1", "fe80::1/128"},
		{"fd00:ec2::254", "fd00:ec2::254/128"},
		{"168.63.129.16", "168.63.129.16/32"},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			r, err := ParseRange(tt.in)
			if (err == nil) != (tt.out != "") || err == nil && r.String() != tt.out {
				t.Fatalf("%v, %v, want %q", r, err, tt.out)
			}
			if err == nil {
				again, err := ParseRange(r.String())
				if err != nil || again.String() != r.String() {
					t.Errorf("%s read again is %v, %v", r, again, err)
				}
			}
		})
	}
}

// TestExactOnly checks that link-local and metadata addresses stay blocked under the
// widest possible range. Nothing is dialled.
func TestExactOnly(t *testing.T) {
	wide := newDialer(t, Config{AllowPrivate: ranges(t, "100.64.0.0/10", "192.0.0.0/24", "fc00::/7", "64:ff9b::/96", "2002::/16", "::ffff:0:0/96", "::/96", "2001::/32")})
	for _, text := range []string{
		"169.254.169.254", "169.254.170.2", "169.254.0.1", "168.63.129.16", "100.100.100.200", "192.0.0.192", "fd00:ec2::254", "fd20:ce::254", "fe80::1",
		"64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1", "::ffff:169.254.169.254", "::a9fe:a9fe", "2001:0:1:2:3:4:5601:5601",
	} {
		a := netip.MustParseAddr(text)
		if v := wide.judge(a, 80); v.why == "" {
			t.Errorf("%s is open under wide ranges", text)
		}
		if nat64.Contains(a) {
			continue // the embedded address is checked on its own
		}
		exact := newDialer(t, Config{AllowPrivate: ranges(t, text)})
		if v := exact.judge(a, 80); v.why != "" {
			t.Errorf("%s is shut although it was named: %s", text, v.why)
		}
		if v := exact.judge(a.Next(), 80); v.why == "" && !Public(a.Next()) {
			t.Errorf("%s opens its neighbour", text)
		}
	}
	for _, text := range []string{"100.64.0.1", "fd00::1"} {
		if v := wide.judge(netip.MustParseAddr(text), 80); v.why != "" {
			t.Errorf("%s: %s", text, v.why)
		}
	}
}

// TestTableCoversAnotherTable compares with an independent table: whatever that one
// refuses, we refuse.
func TestTableCoversAnotherTable(t *testing.T) {
	other := ssrf.New(ssrf.WithAnyPort())
	for _, p := range slices.Concat(ssrf.IPv4DeniedPrefixes, ssrf.IPv6DeniedPrefixes) {
		if notPublic(p.Addr()) == "" || notPublic(p.Addr().Next()) == "" {
			t.Errorf("%s is open", p)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		var a netip.Addr
		if rapid.Bool().Draw(t, "v4") {
			a = netip.AddrFrom4([4]byte(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "addr")))
		} else {
			a = netip.AddrFrom16([16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "addr")))
		}
		if err := other.SafeAddr(a); err != nil && notPublic(a) == "" {
			t.Errorf("%s is open here, and there: %v", a, err)
		}
	})
}

func TestOddHosts(t *testing.T) {
	d := newDialer(t, Config{
		Lookup: func(_ context.Context, host string) (Answer, error) {
			t.Errorf("looked up %q", host)
			return public(0), nil
		},
		Connect: func(_ context.Context, a netip.AddrPort) (net.Conn, error) {
			t.Errorf("dialled %s", a)
			return nil, errNoNetwork
		},
	})
	hosts := []string{
		"", ".", "..", "a..b", "-", "a b", "a\x00b", "a\nb", "a/b", "a@b", "a%2eb", "a:b", "*",
		"127.1", "0x7f.1", "0177.0.0.1", "2130706433", "0x7f000001", "0X7F000001", "127.0.0.01", "1.2.3.4.5", "127.0.0.1.",
		"foo.1", "foo.0x", "foo.0x1f", "99999999999", "１２７.0.0.1", "127。0。0。1", "①②⑦.0.0.1", "\u212Aelvin.test",
		"[::1]", "::1", "[::1", "::ffff:127.0.0.1", "fe80::1%eth0", "[fe80::1%25eth0]",
		"localhost", "LOCALHOST.", "a.localhost", "printer.local", "metadata.google.internal", "wiki", "router.home.arpa", "x.onion",
		strings.Repeat("a", 64) + ".test", strings.Repeat("a.", 130) + "test",
	}
	for _, host := range hosts {
		if _, err := d.Resolve(t.Context(), host, 80); err == nil {
			t.Errorf("%q was let through", host)
		}
		if _, err := d.DialContext(t.Context(), "tcp", net.JoinHostPort(host, "80")); err == nil {
			t.Errorf("%q was dialled", host)
		}
	}
	for _, addr := range []string{"site.test:22", "site.test:0", "site.test:http", "site.test:-1", "site.test:+80", "site.test:65616", "site.test:"} {
		if _, err := d.DialContext(t.Context(), "tcp", addr); !errors.Is(err, ErrBadPort) {
			t.Errorf("%s: %v, want a bad port", addr, err)
		}
	}
	for _, network := range []string{"udp", "unix", "ip4:icmp", ""} {
		if _, err := d.DialContext(t.Context(), network, "93.184.215.14:80"); err == nil {
			t.Errorf("network %q was dialled", network)
		}
	}
	if _, err := d.DialContext(t.Context(), "tcp", "no port"); err == nil {
		t.Error("an address without a port was dialled")
	}
}

// FuzzHost uses any string as a host: whatever is dialled is public.
func FuzzHost(f *testing.F) {
	for _, s := range []string{"site.test", "127.0.0.1", "[::1]", "0x7f.1", "a.localhost.", "１.2.3.4", "fe80::1%1", "1.1.1.1"} {
		f.Add(s, "80")
	}
	f.Fuzz(func(t *testing.T, host, port string) {
		d := newDialer(t, Config{
			Lookup: func(_ context.Context, name string) (Answer, error) {
				if len(name) > maxHost || strings.ToLower(name) != name || !strings.Contains(name, ".") {
					t.Errorf("looked up %q", name)
				}
				return public(0), nil
			},
			Connect: func(_ context.Context, a netip.AddrPort) (net.Conn, error) {
				if notPublic(a.Addr()) != "" || a.Port() != 80 && a.Port() != 443 {
					t.Errorf("host %q port %q: dialled %s", host, port, a)
				}
				return nil, errNoNetwork
			},
		})
		if _, err := d.DialContext(t.Context(), "tcp", net.JoinHostPort(host, port)); err == nil {
			t.Error("no error without a network")
		}
	})
}

func TestPinHoldsForItsOwnTargetOnly(t *testing.T) {
	var lookups atomic.Int64
	cfg := Config{
		Lookup: func(context.Context, string) (Answer, error) {
			lookups.Add(1)
			return public(0), nil
		},
		Connect: func(context.Context, netip.AddrPort) (net.Conn, error) { return nil, errNoNetwork },
	}
	d := newDialer(t, cfg)
	target, err := d.Resolve(t.Context(), "site.test", 80)
	if err != nil {
		t.Fatal(err)
	}
	ctx := target.Pin(t.Context())
	for addr, want := range map[string]int64{"site.test:80": 0, "site.test:443": 1, "other.test:80": 1} {
		lookups.Store(0)
		d.DialContext(ctx, "tcp", addr)
		if lookups.Load() != want {
			t.Errorf("%s: %d lookups, want %d", addr, lookups.Load(), want)
		}
	}
	lookups.Store(0)
	newDialer(t, cfg).DialContext(ctx, "tcp", "site.test:80")
	if lookups.Load() != 1 {
		t.Error("a target was good for another Dialer")
	}
}

func TestProxyIsIgnored(t *testing.T) {
	trap := guardtest.SetTrap(t, "127.0.0.1")
	for _, name := range proxyVariables {
		t.Setenv(name, "http://user:secret@"+trap.Addr.String())
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://"+trap.Addr.String()+"/", http.StatusFound)
	}))
	defer srv.Close()
	addr := netip.MustParseAddrPort(srv.Listener.Addr().String())
	d := newDialer(t, Config{AllowPrivate: []Range{{netip.PrefixFrom(addr.Addr(), 32), []uint16{addr.Port(), trap.Addr.Port()}}}})
	client := d.Client(time.Minute)
	defer client.CloseIdleConnections()
	resp, err := client.Get(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusFound {
		t.Errorf("status %d: a redirect was followed", resp.StatusCode)
	}
}

func TestProxyWarning(t *testing.T) {
	env := map[string]string{}
	if w := ProxyWarning(func(k string) string { return env[k] }); w != "" {
		t.Errorf("warning without a proxy: %q", w)
	}
	env["https_proxy"] = "http://user:secret@proxy"
	w := ProxyWarning(func(k string) string { return env[k] })
	if !strings.HasPrefix(w, "https_proxy ignored") || strings.Contains(w, "secret") {
		t.Errorf("warning %q", w)
	}
}

func TestConfigProblemsAreNamed(t *testing.T) {
	_, err := New(Config{Resolver: "dns.test", IP: "5", DialTimeout: -1, MaxLookups: -1, ExtraPorts: []uint16{0}, AllowPrivate: []Range{{}}})
	for _, field := range []string{"Resolver", "IP", "DialTimeout", "MaxLookups", "ExtraPorts", "AllowPrivate"} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%s is not named in: %v", field, err)
		}
	}
}

func TestErrorsQuoteWhatTheyRepeat(t *testing.T) {
	evil := "a\x1b[2Jb\nc"
	for _, err := range []error{
		&BlockedError{Host: evil, Why: "loopback"},
		&BlockedError{Host: evil, Why: "loopback", Addr: netip.IPv6Loopback()},
		&PortError{Host: evil, Port: evil},
		&DNSError{Host: evil, Kind: NXDomain},
	} {
		if strings.ContainsAny(err.Error(), "\x1b\n") {
			t.Errorf("control characters in %q", err)
		}
	}
}

func BenchmarkResolveCached(b *testing.B) {
	d := newDialer(b, Config{Lookup: func(context.Context, string) (Answer, error) { return public(time.Hour), nil }})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := d.Resolve(b.Context(), "www.example.com", 443); err != nil {
			b.Fatal(err)
		}
	}
}
