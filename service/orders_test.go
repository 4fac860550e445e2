package service_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"headway/service"
	"headway/store"
)

// TestOnce creates each kind of object twice with the same idempotency key: only one
// is created, and the response is the same, including its secret unless that changed.
func TestOnce(t *testing.T) {
	t.Parallel()
	s := start(t, service.Config{Store: openStore(t), Exports: service.Exports{To: t.TempDir()}})
	k := key(t, s.st, "acme", store.ScopeWrite)
	crawl := map[string]any{"seeds": []string{"https://example.com/"}}
	hook := map[string]any{"url": "https://example.com/hook"}
	daily := map[string]any{"job": crawl, "cron": "@daily"}
	for _, c := range []struct {
		path   string
		body   any
		list   string // where all are listed; empty for nowhere
		status int
	}{
		{"/v1/jobs", crawl, "/v1/jobs", http.StatusCreated},
		{"/v1/webhooks", hook, "/v1/webhooks", http.StatusCreated},
		{"/v1/schedules", daily, "/v1/schedules", http.StatusCreated},
		{"/v1/jobs/1/exports", map[string]any{"formats": []string{"csv"}}, "", http.StatusAccepted},
	} {
		header := []string{"Idempotency-Key", "key of " + c.path}
		header[1] = strings.ReplaceAll(header[1], " ", "-")
		const senders = 4
		answers := make([]answered, senders)
		var wg sync.WaitGroup
		for i := range senders {
			wg.Go(func() { answers[i] = s.ask("POST", c.path, k, c.body, header...) })
		}
		wg.Wait()
		fresh := 0
		for _, a := range answers {
			a.read(t, c.status, nil)
			if a.header.Get("Idempotency-Replayed") == "" {
				fresh++
			}
			if !bytes.Equal(a.body, answers[0].body) || a.header.Get("Location") != answers[0].header.Get("Location") || a.header.Get("Location") == "" {
				t.Errorf("%s: %s %v\nand %s %v", c.path, a.body, a.header, answers[0].body, answers[0].header)
			}
		}
		if fresh != 1 {
			t.Errorf("%s: %d of %d created something", c.path, fresh, senders)
		}
		if c.list != "" {
			var all map[string][]json.RawMessage
			s.ask("GET", c.list, k, nil).read(t, http.StatusOK, &all)
			for name, list := range all {
				if len(list) != 1 {
					t.Errorf("%d %s", len(list), name)
				}
			}
		}
		// A key cannot be reused for another kind of object.
		s.ask("POST", "/v1/webhooks", k, map[string]any{"url": "https://example.com/another"}, header...).read(t, http.StatusConflict, nil)
	}

	var secret struct{ ID, Secret string }
	send := func() answered { return s.ask("POST", "/v1/webhooks", k, hook, "Idempotency-Key", "rotated") }
	send().read(t, http.StatusCreated, &secret)
	if !strings.HasPrefix(secret.Secret, "whsec_") {
		t.Errorf("secret %q", secret.Secret)
	}
	s.ask("POST", "/v1/webhooks/"+secret.ID+"/rotate", k, nil).read(t, http.StatusOK, nil)
	if send().read(t, http.StatusCreated, &secret); secret.Secret != "" {
		t.Error("a secret that was replaced is shown")
	}
	s.ask("DELETE", "/v1/webhooks/"+secret.ID, k, nil).read(t, http.StatusNoContent, nil)
	send().read(t, http.StatusCreated, nil)
	// A rejected request is not remembered.
	s.ask("POST", "/v1/webhooks", k, map[string]any{"url": "http://example.com/hook"}, "Idempotency-Key", "refused").read(t, http.StatusUnprocessableEntity, nil)
	s.ask("POST", "/v1/webhooks", k, hook, "Idempotency-Key", "refused").read(t, http.StatusCreated, nil)
}

