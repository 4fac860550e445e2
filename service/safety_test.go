package service_test

import (
	"net/http"
	"strings"
	"testing"

	"headway/service"
	"headway/store"
)

// safety is a version of the settings of a fleet.
type safety struct {
	ID     int64              `json:"id"`
	By     string             `json:"by"`
	Limits map[string]float64 `json:"safety"`
	Lease  float64            `json:"lease_seconds"`
}

// TestSafety changes the safety limits of a fleet: only operators may, each change is a
// version and an entry in the control log, and simulated limits follow.
func TestSafety(t *testing.T) {
	t.Parallel()
	s := start(t, service.Config{Store: openStore(t)})
	operator := key(t, s.st, "", store.ScopeOperator)
	write := key(t, s.st, "acme", store.ScopeWrite)
	var got safety
	s.ask("GET", "/v1/safety", operator, nil).read(t, http.StatusOK, &got)
	if got.ID != 1 || got.Limits["max_pages"] != 50 || got.Limits["max_concurrent_crawls"] != 1 || got.Limits["max_time_seconds"] != 60 || got.Lease != 30 {
		t.Errorf("a new fleet has %+v", got)
	}
	loose := map[string]any{"safety": map[string]any{"max_pages": 1000, "max_time_seconds": 0}, "lease_seconds": 20}
	for _, method := range []string{"GET", "PATCH"} {
		var body any
		if method == "PATCH" {
			body = loose
		}
		s.ask(method, "/v1/safety", write, body).read(t, http.StatusForbidden, nil)
	}
	got = safety{}
	s.ask("PATCH", "/v1/safety", operator, loose).read(t, http.StatusOK, &got)
	if _, timed := got.Limits["max_time_seconds"]; got.ID != 2 || got.Limits["max_pages"] != 1000 || timed || got.Limits["max_concurrent_crawls"] != 1 || got.Lease != 20 || !strings.Contains(got.By, "key") {
		t.Errorf("changed to %+v", got)
	}
	s.ask("PATCH", "/v1/safety", operator, loose).read(t, http.StatusOK, &got) // changes nothing
	for _, bad := range []any{map[string]any{"safety": map[string]any{"max_pages": -1}}, map[string]any{"safety": map[string]any{"max_puges": 1}}, map[string]any{"lease_seconds": 0.1}} {
		s.ask("PATCH", "/v1/safety", operator, bad).read(t, http.StatusUnprocessableEntity, nil)
	}
	var page struct {
		Versions []safety `json:"versions"`
		Next     string   `json:"next_cursor"`
	}
	s.ask("GET", "/v1/safety/history?limit=1", operator, nil).read(t, http.StatusOK, &page)
	if len(page.Versions) != 1 || page.Versions[0].ID != 2 || page.Next == "" {
		t.Fatalf("the first page is %+v", page)
	}
	s.ask("GET", "/v1/safety/history?limit=1&cursor="+page.Next, operator, nil).read(t, http.StatusOK, &page)
	if len(page.Versions) != 1 || page.Versions[0].ID != 1 {
		t.Errorf("the second page is %+v", page)
	}
	var log struct {
		Orders []struct{ What, By, Before, After string } `json:"orders"`
	}
	s.ask("GET", "/v1/orders", operator, nil).read(t, http.StatusOK, &log)
	if len(log.Orders) != 1 || log.Orders[0].What != "set-safety" || log.Orders[0].Before != "max_pages 50, max_time 1m, max_concurrent_crawls 1; lease 30s, commit gap 100ms" ||
		log.Orders[0].After != "max_pages 1000, max_concurrent_crawls 1; lease 20s, commit gap 100ms" || log.Orders[0].By != got.By {
		t.Errorf("the control log has %+v", log.Orders)
	}
	var simulated struct {
		Ceilings []struct {
			Text string `json:"text"`
		} `json:"ceilings"`
	}
	s.ask("POST", "/v1/limits/simulate", write, map[string]any{"limits": map[string]any{"max_pages": 5000}}).read(t, http.StatusOK, &simulated)
	if len(simulated.Ceilings) == 0 || simulated.Ceilings[0].Text != "max_pages 1000 (safety; requested 5000)" {
		t.Errorf("simulated: %+v", simulated)
	}
}
