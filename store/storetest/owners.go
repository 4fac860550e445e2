package storetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"headway/store"
)

// names returns the names of a list.
func names(list []store.OptOut) (names []string) {
	for i := range list {
		names = append(names, list[i].Name)
	}
	return names
}

func testOptOuts(t *testing.T, open Open) {
	w := newQueueWorld(t, open, t.TempDir(), nil)
	outs := w.store.(store.OptOuts)
	add := func(name string, want bool) {
		t.Helper()
		o := store.OptOut{Name: name, At: w.now, By: "key one"}
		if !want {
			o.By = "key two" // the first entry stays
		}
		entry, added, err := outs.AddOptOut(w.ctx, o)
		w.check(err)
		if added != want || entry != (store.OptOut{Name: name, At: w.now, By: "key one"}) {
			t.Errorf("%+v added: %v", entry, added)
		}
	}
	read := func(mark string, want ...string) (now string) {
		t.Helper()
		got, now, err := outs.OptOutNames(w.ctx, mark)
		w.check(err)
		if !slices.Equal(want, got) {
			t.Errorf("%v, want %v", got, want)
		}
		return now
	}
	mark := read("")
	add("b.example", true)
	add("a-b.example", true)
	add("192.0.2.1", true)
	add("b.example", false)
	all := []string{"192.0.2.1", "a-b.example", "b.example"}
	mark = read(mark, all...)
	if again := read(mark); again != mark {
		t.Errorf("the mark became %q by reading, from %q", again, mark)
	}
	list, err := outs.OptOuts(w.ctx, "192.0.2.1", 1)
	w.check(err)
	if diff := cmp.Diff([]store.OptOut{{Name: "a-b.example", At: w.now, By: "key one"}}, list); diff != "" {
		t.Error(diff)
	}
	for host, want := range map[string]string{"b.example": "b.example", "x.y.b.example": "b.example", "ab.example": "", "example": "", "": "", "192.0.2.1": "192.0.2.1", "2.1": ""} {
		if got, err := outs.CoveringOptOut(w.ctx, host); err != nil || got != want {
			t.Errorf("%q is covered by %q, want %q: %v", host, got, want, err)
		}
		if got := store.NewNames(all).Covering(host); got != want {
			t.Errorf("%q is covered by %q in the set, want %q", host, got, want)
		}
	}
	// A list with one name removed and one added has another mark.
	w.check(outs.DropOptOut(w.ctx, "b.example"))
	add("c.example", true)
	mark = read(mark, "192.0.2.1", "a-b.example", "c.example")
	w.check(outs.DropOptOut(w.ctx, "a-b.example"))
	read(mark, "192.0.2.1", "c.example")
	if err := outs.DropOptOut(w.ctx, "b.example"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("dropped twice: %v", err)
	}
	for _, name := range []string{"", "B.example", "https://b.example", "b.example:80", "b.example/", "b c"} {
		if _, _, err := outs.AddOptOut(w.ctx, store.OptOut{Name: name, At: w.now}); err == nil {
			t.Errorf("%q was added", name)
		}
	}
	list, err = outs.OptOuts(w.ctx, "", 10)
	w.check(err)
	if diff := cmp.Diff([]string{"192.0.2.1", "c.example"}, names(list)); diff != "" {
		t.Error(diff)
	}
}

func testOwnedHosts(t *testing.T, open Open) {
	w := newQueueWorld(t, open, t.TempDir(), nil)
	hosts := w.store.(store.OwnedHosts)
	claim := func(tenant, host, token string) store.OwnedHost {
		t.Helper()
		h, err := hosts.ClaimHost(w.ctx, store.OwnedHost{Tenant: tenant, Host: host, Token: token, AskedAt: w.now})
		w.check(err)
		return h
	}
	of := func(tenant string, want ...store.OwnedHost) {
		t.Helper()
		list, err := hosts.OwnedHosts(w.ctx, tenant)
		w.check(err)
		if diff := cmp.Diff(want, list); diff != "" {
			t.Errorf("of %q: %s", tenant, diff)
		}
	}
	const shop, blog = "https://shop.example", "http://blog.example:8080"
	mine := store.OwnedHost{Tenant: "acme", Host: shop, Token: "one", AskedAt: w.now}
	for _, token := range []string{"one", "two"} { // the first token stays
		if got := claim("acme", shop, token); got != mine {
			t.Errorf("claimed %+v", got)
		}
	}
	other := claim("other", shop, "three")
	w.now = w.now.Add(time.Minute)
	w.check(hosts.ProveHost(w.ctx, w.now, "acme", shop, store.ByFile, "key one"))
	mine.OwnedAt, mine.Proof, mine.By = w.now, store.ByFile, "key one"
	second := claim("acme", blog, "four")
	if got := claim("acme", shop, "five"); got != mine || !got.Owned() || other.Owned() {
		t.Errorf("claimed again: %+v", got)
	}
	of("acme", second, mine)
	of("other", other)
	of("")
	for name, err := range map[string]error{
		"prove": hosts.ProveHost(w.ctx, w.now, "other", blog, store.ByDNS, "key one"), "drop": hosts.DropHost(w.ctx, "other", blog), "drop of nobody": hosts.DropHost(w.ctx, "", shop),
	} {
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s what another has: %v", name, err)
		}
	}
	w.check(hosts.DropHost(w.ctx, "acme", shop))
	of("acme", second)
	of("other", other)
	for _, h := range []store.OwnedHost{{Host: "shop.example", Token: "x"}, {Host: "https://Shop.example", Token: "x"}, {Host: shop}, {Host: shop, Token: "x", Proof: store.ByFile}} {
		if _, err := hosts.ClaimHost(w.ctx, h); err == nil {
			t.Errorf("%+v was stored", h)
		}
	}
	for i := range store.MaxOwnedHosts {
		claim("full", fmt.Sprintf("https://h%d.example", i), "x")
	}
	if _, err := hosts.ClaimHost(w.ctx, store.OwnedHost{Tenant: "full", Host: shop, Token: "x"}); !errors.Is(err, store.ErrConflict) {
		t.Errorf("one too many: %v", err)
	}
	claim("full", "https://h0.example", "y")
	check := func(domain string, after time.Duration, want bool) {
		t.Helper()
		w.now = w.now.Add(after)
		if ok, err := hosts.BeginCheck(w.ctx, w.now, domain); err != nil || ok != want {
			t.Errorf("check of %s: %v, %v", domain, ok, err)
		}
	}
	check("shop.example", 0, true)
	check("blog.example", 0, true)
	check("shop.example", store.CheckEvery-time.Millisecond, false)
	check("shop.example", time.Millisecond, true)
	check("shop.example", time.Millisecond, false)
}
