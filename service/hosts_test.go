package service_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"headway/service"
	"headway/store"
)

// TestOptOuts puts names on the list and takes them off again, and logs who did.
func TestOptOuts(t *testing.T) {
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
	// A URL there would not pass, and why says so.
	fill(t, s, "")
	s.ask("POST", "/v1/opt-outs", k, map[string]any{"host": marker + ".example"}).read(t, http.StatusOK, nil)
	if a := s.ask("GET", "/v1/jobs/1/why?url=https://"+marker+".example/"+marker, k, nil); !strings.Contains(string(a.body), marker+".example is on the list of those who asked not to be crawled") {
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
