package service_test

import (
	"bytes"
	"cmp"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"headway/fetch/guard"
	"headway/fetch/guard/guardtest"
	"headway/service"
	"headway/store"
	"headway/weburl"
)

// TestOptOuts adds and removes opt-outs. The control log says who did.
func TestOptOuts(t *testing.T) {
	t.Parallel()
	s := start(t, service.Config{Store: openStore(t)})
	k := key(t, s.st, "", store.ScopeOperator)
	type entry struct{ Host, At, By string }
	var first, again entry
	s.ask("POST", "/v1/opt-outs", k, map[string]any{"host": "https://shop.example:8443"}).read(t, http.StatusOK, &first)
	s.ask("POST", "/v1/opt-outs", key(t, s.st, "", store.ScopeOperator), map[string]any{"host": "shop.example"}).read(t, http.StatusOK, &again)
	if first.Host != "shop.example" || first != again {
		t.Errorf("%+v, then %+v", first, again)
	}
	s.ask("POST", "/v1/opt-outs", k, map[string]any{"host": "blog.example"}).read(t, http.StatusOK, nil)
	var list struct {
		OptOuts    []entry `json:"opt_outs"`
		NextCursor string  `json:"next_cursor"`
	}
	s.ask("GET", "/v1/opt-outs?limit=1", k, nil).read(t, http.StatusOK, &list)
	s.ask("GET", "/v1/opt-outs?limit=1&cursor="+list.NextCursor, k, nil).read(t, http.StatusOK, &list)
	if len(list.OptOuts) != 1 || list.OptOuts[0] != first {
		t.Errorf("the second page: %+v", list)
	}
	for _, host := range []string{"Shop.example", "shop.example/page", "a b", "ftp://shop.example"} {
		s.ask("POST", "/v1/opt-outs", k, map[string]any{"host": host}).read(t, http.StatusUnprocessableEntity, nil)
	}
	// A URL there would be skipped, and why says so.
	fill(t, s, "")
	s.ask("POST", "/v1/opt-outs", k, map[string]any{"host": marker + ".example"}).read(t, http.StatusOK, nil)
	if a := s.ask("GET", "/v1/jobs/1/why?url=https://"+marker+".example/"+marker, k, nil); !strings.Contains(string(a.body), marker+".example is on the opt-out list") {
		t.Errorf("why: %s", a.body)
	}
	s.ask("DELETE", "/v1/opt-outs?host=shop.example", k, nil).read(t, http.StatusNoContent, nil)
	s.ask("DELETE", "/v1/opt-outs?host=shop.example", k, nil).read(t, http.StatusNotFound, nil)
	var orders struct {
		Orders []struct{ By, What, Host, Before, After string }
	}
	s.ask("GET", "/v1/orders", k, nil).read(t, http.StatusOK, &orders)
	var said []string
	for _, o := range orders.Orders {
		said = append(said, fmt.Sprintf("%s %s: %s → %s", o.What, o.Host, o.Before, o.After))
		if o.By != first.By {
			t.Errorf("by %s, not %s", o.By, first.By)
		}
	}
	want := "opt out shop.example: crawled → not crawled, opt out blog.example: crawled → not crawled, opt out " + marker + ".example: crawled → not crawled, opt in shop.example: not crawled → crawled"
	if got := strings.Join(said, ", "); got != want {
		t.Errorf("log %s", got)
	}
}

// TestRepeatedOrders: a repeated or concurrent request about opt-outs or owned hosts
// changes nothing, gets the same response and adds nothing to the log.
func TestRepeatedOrders(t *testing.T) {
	t.Parallel()
	s := start(t, service.Config{Store: openStore(t)})
	operator, k := key(t, s.st, "", store.ScopeOperator), key(t, s.st, "acme", store.ScopeWrite)
	lines := 0
	for _, c := range []struct {
		what, method, path, key string
		body                    any
		first, again            int // statuses
		logged                  int // lines in the log
	}{
		{"opt out", "POST", "/v1/opt-outs", operator, map[string]any{"host": "shop.example"}, http.StatusOK, http.StatusOK, 1},
		{"opt in", "DELETE", "/v1/opt-outs?host=shop.example", operator, nil, http.StatusNoContent, http.StatusNotFound, 1},
		{"claim", "POST", "/v1/owned-hosts", k, map[string]any{"host": "mine.example"}, http.StatusOK, http.StatusOK, 0},
		{"grant", "POST", "/v1/owned-hosts", operator, map[string]any{"host": "mine.example", "tenant": "acme"}, http.StatusOK, http.StatusOK, 1},
		{"check", "POST", "/v1/owned-hosts/mine.example/check", k, nil, http.StatusOK, http.StatusOK, 0},
		{"drop", "DELETE", "/v1/owned-hosts/mine.example?tenant=acme", operator, nil, http.StatusNoContent, http.StatusNotFound, 1},
		{"claim and drop", "POST", "/v1/owned-hosts", k, map[string]any{"host": "other.example"}, http.StatusOK, http.StatusOK, 0},
		{"drop what was not proven", "DELETE", "/v1/owned-hosts/other.example", k, nil, http.StatusNoContent, http.StatusNotFound, 0},
	} {
		const senders = 4
		answers := make([]answered, senders)
		var wg sync.WaitGroup
		for i := range senders {
			wg.Go(func() { answers[i] = s.ask(c.method, c.path, c.key, c.body) })
		}
		wg.Wait()
		slices.SortFunc(answers, func(a, b answered) int { return cmp.Compare(a.status, b.status) })
		for i, a := range answers {
			want := c.again
			if i == 0 {
				want = c.first
			}
			a.read(t, want, nil)
			if c.first == c.again && !bytes.Equal(a.body, answers[0].body) {
				t.Errorf("%s: %s, and %s", c.what, a.body, answers[0].body)
			}
		}
		log, err := s.st.Orders(t.Context(), store.OrderQuery{All: true, Max: store.MaxPage})
		if err != nil {
			t.Fatal(err)
		}
		if lines += c.logged; len(log) != lines {
			t.Errorf("%s: the log has %d lines, want %d: %+v", c.what, len(log), lines, log)
		}
	}
}

