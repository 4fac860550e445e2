package service_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"headway/client"
	"headway/service"
	"headway/store"
)

// client is the Go client with a key.
func (s *server) client(key string) *client.Client {
	s.t.Helper()
	c, err := client.New(client.Config{Server: s.base, Key: key})
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// TestClient runs a job from creation to its end with the Go client.
func TestClient(t *testing.T) {
	t.Parallel()
	s := start(t, service.Config{Store: openStore(t)})
	c, ctx := s.client(key(t, s.st, "acme", store.ScopeWrite)), t.Context()
	asked := client.JobRequest{
		Seeds: []string{"example.com"}, Scope: new("domain"), Exclude: []string{"/cart/*"}, Files: new(false),
		Limits: &client.Limits{MaxPages: new(int64(5)), MaxDepth: new(int64(0))}, Pace: &client.JobPace{DelaySeconds: new(1.5)},
	}
	j, err := c.CreateJob(ctx, asked, client.CreateJobParams{IdempotencyKey: "one"})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%s %s %v %s %v %v", j.Tenant, j.State, j.Seeds, j.Scope, j.Exclude, *j.Pace.DelaySeconds); got != "acme queued [example.com] domain [/cart/*] 1.5" || *j.Limits.MaxPages != 5 || *j.Limits.MaxDepth != 0 {
		t.Errorf("created %s, %+v", got, j.Limits)
	}
	again, err := c.CreateJob(ctx, asked, client.CreateJobParams{IdempotencyKey: "one"})
	if err != nil || again.ID != j.ID {
		t.Errorf("again %+v, %v", again, err)
	}
	if _, err := c.ExtendJob(ctx, j.ID, client.Extension{MaxPages: new(int64(9))}); err != nil {
		t.Error(err)
	}
	if j, err = c.CancelJob(ctx, j.ID); err != nil || j.State != "cancelled" || *j.Limits.MaxPages != 9 {
		t.Errorf("cancelled %+v, %v", j, err)
	}
	_, err = c.PauseJob(ctx, j.ID)
	if p, ok := errors.AsType[*client.Problem](err); !ok || p.Status != http.StatusConflict || p.Code != client.CodeWrongState || p.Type != "urn:headway:problem:wrong_state" || p.Hint != "check its state with GET /v1/jobs/1" {
		t.Errorf("paused: %v", err)
	}
	_, err = s.client("hw_wrong").GetMe(ctx)
	if p, ok := errors.AsType[*client.Problem](err); !ok || p.Status != http.StatusUnauthorized || p.Code != client.CodeInvalidKey || p.Hint == "" {
		t.Errorf("with a wrong key: %v", err)
	}
	hook, err := c.CreateWebhook(ctx, client.WebhookRequest{URL: "https://example.com/hook"}, client.CreateWebhookParams{})
	if err != nil {
		t.Fatal(err)
	}
	if changed, err := c.ChangeWebhook(ctx, hook.ID, client.WebhookChange{Enabled: new(false), Kinds: []string{}}); err != nil || changed.Enabled {
		t.Errorf("changed %+v, %v", changed, err)
	}
	if err := c.DeleteWebhook(ctx, hook.ID); err != nil {
		t.Error(err)
	}
}

// TestClientLists reads the URLs and events of a job: in pages, as a stream, and
// across a restart of the server.
func TestClientLists(t *testing.T) {
	t.Parallel()
	s := start(t, service.Config{Store: openStore(t)})
	id := int64(fill(t, s, "acme"))
	k := key(t, s.st, "acme", store.ScopeWrite)
	c, ctx := s.client(k), t.Context()
	paged := map[string]bool{}
	for page, err := range c.AllPages(ctx, id, client.ListPagesParams{Limit: 1}) {
		if err != nil {
			t.Fatal(err)
		}
		paged[page.URL] = true
	}
	lines, err := c.ExportPages(ctx, id, client.ExportPagesParams{})
	if err != nil {
		t.Fatal(err)
	}
	defer lines.Close()
	text, err := io.ReadAll(lines)
	if n := bytes.Count(text, []byte("\n")); err != nil || n == 0 || n != len(paged) {
		t.Errorf("%d lines and %d URLs in pages, %v", n, len(paged), err)
	}
	other, err := c.CreateJob(ctx, client.JobRequest{Seeds: []string{"https://example.org/"}}, client.CreateJobParams{})
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range c.AllEvents(ctx, client.ListEventsParams{Limit: 1, Job: other.ID}) {
		if err != nil || e.Job != other.ID {
			t.Errorf("event %+v, %v", e, err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute) // to fail rather than hang
	defer cancel()
	var kinds []string
	for e, err := range c.FollowEvents(ctx, client.FollowEventsParams{Job: other.ID, After: "0"}) {
		if err != nil {
			t.Fatal(err)
		}
		if kinds = append(kinds, e.Kind); len(kinds) == 2 {
			break
		}
		if _, err := c.CancelJob(ctx, other.ID); err != nil {
			t.Fatal(err)
		}
	}
	if fmt.Sprint(kinds) != "[job.created job.cancelled]" {
		t.Errorf("followed %v", kinds)
	}
}
