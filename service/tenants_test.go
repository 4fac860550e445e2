package service_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"headway/job"
	"headway/service"
	"headway/service/apikey"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// marker is part of everything that belongs to the first tenant.
const marker = "zanzibar"

// fill makes a valid request for an operation: ids for parameters that name an object,
// and a body.
func (o *operation) fill(t testing.TB, d *document, ids map[string]string) (path string, body []byte, used int) {
	t.Helper()
	path = o.path
	query := url.Values{}
	for _, p := range o.Parameters {
		id, known := ids[p.Name]
		switch {
		case p.In == "path" && !known:
			t.Fatalf("%s: the path has a parameter %q: add its id to this test", o.OperationID, p.Name)
		case p.In == "path":
			path = strings.Replace(path, "{"+p.Name+"}", url.PathEscape(id), 1)
			used++
		case p.In == "query" && known:
			query.Set(p.Name, id)
			used++
		case p.In == "query" && p.Required:
			query.Set(p.Name, fmt.Sprint(d.example(p.Schema)))
		}
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	if s := o.body(); s != nil {
		var err error
		example := d.example(s)
		if o.OperationID == "scrape" { // no worker will fetch the page
			example.(map[string]any)["timeout_seconds"] = 1
		}
		if body, err = json.Marshal(example); err != nil {
			t.Fatal(err)
		}
	}
	return path, body, used
}

// example is a value that fits a schema.
func (d *document) example(s *schema) any {
	s = d.resolve(s)
	if len(s.Enum) > 0 {
		return s.Enum[0]
	}
	if len(s.Examples) > 0 {
		return s.Examples[0]
	}
	kind := s.Type
	if several, ok := kind.([]any); ok {
		kind = several[0]
	}
	switch kind {
	case "object":
		out := map[string]any{}
		for _, name := range s.Required {
			out[name] = d.example(s.Properties[name])
		}
		return out
	case "array":
		return []any{d.example(s.Items)}
	case "integer", "number":
		if s.Minimum != nil {
			return *s.Minimum + 1
		}
		return 1
	case "boolean":
		return true
	default:
		return "https://example.com/"
	}
}

// TestKeysOfEveryRoute sends a request to every route without a key, with expired and
// revoked keys, and with one of too narrow a scope.
func TestKeysOfEveryRoute(t *testing.T) {
	t.Parallel()
	s := start(t, service.Config{Store: openStore(t)})
	d := readDocument(t)
	fill(t, s, "acme")
	valid := key(t, s.st, "acme", store.ScopeRead)
	refused := map[string]string{
		"no key":       "",
		"garbage":      "hw_nonsense",
		"unknown":      apikey.New().Text,
		"expired":      key(t, s.st, "acme", store.ScopeOperator, func(k *store.APIKey) { k.ExpiresAt = time.Now().Add(-time.Minute) }),
		"revoked":      key(t, s.st, "acme", store.ScopeOperator, func(k *store.APIKey) { k.RevokedAt = time.Now() }),
		"wrong secret": valid[:len(valid)-4] + "AAAA",
	}
	n := 0
	for _, o := range d.operations() {
		path, body, _ := o.fill(t, d, map[string]string{"job": "1", "with": "1", "webhook": "ep_1", "schedule": "sc_1", "export": "1", "file": "pages.csv", "owned_host": "example.com"})
		for name, k := range refused {
			a := s.ask(o.method, path, k, body)
			if a.status != http.StatusUnauthorized || a.header.Get("Www-Authenticate") == "" {
				t.Errorf("%s, %s: %d %s", o.OperationID, name, a.status, a.body)
			}
			a.problem(t)
			n++
		}
		for _, scope := range store.Scopes[:slices.Index(store.Scopes, o.scope(t))] {
			a := s.ask(o.method, path, key(t, s.st, "acme", scope), body)
			if a.status != http.StatusForbidden {
				t.Errorf("%s with the scope %s: %d %s", o.OperationID, scope, a.status, a.body)
			}
			a.problem(t)
			n++
		}
	}
	t.Logf("%d requests to %d routes, all refused", n, len(d.operations()))
}

// fill adds a job with a URL for a tenant, both marked: a dry run, which has a plan.
func fill(t testing.TB, s *server, tenant string) job.ID {
	t.Helper()
	now := time.Now()
	seed := "https://" + marker + ".example/" + marker
	id, err := s.st.CreateJob(t.Context(), store.Job{
		Tenant: tenant, Name: marker, State: job.Running, MaxPages: 7777, CreatedAt: now, Reason: marker, Spec: fmt.Appendf(nil, `{"seeds":[%q],"dry_run":true}`, seed),
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.st.Add(t.Context(), now, []store.Found{{Item: visit.Item{URL: mustURL(t, seed), Job: id, Found: visit.FoundSeed}}}); err != nil {
		t.Fatal(err)
	}
	return id
}

func mustURL(t testing.TB, raw string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// things are the ids of a tenant's objects, by the parameters that name them.
func things(t testing.TB, s *server, tenant string) map[string]string {
	t.Helper()
	id := fmt.Sprint(fill(t, s, tenant))
	k := key(t, s.st, tenant, store.ScopeWrite)
	var hook, plan struct{ ID string }
	var files struct{ ID int64 }
	s.ask("POST", "/v1/webhooks", k, map[string]any{"url": "https://example.com/" + marker}).read(t, http.StatusCreated, &hook)
	s.ask("POST", "/v1/schedules", k, map[string]any{"cron": "@yearly", "job": map[string]any{"seeds": []string{"example.com"}, "name": marker}}).read(t, http.StatusCreated, &plan)
	s.ask("POST", "/v1/jobs/"+id+"/exports", k, map[string]any{"formats": []string{"csv"}}).read(t, http.StatusAccepted, &files)
	s.ask("POST", "/v1/owned-hosts", k, map[string]any{"host": "http://" + marker + ".example:8080"}).read(t, http.StatusOK, nil)
	s.exported(k, files.ID)
	return map[string]string{"owned_host": "http://" + marker + ".example:8080", "job": id, "with": id, "webhook": hook.ID, "schedule": plan.ID, "export": fmt.Sprint(files.ID), "file": "pages.csv"}
}

// problem checks that an error response follows RFC 9457.
func (a answered) problem(t testing.TB) {
	t.Helper()
	var p struct {
		Type, Title, Code, Detail, Hint string
		Status                          int
	}
	if err := json.Unmarshal(a.body, &p); err != nil || a.header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("status %d of type %q: %v: %s", a.status, a.header.Get("Content-Type"), err, a.body)
		return
	}
	if p.Type != "urn:headway:problem:"+p.Code || p.Title == "" || p.Status != a.status || p.Code == "" || p.Detail == "" || p.Hint == "" {
		t.Errorf("problem %s", a.body)
	}
}

// TestTenantsApart requests every route, with the widest key of one tenant, for every
// object of another: it is not found. Lists contain nothing of the other tenant.
func TestTenantsApart(t *testing.T) {
	t.Parallel()
	s := start(t, service.Config{Store: openStore(t), Exports: service.Exports{To: t.TempDir()}})
	d := readDocument(t)
	ids := things(t, s, "acme")
	hook, err := s.st.Endpoint(t.Context(), ids["webhook"])
	if err != nil {
		t.Fatal(err)
	}
	plan, err := s.st.Schedule(t.Context(), ids["schedule"])
	if err != nil {
		t.Fatal(err)
	}
	own := key(t, s.st, "acme", store.ScopeRead)
	other := key(t, s.st, "other", store.ScopeOperator)
	named := 0
	for _, o := range d.operations() {
		path, body, used := o.fill(t, d, ids)
		a := s.askHead(o, path, other, body)
		if used > 0 {
			named++
			if a.status != http.StatusNotFound {
				t.Errorf("%s of another tenant: %d %s", o.OperationID, a.status, a.body)
			}
			a.problem(t)
		}
		if strings.Contains(string(a.body), marker) || strings.Contains(string(a.body), "7777") {
			t.Errorf("%s contains data of another tenant: %s", o.OperationID, a.body)
		}
		if o.method == http.MethodGet && used > 0 {
			want := http.StatusOK
			if o.OperationID == "get-content" { // the job has no such page
				want = http.StatusNotFound
			}
			if a := s.askHead(o, path, own, body); a.status != want {
				t.Errorf("%s of its own tenant: %d %s", o.OperationID, a.status, a.body)
			}
		}
	}
	if named < 23 {
		t.Errorf("only %d routes name something of a tenant", named)
	}
	if j, err := s.st.Job(t.Context(), 1); err != nil || j.State != job.Running || j.MaxPages != 7777 {
		t.Errorf("the other tenant changed it: %+v, %v", j, err)
	}
	if e, err := s.st.Endpoint(t.Context(), hook.ID); err != nil || !reflect.DeepEqual(e, hook) {
		t.Errorf("the other tenant changed the webhook: %+v, %v", e, err)
	}
	if c, err := s.st.Schedule(t.Context(), plan.ID); err != nil || !reflect.DeepEqual(c, plan) {
		t.Errorf("the other tenant changed the schedule: %+v, %v", c, err)
	}
}

// askHead is ask, but reads only the header of an endless stream.
func (s *server) askHead(o *operation, path, key string, body []byte) answered {
	s.t.Helper()
	if !o.streams() {
		if body == nil {
			return s.ask(o.method, path, key, nil)
		}
		return s.ask(o.method, path, key, body)
	}
	a := s.send(o.method, path, key, nil)
	defer a.Body.Close()
	if a.StatusCode == http.StatusOK {
		return answered{a.StatusCode, a.Header, nil}
	}
	return s.finish(a)
}