// TestOwnedHostsOfOthers: only an operator may name another tenant.
func TestOwnedHostsOfOthers(t *testing.T) {
	t.Parallel()
	s := start(t, service.Config{Store: openStore(t)})
	operator, k, other := key(t, s.st, "", store.ScopeOperator), key(t, s.st, "acme", store.ScopeWrite), key(t, s.st, "other", store.ScopeWrite)
	s.ask("POST", "/v1/owned-hosts", k, map[string]any{"host": "mine.example"}).read(t, http.StatusOK, nil)
	for _, who := range []string{operator, k} {
		var list struct {
			OwnedHosts []ownedHost `json:"owned_hosts"`
		}
		s.ask("GET", "/v1/owned-hosts?tenant=acme", who, nil).read(t, http.StatusOK, &list)
		if len(list.OwnedHosts) != 1 || list.OwnedHosts[0].Host != "https://mine.example" {
			t.Errorf("the list of the tenant: %+v", list)
		}
	}
	s.ask("GET", "/v1/owned-hosts?tenant=acme", other, nil).read(t, http.StatusForbidden, nil)
	s.ask("DELETE", "/v1/owned-hosts/mine.example?tenant=acme", other, nil).read(t, http.StatusForbidden, nil)
	s.ask("DELETE", "/v1/owned-hosts/mine.example", operator, nil).read(t, http.StatusNotFound, nil)
	s.ask("DELETE", "/v1/owned-hosts/mine.example?tenant=acme", operator, nil).read(t, http.StatusNoContent, nil)
}

// site is a host at a loopback address, which is its own domain.
func site(t *testing.T, addr string, serve http.HandlerFunc) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", addr+":0")
	if err != nil {
		t.Fatal(err)
	}
	s := &httptest.Server{Listener: l, Config: &http.Server{Handler: serve, ReadHeaderTimeout: time.Minute}}
	s.Start()
	t.Cleanup(s.Close)
	return s.URL
}

// ownedHost is the part of a claim that tests read.
type ownedHost struct {
	Host, Token, File, Record, Proof string
	Owned                            bool
}

