package fetch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"headway/fetch/guard"
	"headway/fetch/guard/guardtest"
	"headway/internal/vectors"
	"headway/weburl"
)

// ssrfRow is a row of ssrf.json. Answers is a list in url and host rows, and an
// object by name in chains.
type ssrfRow struct {
	Kind          string
	Target        string
	Blocked       bool
	Why           string
	Answers       json.RawMessage
	SecondAnswers []string `json:"second_answers"`
	Pinned        bool
	Hops          []string
}

// inside is the environment of an SSRF attack: a scripted name server, one public
// address with a web server, and a trap on loopback that represents all internal
// addresses. Every connection that is not refused is really made, to the trap if it is
// local.
type inside struct {
	names *guardtest.Names
	trap  *guardtest.Trap
	site  string // where the public address is served
	sites atomic.Int64
	holes atomic.Int64
}

const publicAddr = "93.184.215.14"

func newInside(t *testing.T, page http.HandlerFunc) *inside {
	t.Helper()
	in := &inside{names: guardtest.Serve(t), trap: guardtest.SetTrap(t, "127.0.0.1")}
	srv := httptest.NewServer(page)
	t.Cleanup(srv.Close)
	in.site = srv.Listener.Addr().String()
	return in
}

// client has no allowed ranges. The port of the trap is allowed, so that a missing
// check would be noticed.
func (in *inside) client(t *testing.T) *Client {
	t.Helper()
	d, err := guard.New(guard.Config{
		Resolver:   in.names.Addr,
		ExtraPorts: []uint16{in.trap.Addr.Port()},
		Connect: func(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
			var d net.Dialer
			if addr.Addr() == netip.MustParseAddr(publicAddr) || addr.Addr() == netip.MustParseAddr("2606:4700:4700::1111") {
				in.sites.Add(1)
				return d.DialContext(ctx, "tcp", in.site)
			}
			in.holes.Add(1)
			if addr.Addr().IsLoopback() || addr.Addr().IsUnspecified() {
				return d.DialContext(ctx, "tcp", in.trap.Addr.String())
			}
			return nil, fmt.Errorf("a hole to %s", addr)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(Config{Dialer: d, Identity: contact})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// plain turns https into http: the vectors are about addresses, and the test server
// serves every name.
func plain(raw string) string { return strings.Replace(raw, "https:", "http:", 1) }

// fetch does what the crawler does: parse, check, connect.
func (in *inside) fetch(ctx context.Context, c *Client, raw string) error {
	u, err := weburl.Parse(plain(raw))
	if err != nil {
		return err
	}
	if u.Port() == 443 {
		// Rows about the https default port check it with the guard only.
		if _, err := c.cfg.Dialer.Resolve(ctx, u.Hostname(), 443); err != nil {
			return err
		}
		u = mustURL("http://" + u.Hostname() + u.PathQuery())
	}
	r, err := c.Do(ctx, Request{URL: u})
	if err == nil {
		r.Close()
	}
	return err
}

// TestVectors runs every row of ssrf.json end to end.
func TestVectors(t *testing.T) {
	var next atomic.Pointer[map[string]string] // redirects by host and path
	in := newInside(t, func(w http.ResponseWriter, r *http.Request) {
		if m := next.Load(); m != nil {
			if to, ok := (*m)[r.Host+r.URL.Path]; ok {
				w.Header().Set("Location", to)
				w.WriteHeader(http.StatusFound)
				return
			}
		}
		w.WriteHeader(http.StatusOK)
	})
	rows := vectors.Rows[ssrfRow](t, "ssrf.json")
	passed := 0
	for i, row := range rows {
		ok := t.Run(fmt.Sprintf("%d %s %s", i, row.Kind, row.Target), func(t *testing.T) {
			c := in.client(t)
			sites, holes := in.sites.Load(), in.holes.Load()
			var err error
			switch row.Kind {
			case "ip":
				host := row.Target
				if strings.Contains(host, ":") {
					host = "[" + host + "]"
				}
				err = in.fetch(t.Context(), c, "http://"+host+"/")
				if !row.Blocked {
					// Not our public address: we only see that it would be dialled.
					if dials := in.holes.Load() - holes + in.sites.Load() - sites; dials != 1 {
						t.Errorf("dialled %d times: %v", dials, err)
					}
					return
				}
			case "url":
				in.script(t, row.Answers)
				err = in.fetch(t.Context(), c, row.Target)
			case "host":
				err = in.host(t, c, row)
			case "redirect_chain":
				err = in.chain(t, c, row, &next)
			default:
				t.Fatalf("unknown kind %q", row.Kind)
			}
			if blocked := err != nil; blocked != row.Blocked {
				t.Errorf("blocked %v, want %v (%s): %v", blocked, row.Blocked, row.Why, err)
			}
			if in.holes.Load() != holes {
				t.Errorf("a connection that must not be (%s)", row.Why)
			}
			if row.Kind != "redirect_chain" && row.Blocked && row.SecondAnswers == nil && in.sites.Load() != sites {
				t.Errorf("a blocked target was contacted (%s)", row.Why)
			}
			if !row.Blocked && in.sites.Load() == sites {
				t.Errorf("a good target was not contacted (%s)", row.Why)
			}
		})
		if ok {
			passed++
		}
	}
	if hits := in.trap.Hits(t); hits != 0 {
		t.Errorf("%d connections into the trap", hits)
	}
	vectors.Count(t, "ssrf.json", passed, 147)
}

// script sets the DNS answers for site.test from a row that has a list, or none.
func (in *inside) script(t *testing.T, answers json.RawMessage) {
	t.Helper()
	addrs := []string{publicAddr}
	if answers != nil {
		if err := json.Unmarshal(answers, &addrs); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"site.test", "127.0.0.1.site.test", "localhost.site.test"} {
		in.names.Set(name, guardtest.Reply{Addrs: addrs, TTL: 60})
	}
	// Internal names exist and resolve to internal addresses, if anyone looks.
	for _, name := range []string{"localhost", "a.localhost", "printer.local", "metadata.google.internal", "wiki"} {
		in.names.Set(name, guardtest.Reply{Addrs: []string{"127.0.0.1"}, TTL: 60})
	}
}

// host runs a row with DNS answers. Where a second lookup answers differently, a first
// request is made while the first answer is cached; the row is about the second
// request, or, if pinned, about the first.
func (in *inside) host(t *testing.T, c *Client, row ssrfRow) error {
	t.Helper()
	var addrs []string
	if err := json.Unmarshal(row.Answers, &addrs); err != nil {
		t.Fatal(err)
	}
	replies := []guardtest.Reply{{Addrs: addrs}}
	if row.SecondAnswers != nil {
		replies = append(replies, guardtest.Reply{Addrs: row.SecondAnswers})
	}
	in.names.Set(row.Target, replies...)
	u := "http://" + row.Target + "/"
	if row.SecondAnswers != nil && !row.Pinned {
		if err := in.fetch(t.Context(), c, u); err != nil {
			t.Fatalf("first request: %v", err)
		}
		// The connection to the public address is still open but must not be used:
		// every request is checked.
	}
	return in.fetch(t.Context(), c, u)
}

// chain serves the hops of a row as redirects and follows them in both ways of the
// crawler: for robots.txt automatically, otherwise as new requests.
func (in *inside) chain(t *testing.T, c *Client, row ssrfRow, next *atomic.Pointer[map[string]string]) error {
	t.Helper()
	var answers map[string][]string
	if err := json.Unmarshal(row.Answers, &answers); err != nil {
		t.Fatal(err)
	}
	for name, addrs := range answers {
		in.names.Set(name, guardtest.Reply{Addrs: addrs, TTL: 60})
	}
	redirects := map[string]string{}
	from := parseURL(t, plain(row.Hops[0]))
	for _, hop := range row.Hops[1:] {
		redirects[from.Hostname()+from.Path()] = plain(hop)
		if to, err := from.Resolve(plain(hop)); err == nil {
			from = to
		}
	}
	next.Store(&redirects)
	defer next.Store(nil)

	start := parseURL(t, plain(row.Hops[0]))
	if strings.HasSuffix(row.Target, "/robots.txt") {
		r, _, err := c.Robots(t.Context(), Request{URL: start})
		if err == nil {
			r.Close()
		}
		return err
	}
	if strings.Contains(row.Why, "webhook") {
		client := c.cfg.Dialer.Client(0)
		defer client.CloseIdleConnections()
		resp, err := client.Get(start.String())
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode == http.StatusFound {
			return errors.New("the redirect was not followed")
		}
		return nil
	}
	for u := start; ; {
		r, err := c.Do(t.Context(), Request{URL: u})
		if err != nil {
			return err
		}
		location := r.Location()
		r.Close()
		if location == "" {
			return nil
		}
		if u, err = u.Resolve(location); err != nil {
			return err
		}
	}
}

// TestRebindingAcrossAKeptConnection is the same attack with a name whose DNS answer
// changes while a connection is idle.
func TestRebindingAcrossAKeptConnection(t *testing.T) {
	in := newInside(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") })
	c := in.client(t)
	in.names.Set("rebind.test", guardtest.Reply{Addrs: []string{publicAddr}}, guardtest.Reply{Addrs: []string{publicAddr, "169.254.169.254"}})
	if _, err := get(t, c, "http://rebind.test/"); err != nil {
		t.Fatal(err)
	}
	r, err := get(t, c, "http://rebind.test/")
	if reasonOf(err) != PrivateAddress || !r.Timing.Sent.IsZero() {
		t.Errorf("error %v, sent %v", err, r.Timing.Sent)
	}
	if e, _ := errors.AsType[*Error](err); e == nil || !e.Reason.Skipped() {
		t.Error("not counted as skipped")
	}
}