// TestOrders logs every order. A tenant reads the orders about its own objects, an
// operator reads all.
func TestOrders(t *testing.T) {
	t.Parallel()
	s := start(t, service.Config{Store: openStore(t)})
	k, other, operator := key(t, s.st, "acme", store.ScopeWrite), key(t, s.st, "other", store.ScopeWrite), key(t, s.st, "ops", store.ScopeOperator)
	crawl := map[string]any{"seeds": []string{"https://example.com/"}, "limits": map[string]any{"max_pages": 10}}
	s.ask("POST", "/v1/jobs", k, crawl).read(t, http.StatusCreated, nil)
	var slowed struct {
		Delay float64 `json:"delay_seconds"`
	}
	s.ask("POST", "/v1/jobs/1/set-pace", k, map[string]any{"delay_seconds": 5}).read(t, http.StatusOK, &slowed)
	if slowed.Delay != 5 {
		t.Errorf("slowed to %v s", slowed.Delay)
	}
	s.ask("POST", "/v1/jobs/1/set-pace", k, map[string]any{"delay_seconds": 60.001}).read(t, http.StatusUnprocessableEntity, nil)
	s.ask("POST", "/v1/jobs/1/set-pace", other, map[string]any{"delay_seconds": 0.001}).read(t, http.StatusNotFound, nil)
	s.ask("POST", "/v1/jobs/1/extend", k, map[string]any{"max_pages": 20}).read(t, http.StatusOK, nil)
	s.ask("POST", "/v1/jobs/1/cancel", k, nil).read(t, http.StatusOK, nil)
	s.ask("POST", "/v1/jobs/1/cancel", k, nil).read(t, http.StatusOK, nil) // cancelled already
	s.ask("POST", "/v1/jobs/1/set-pace", k, map[string]any{"delay_seconds": 0.001}).read(t, http.StatusConflict, nil)
	var made struct{ ID string }
	s.ask("POST", "/v1/webhooks", k, map[string]any{"url": "https://example.com/hook"}).read(t, http.StatusCreated, &made)
	hook := "/v1/webhooks/" + made.ID
	s.ask("PATCH", hook, k, map[string]any{"enabled": false}).read(t, http.StatusOK, nil)
	s.ask("POST", hook+"/rotate", k, nil).read(t, http.StatusOK, nil)
	s.ask("DELETE", hook, k, nil).read(t, http.StatusNoContent, nil)
	s.ask("POST", "/v1/schedules", other, map[string]any{"job": crawl, "cron": "@daily"}).read(t, http.StatusCreated, &made)
	schedule := "/v1/schedules/" + made.ID
	s.ask("PATCH", schedule, other, map[string]any{"cron": "@weekly"}).read(t, http.StatusOK, nil)
	s.ask("POST", schedule+"/pause", other, nil).read(t, http.StatusOK, nil)
	s.ask("POST", schedule+"/resume", other, nil).read(t, http.StatusOK, nil)
	s.ask("DELETE", schedule, other, nil).read(t, http.StatusNoContent, nil)

	// read follows the log page by page.
	read := func(k, query string) (list []string) {
		t.Helper()
		for cursor := ""; ; {
			var page struct {
				Orders []struct{ By, What, Before, After, Tenant, About string }
				Next   string `json:"next_cursor"`
			}
			s.ask("GET", "/v1/orders?limit=2"+query+"&cursor="+cursor, k, nil).read(t, http.StatusOK, &page)
			for _, o := range page.Orders {
				if !strings.HasPrefix(o.By, "key ") || o.Tenant == "" {
					t.Errorf("%+v", o)
				}
				list = append(list, fmt.Sprintf("%s %s>%s", o.What, o.Before, o.After))
			}
			if cursor = page.Next; cursor == "" {
				return list
			}
		}
	}
	jobs := []string{"set-pace 0s>5s", "extend max_pages 10 (job)>max_pages 20 (job)", "cancel queued>cancelled"}
	hooks := []string{
		"create-webhook >https://example.com/hook", "change-webhook https://example.com/hook>https://example.com/hook, off",
		"rotate-webhook https://example.com/hook, off>https://example.com/hook, off", "delete-webhook https://example.com/hook, off>",
	}
	schedules := []string{
		"create-schedule >https://example.com: @daily", "change-schedule https://example.com: @daily>https://example.com: @weekly", "pause-schedule https://example.com: @weekly>https://example.com: @weekly, paused",
		"resume-schedule https://example.com: @weekly, paused>https://example.com: @weekly", "delete-schedule https://example.com: @weekly>",
	}
	want := func(got []string, parts ...[]string) {
		t.Helper()
		var all []string
		for _, p := range parts {
			all = append(all, p...)
		}
		if strings.Join(got, "\n") != strings.Join(all, "\n") {
			t.Errorf("read\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(all, "\n"))
		}
	}
	want(read(k, ""), jobs, hooks)
	want(read(k, "&job=1"), jobs)
	want(read(other, ""), schedules)
	s.ask("GET", "/v1/orders?job=1", other, nil).read(t, http.StatusNotFound, nil)
	s.ask("GET", "/v1/orders?host=%00", other, nil).read(t, http.StatusOK, nil) // not a valid host
	want(read(operator, ""), jobs, hooks, schedules)
}

// TestChangeSchedule changes the times and the request of a schedule.
func TestChangeSchedule(t *testing.T) {
	t.Parallel()
	s := start(t, service.Config{Store: openStore(t)})
	k := key(t, s.st, "acme", store.ScopeWrite)
	crawl := func(seed string) map[string]any { return map[string]any{"seeds": []string{seed}} }
	apt := map[string]any{"every_seconds": 3600, "least_seconds": 3600, "most_seconds": 7200}
	var is struct {
		ID, Cron string
		Adaptive *struct {
			Every int64 `json:"every_seconds"`
		}
		Job struct {
			Name  string
			Seeds []string
		}
		DueAt    time.Time `json:"due_at"`
		PausedAt time.Time `json:"paused_at"`
	}
	s.ask("POST", "/v1/schedules", k, map[string]any{"job": crawl("https://example.com/"), "cron": "0 0 1 1 *"}).read(t, http.StatusCreated, &is)
	path, newYear := "/v1/schedules/"+is.ID, is.DueAt
	for _, bad := range []map[string]any{
		{"cron": "* * * * * *"},
		{"cron": "no"},
		{"cron": "@daily", "adaptive": apt},
		{"adaptive": map[string]any{"every_seconds": 60, "least_seconds": 120, "most_seconds": 240}},
		{"job": map[string]any{"seeds": []string{}}},
		{"job": crawl("ftp://example.com/")},
	} {
		if a := s.ask("PATCH", path, k, bad); a.status != http.StatusUnprocessableEntity {
			t.Errorf("%v: %d %s", bad, a.status, a.body)
		}
	}
	change := func(c map[string]any) {
		t.Helper()
		is.Adaptive, is.Cron, is.PausedAt = nil, "", time.Time{}
		s.ask("PATCH", path, k, c).read(t, http.StatusOK, &is)
	}
	if change(map[string]any{}); is.Cron != "0 0 1 1 *" || !is.DueAt.Equal(newYear) {
		t.Errorf("nothing changed: %+v", is)
	}
	if change(map[string]any{"job": crawl("https://example.org/")}); is.Job.Name != "https://example.org" || is.Job.Seeds[0] != "https://example.org/" || !is.DueAt.Equal(newYear) || is.Cron == "" {
		t.Errorf("another job: %+v", is)
	}
	if change(map[string]any{"paused": true, "cron": "@daily"}); is.PausedAt.IsZero() || is.Cron != "@daily" || time.Until(is.DueAt) > 24*time.Hour {
		t.Errorf("paused, at other times: %+v", is)
	}
	if change(map[string]any{"adaptive": apt}); is.PausedAt.IsZero() || is.Cron != "" || is.Adaptive == nil || is.Adaptive.Every != 3600 {
		t.Errorf("by an interval: %+v", is)
	}
	if change(map[string]any{"paused": false, "cron": "@weekly"}); !is.PausedAt.IsZero() || is.Cron != "@weekly" || is.Adaptive != nil || time.Until(is.DueAt) > 7*24*time.Hour {
		t.Errorf("resumed: %+v", is)
	}
	s.ask("PATCH", path, key(t, s.st, "other", store.ScopeWrite), map[string]any{"paused": true}).read(t, http.StatusNotFound, nil)
}