// TestOwnedHosts: a tenant claims a host, is told where to publish the token, and owns
// the host once the token was found there. Nothing else proves it.
func TestOwnedHosts(t *testing.T) {
	t.Parallel()
	names := guardtest.Serve(t)
	trap := guardtest.SetTrap(t, "127.0.0.77")
	token := new(atomic.Value)
	token.Store("")
	asked := new(atomic.Int64)
	file := site(t, "127.0.0.2", func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.URL.Path != "/.well-known/headway.txt" || r.Header.Get("Authorization") != "" {
			t.Errorf("%s was requested", r.URL)
		}
		fmt.Fprintf(w, "# ours\n%v\r\n", token.Load())
	})
	moved := site(t, "127.0.0.3", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, file+r.URL.Path, http.StatusFound) })
	partly := site(t, "127.0.0.4", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, "x%v\n", token.Load()) })
	door := guard.Config{Resolver: names.Addr}
	for i, host := range []string{file, moved, partly} {
		u, err := weburl.Parse(host)
		if err != nil {
			t.Fatal(err)
		}
		door.AllowPrivate = append(door.AllowPrivate, guard.Range{Prefix: netip.PrefixFrom(netip.AddrFrom4([4]byte{127, 0, 0, byte(2 + i)}), 32), Ports: []uint16{u.Port()}})
	}
	s := start(t, service.Config{Store: openStore(t), Webhooks: door})
	k, other := key(t, s.st, "acme", store.ScopeWrite), key(t, s.st, "other", store.ScopeWrite)
	claim := func(k, host string) (h ownedHost) {
		t.Helper()
		s.ask("POST", "/v1/owned-hosts", k, map[string]any{"host": host}).read(t, http.StatusOK, &h)
		return h
	}
	check := func(k, host string) answered {
		t.Helper()
		return s.ask("POST", "/v1/owned-hosts/"+url.PathEscape(host)+"/check", k, nil)
	}
	job := func(k, seed string, want int) {
		t.Helper()
		s.ask("POST", "/v1/jobs", k, map[string]any{"seeds": []string{seed + "/"}, "pace": map[string]any{"delay_seconds": 0.1}}).read(t, want, nil)
	}

	h := claim(k, file)
	if h.Host != file || h.Owned || h.File != file+"/.well-known/headway.txt" || h.Record != "" || h != claim(k, file) {
		t.Errorf("claimed %+v", h)
	}
	token.Store(h.Token)
	job(k, file, http.StatusUnprocessableEntity)
	check(other, file).read(t, http.StatusNotFound, nil)
	if theirs := claim(other, file); theirs.Token == h.Token || theirs.Owned {
		t.Errorf("another has the token %s", theirs.Token)
	}
	for _, host := range []string{moved, partly} { // with the right token
		token.Store(claim(k, host).Token)
		check(k, host).read(t, http.StatusConflict, nil)
	}
	token.Store(h.Token)
	if asked.Load() != 0 {
		t.Error("a redirect was followed")
	}
	check(k, file).read(t, http.StatusOK, &h)
	check(k, file).read(t, http.StatusOK, nil) // without another request
	if !h.Owned || h.Proof != "file" || asked.Load() != 1 {
		t.Errorf("checked %+v, %d requests", h, asked.Load())
	}
	if a := check(other, file); a.status != http.StatusTooManyRequests || a.header.Get("Retry-After") == "" {
		t.Errorf("again at once: %d %s", a.status, a.body)
	}
	job(k, file, http.StatusCreated)
	job(other, file, http.StatusUnprocessableEntity)
	s.ask("POST", "/v1/schedules", other, map[string]any{"cron": "@daily", "job": map[string]any{"seeds": []string{file + "/"}, "preset": "owned"}}).read(t, http.StatusUnprocessableEntity, nil)

	// Proved by a DNS record of the name itself.
	h = claim(k, "shop.example")
	if h.Host != "https://shop.example" || h.Record != "_headway.shop.example" {
		t.Errorf("claimed %+v", h)
	}
	names.Set("_headway.shop.example", guardtest.Reply{Texts: []string{"v=spf1 -all", h.Token}})
	check(k, "shop.example").read(t, http.StatusOK, &h)
	if h.Proof != "dns" {
		t.Errorf("checked %+v", h)
	}
	job(k, "https://shop.example", http.StatusCreated)
	job(k, "http://shop.example", http.StatusUnprocessableEntity)

	// Private addresses get no request, whatever a name resolves to.
	names.Set("inside.example", guardtest.Reply{Addrs: []string{"127.0.0.77"}})
	for _, host := range []string{fmt.Sprintf("http://inside.example:%d", trap.Addr.Port()), "http://" + trap.Addr.String()} {
		claim(k, host)
		check(k, host).read(t, http.StatusConflict, nil)
	}
	if n := trap.Hits(t); n != 0 {
		t.Errorf("%d connections to a private address", n)
	}

	// Only an operator may grant a host without proof.
	granted := map[string]any{"host": "https://granted.example", "tenant": "acme"}
	s.ask("POST", "/v1/owned-hosts", other, granted).read(t, http.StatusForbidden, nil)
	s.ask("POST", "/v1/owned-hosts", key(t, s.st, "", store.ScopeOperator), granted).read(t, http.StatusOK, &h)
	if !h.Owned || h.Proof != "operator" {
		t.Errorf("granted %+v", h)
	}
	job(k, "https://granted.example", http.StatusCreated)
	s.ask("DELETE", "/v1/owned-hosts/granted.example", other, nil).read(t, http.StatusNotFound, nil)
	s.ask("DELETE", "/v1/owned-hosts/granted.example", k, nil).read(t, http.StatusNoContent, nil)
	job(k, "https://granted.example", http.StatusUnprocessableEntity)
	var list struct {
		OwnedHosts []ownedHost `json:"owned_hosts"`
	}
	s.ask("GET", "/v1/owned-hosts", other, nil).read(t, http.StatusOK, &list)
	if len(list.OwnedHosts) != 1 || list.OwnedHosts[0].Owned {
		t.Errorf("the other has %+v", list)
	}
}
