package service_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"headway/internal/config"
	"headway/internal/pgtest"
	"headway/limit"
	"headway/service"
	"headway/service/apikey"
	"headway/store"
	"headway/store/postgres"
	"headway/store/storetest"
)

// cluster is the server of this test binary.
var cluster *pgtest.Cluster

func TestMain(m *testing.M) {
	os.Exit(pgtest.Main(m, pgtest.Config{}, func(c *pgtest.Cluster) error {
		cluster = c
		ctx := context.Background()
		return c.MakeTemplate(ctx, func(dsn string) (io.Closer, error) { return postgres.Open(ctx, postgres.Config{DSN: dsn}) })
	}))
}

// openStore opens an empty store for the test.
func openStore(t testing.TB) *postgres.Store {
	t.Helper()
	st, err := postgres.Open(t.Context(), postgres.Config{DSN: cluster.Database(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() }) // it never fails
	return st
}

// settings applies a job's settings on top of the defaults.
func settings(asked config.Asked) (*config.Settings, error) {
	return config.LoadJob(pflag.NewFlagSet("test", pflag.ContinueOnError), nil, asked)
}

// server is a service that runs for a test.
type server struct {
	t    testing.TB
	st   *postgres.Store
	base string
	stop func()
}

// start runs a service until the test ends or stop is called.
func start(t testing.TB, c service.Config) *server {
	t.Helper()
	if c.Listen == "" {
		c.Listen = "127.0.0.1:0"
	}
	if c.Rate == 0 {
		c.Rate = 1e6
	}
	c.Settings = settings
	c.Webhooks.Resolver = cmp.Or(c.Webhooks.Resolver, "127.0.0.1:1") // no name resolves
	ctx, cancel := context.WithCancel(context.Background())
	at, ended := make(chan net.Addr, 1), make(chan error, 1)
	c.Listening = func(a net.Addr) { at <- a }
	go func() { ended <- service.Run(ctx, c) }()
	s := &server{t: t, st: c.Store}
	select {
	case a := <-at:
		s.base = "http://" + a.String()
	case err := <-ended:
		cancel()
		t.Fatal(err)
	}
	stopped := false
	s.stop = func() {
		if !stopped {
			stopped = true
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	}
	t.Cleanup(s.stop)
	return s
}

// key makes a key and returns it.
func key(t testing.TB, st *postgres.Store, tenant string, scope store.Scope, change ...func(*store.APIKey)) string {
	t.Helper()
	made := apikey.New()
	k := store.APIKey{ID: made.ID, Sum: made.Sum(), Tenant: tenant, Scope: scope, CreatedAt: time.Now()}
	for _, c := range change {
		c(&k)
	}
	knowTenant(t, st, tenant)
	if err := st.CreateKey(t.Context(), time.Now(), k); err != nil {
		t.Fatal(err)
	}
	if !k.RevokedAt.IsZero() {
		if err := st.RevokeKey(t.Context(), k.RevokedAt, k.ID); err != nil {
			t.Fatal(err)
		}
	}
	return made.Text
}

// knowTenant creates a tenant that does not exist yet.
func knowTenant(t testing.TB, st *postgres.Store, tenant string) {
	t.Helper()
	list, err := st.Tenants(t.Context())
	if err == nil && tenant != "" && !slices.ContainsFunc(list, func(is store.Tenant) bool { return is.Name == tenant }) {
		err = st.SetTenant(t.Context(), store.Tenant{Name: tenant})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// answered is a response that was read.
type answered struct {
	status int
	header http.Header
	body   []byte
}

// web sends requests to the servers of tests.
var web = &http.Transport{MaxIdleConnsPerHost: 16}

// ask sends a request and reads the response. Body is sent as JSON, or unchanged if it
// is bytes.
func (s *server) ask(method, path, key string, body any, header ...string) answered {
	s.t.Helper()
	var in []byte
	switch b := body.(type) {
	case nil:
	case []byte:
		in = b
	default:
		var err error
		if in, err = json.Marshal(b); err != nil {
			s.t.Fatal(err)
		}
	}
	return s.finish(s.send(method, path, key, in, header...))
}

// send sends a request.
func (s *server) send(method, path, key string, body []byte, header ...string) *http.Response {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.base+path, bytes.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	a, err := web.RoundTrip(r)
	if err != nil {
		s.t.Fatal(err)
	}
	return a
}

// finish reads a response.
func (s *server) finish(a *http.Response) answered {
	s.t.Helper()
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answered{a.StatusCode, a.Header, text}
}

// read decodes the body of a response, which must have the given status.
func (a answered) read(t testing.TB, status int, into any) {
	t.Helper()
	if a.status != status {
		t.Fatalf("status %d, want %d: %s", a.status, status, a.body)
	}
	if into != nil {
		if err := json.Unmarshal(a.body, into); err != nil {
			t.Fatalf("%v: %s", err, a.body)
		}
	}
}

// jobView is the part of a job that tests read.
type jobView struct {
	ID     int64
	State  string
	Tenant string
	Name   string
	Limits struct {
		MaxPages int64 `json:"max_pages"`
	}
	Seeds []string
}

// TestJobs runs a job from creation to its end.
func TestJobs(t *testing.T) {
	t.Parallel()
	s := start(t, service.Config{Store: openStore(t)})
	k := key(t, s.st, "acme", store.ScopeWrite)
	var j jobView
	a := s.ask("POST", "/v1/jobs", k, map[string]any{"seeds": []string{"example.com"}, "limits": map[string]any{"max_pages": 5}, "pace": map[string]any{"delay_seconds": 1.5}})
	a.read(t, http.StatusCreated, &j)
	if j.State != "queued" || j.Tenant != "acme" || j.Name != "https://example.com" || j.Limits.MaxPages != 5 || a.header.Get("Location") != fmt.Sprintf("/v1/jobs/%d", j.ID) {
		t.Errorf("%+v, %v", j, a.header)
	}
	stored, err := s.st.Job(t.Context(), 1)
	if err != nil || string(stored.Spec) != `{"seeds":["example.com"],"settings":{"max_pages":["5"],"pace.delay":["1.5s"]}}` {
		t.Errorf("stored %s, %v", stored.Spec, err)
	}
	path := fmt.Sprintf("/v1/jobs/%d", j.ID)
	s.ask("POST", path+"/pause", k, nil).read(t, http.StatusConflict, nil)
	s.ask("POST", path+"/extend", k, map[string]any{"max_pages": 9}).read(t, http.StatusOK, &j)
	if j.Limits.MaxPages != 9 {
		t.Errorf("extended: %+v", j)
	}
	s.ask("POST", path+"/cancel", k, nil).read(t, http.StatusOK, &j)
	s.ask("POST", path+"/cancel", k, nil).read(t, http.StatusOK, &j)
	if j.State != "cancelled" {
		t.Errorf("cancelled: %+v", j)
	}
	var refused struct{ Detail, Hint string }
	s.ask("POST", path+"/extend", k, map[string]any{"max_pages": 10}).read(t, http.StatusConflict, &refused)
	if refused.Detail != "extend job 1: the job was cancelled: the state has changed" || !strings.HasPrefix(refused.Hint, "create a new job") {
		t.Errorf("extended once cancelled: %+v", refused)
	}
	s.ask("GET", path+"/compare?with=1", k, nil).read(t, http.StatusOK, nil)
	s.ask("GET", path+"/pages", k, nil).read(t, http.StatusOK, nil)
	s.ask("GET", path+"/export", k, nil).read(t, http.StatusOK, nil)
	var list struct {
		Jobs       []jobView
		NextCursor string `json:"next_cursor"`
	}
	s.ask("POST", "/v1/jobs", k, map[string]any{"seeds": []string{"https://example.org/"}}).read(t, http.StatusCreated, nil)
	s.ask("GET", "/v1/jobs?limit=1", k, nil).read(t, http.StatusOK, &list)
	if len(list.Jobs) != 1 || list.Jobs[0].Name != "https://example.org" || list.NextCursor == "" {
		t.Errorf("first page %+v", list)
	}
	next := list.NextCursor
	list.NextCursor = ""
	s.ask("GET", "/v1/jobs?limit=1&cursor="+next, k, nil).read(t, http.StatusOK, &list)
	if len(list.Jobs) != 1 || list.Jobs[0].ID != 1 || list.NextCursor != "" {
		t.Errorf("second page %+v", list)
	}
	s.ask("GET", "/v1/jobs?state=running&cursor="+next, k, nil).read(t, http.StatusUnprocessableEntity, nil)
	var events struct{ Events []struct{ Kind string } }
	s.ask("GET", "/v1/events", k, nil).read(t, http.StatusOK, &events)
	if got := fmt.Sprint(events.Events); got != "[{job.created} {job.extended} {job.cancelled} {job.created}]" {
		t.Errorf("events %s", got)
	}
}

// TestInvalidScope refuses a job with an invalid scope.
func TestInvalidScope(t *testing.T) {
	t.Parallel()
	s := start(t, service.Config{Store: openStore(t)})
	k := key(t, s.st, "acme", store.ScopeWrite)
	for name, scope := range map[string]map[string]any{
		"pattern":   {"include": []string{"re:("}},
		"exclusion": {"exclude": []string{"re:" + strings.Repeat("(a*)*", 500) + "["}},
		"host":      {"scope": "list", "scope_hosts": []string{"http://[::1"}},
	} {
		scope["seeds"] = []string{"https://example.com/"}
		a := s.ask("POST", "/v1/jobs", k, scope)
		if a.status != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d %s", name, a.status, a.body)
			continue
		}
		a.problem(t)
		a = s.ask("POST", "/v1/schedules", k, map[string]any{"cron": "@daily", "job": scope})
		if a.status != http.StatusUnprocessableEntity {
			t.Errorf("a schedule of %s: %d %s", name, a.status, a.body)
		}
	}
}

// TestSimulatedLimits returns the limits that a job would get, with the layer of each.
func TestSimulatedLimits(t *testing.T) {
	t.Parallel()
	s := start(t, service.Config{Store: openStore(t)})
	storetest.SetSafety(t, s.st, limit.Limits{})
	for _, p := range []store.Plan{{Name: "small", Limits: limit.Limits{Pages: 100}, MonthPages: 60}, {Name: "large", Limits: limit.Limits{Pages: 1000, Time: time.Hour, Hosts: 20}}} {
		if err := s.st.SetPlan(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.st.SetTenant(t.Context(), store.Tenant{Name: "acme", Plan: "small"}); err != nil {
		t.Fatal(err)
	}
	k, operator := key(t, s.st, "acme", store.ScopeRead), key(t, s.st, "", store.ScopeOperator)
	wish := func(more ...any) map[string]any {
		body := map[string]any{"limits": map[string]any{"max_pages": 5000, "max_time_seconds": 1e6, "max_depth": 3}}
		for i := 0; i+1 < len(more); i += 2 {
			body[more[i].(string)] = more[i+1]
		}
		return body
	}
	for _, c := range []struct {
		key  string
		body map[string]any
		want string
	}{
		{k, wish(), "max_pages 60 usage, max_time 1000000 job seconds, max_depth 3 job, patience 86400 job seconds"},
		{operator, wish("plan", "large"), "max_pages 1000 plan, max_time 3600 plan seconds, max_depth 3 job, patience 86400 job seconds, max_hosts 20 plan"},
		{operator, wish("tenant", "acme"), "max_pages 60 usage, max_time 1000000 job seconds, max_depth 3 job, patience 86400 job seconds"},
		{k, map[string]any{"preset": "audit"}, "max_pages 60 usage, max_time 3600 job seconds, patience 86400 job seconds"},
	} {
		var got struct {
			Ceilings []struct {
				Limit, Layer, Unit string
				Max                int64
			}
		}
		s.ask("POST", "/v1/limits/simulate", c.key, c.body).read(t, http.StatusOK, &got)
		var words []string
		for _, l := range got.Ceilings {
			words = append(words, strings.TrimSpace(fmt.Sprintf("%s %d %s %s", l.Limit, l.Max, l.Layer, l.Unit)))
		}
		if text := strings.Join(words, ", "); text != c.want {
			t.Errorf("%v: %s, want %s", c.body, text, c.want)
		}
	}
	s.ask("POST", "/v1/limits/simulate", k, wish("plan", "large")).read(t, http.StatusForbidden, nil)
	for field, code := range map[string]string{"tenant": "unknown_tenant", "plan": "unknown_plan"} {
		var p struct{ Code string }
		if s.ask("POST", "/v1/limits/simulate", operator, wish(field, "nosuch")).read(t, http.StatusUnprocessableEntity, &p); p.Code != code {
			t.Errorf("an unknown %s: %s", field, p.Code)
		}
	}
	s.ask("POST", "/v1/limits/simulate", operator, wish("plan", "none")).read(t, http.StatusUnprocessableEntity, nil)
}

// TestIdempotency creates one job per key, and returns the same response each time.
func TestIdempotency(t *testing.T) {
	t.Parallel()
	s := start(t, service.Config{Store: openStore(t)})
	k := key(t, s.st, "acme", store.ScopeWrite)
	body := map[string]any{"seeds": []string{"https://example.com/"}}
	first := s.ask("POST", "/v1/jobs", k, body, "Idempotency-Key", "one")
	first.read(t, http.StatusCreated, nil)
	s.ask("POST", "/v1/jobs/1/cancel", k, nil).read(t, http.StatusOK, nil)
	again := s.ask("POST", "/v1/jobs", k, body, "Idempotency-Key", "one")
	again.read(t, http.StatusCreated, nil)
	if !bytes.Equal(first.body, again.body) || again.header.Get("Idempotency-Replayed") != "true" || first.header.Get("Location") != again.header.Get("Location") {
		t.Errorf("first %s\nagain %s %v", first.body, again.body, again.header)
	}
	s.ask("POST", "/v1/jobs", k, map[string]any{"seeds": []string{"https://example.org/"}}, "Idempotency-Key", "one").read(t, http.StatusConflict, nil)
	s.ask("POST", "/v1/jobs", key(t, s.st, "other", store.ScopeWrite), body, "Idempotency-Key", "one").read(t, http.StatusCreated, nil)
}

// TestBounds refuses requests that are too large, too frequent, of an unknown path,
// method or content type.
func TestBounds(t *testing.T) {
	t.Parallel()
	s := start(t, service.Config{Store: openStore(t), Rate: 2})
	k := key(t, s.st, "acme", store.ScopeWrite)
	s.ask("POST", "/v1/jobs", k, append([]byte(`{"seeds":["`), append(bytes.Repeat([]byte("a"), store.MaxSpec), `"]}`...)...)).read(t, http.StatusRequestEntityTooLarge, nil)
	s.ask("DELETE", "/v1/jobs", k, nil).read(t, http.StatusMethodNotAllowed, nil)
	if a := s.ask("DELETE", "/v1/jobs", k, nil); a.header.Get("Allow") != "GET, POST" {
		t.Errorf("Allow %q", a.header.Get("Allow"))
	}
	if a := s.ask("POST", "/v1/jobs", k, []byte(`{}`), "Content-Type", "text/plain"); a.status != http.StatusUnsupportedMediaType || !strings.Contains(string(a.body), "send JSON with Content-Type") {
		t.Errorf("a body of another type: %d %s", a.status, a.body)
	}
	s.ask("GET", "/v2", k, nil).read(t, http.StatusNotFound, nil)
	limited := false
	for range 20 {
		if a := s.ask("GET", "/v1/me", k, nil); a.status == http.StatusTooManyRequests {
			limited = a.header.Get("Retry-After") != "" && strings.HasPrefix(a.header.Get("Content-Type"), "application/problem+json")
		}
	}
	if !limited {
		t.Error("no limit after twenty requests")
	}
	s.ask("GET", "/livez", "", nil).read(t, http.StatusOK, nil)
	s.ask("GET", "/readyz", "", nil).read(t, http.StatusOK, nil)
}

// TestNoKeys answers anonymous requests on loopback only, and none sent by a web page.
func TestNoKeys(t *testing.T) {
	t.Parallel()
	st := openStore(t)
	if err := service.Run(t.Context(), service.Config{Store: st, Listen: "0.0.0.0:0", NoKeys: true}); err == nil {
		t.Error("listened to everybody without keys")
	}
	s := start(t, service.Config{Store: st, NoKeys: true})
	s.ask("POST", "/v1/jobs", "", map[string]any{"seeds": []string{"https://example.com/"}}).read(t, http.StatusCreated, nil)
	s.ask("GET", "/v1/jobs/1", "", nil).read(t, http.StatusOK, nil)
	s.ask("GET", "/v1/jobs/1", key(t, st, "acme", store.ScopeRead), nil).read(t, http.StatusNotFound, nil)
	s.ask("POST", "/v1/jobs", "", map[string]any{"seeds": []string{"https://example.com/"}}, "Sec-Fetch-Site", "cross-site").read(t, http.StatusForbidden, nil)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.base+"/v1/jobs", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = "rebound.example"
	a, err := new(http.Transport).RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	if a.StatusCode != http.StatusMisdirectedRequest {
		t.Errorf("another name: %d", a.StatusCode)
	}
}

// TestAnswers reads why a URL waits, what limits a job, the usage and the control log.
func TestAnswers(t *testing.T) {
	t.Parallel()
	s := start(t, service.Config{Store: openStore(t)})
	id := fill(t, s, "acme")
	k := key(t, s.st, "acme", store.ScopeOperator)
	path := fmt.Sprintf("/v1/jobs/%d", id)
	var why struct {
		Seen    bool
		Outcome string
	}
	s.ask("GET", path+"/why?url=https://"+marker+".example/"+marker, k, nil).read(t, http.StatusOK, &why)
	if !why.Seen || why.Outcome != "pending" {
		t.Errorf("why: %+v", why)
	}
	var limits struct {
		Ceilings []struct {
			Limit, Layer string
			Max          int64
		}
	}
	s.ask("GET", path+"/limits", k, nil).read(t, http.StatusOK, &limits)
	if len(limits.Ceilings) != 1 || limits.Ceilings[0].Limit != "max_pages" || limits.Ceilings[0].Layer != "job" || limits.Ceilings[0].Max != 7777 {
		t.Errorf("limits: %+v", limits)
	}
	if err := s.st.SetPlan(t.Context(), store.Plan{Name: "small", MonthPages: 1000}); err != nil {
		t.Fatal(err)
	}
	if err := s.st.SetTenant(t.Context(), store.Tenant{Name: "acme", Plan: "small"}); err != nil {
		t.Fatal(err)
	}
	var usage struct {
		Plan       string
		Pages      int64
		MonthPages int64 `json:"month_pages"`
	}
	s.ask("GET", "/v1/usage", k, nil).read(t, http.StatusOK, &usage)
	if usage.Plan != "small" || usage.MonthPages != 1000 || usage.Pages != 0 {
		t.Errorf("usage: %+v", usage)
	}
	s.ask("POST", path+"/pause", k, nil).read(t, http.StatusOK, nil)
	var orders struct {
		Orders []struct{ By, What, Tenant, Before, After string }
	}
	s.ask("GET", "/v1/orders", k, nil).read(t, http.StatusOK, &orders)
	if len(orders.Orders) != 1 || orders.Orders[0].What != "pause" || orders.Orders[0].Before != "running" || orders.Orders[0].After != "paused" || !strings.HasPrefix(orders.Orders[0].By, "key ") {
		t.Errorf("orders: %+v", orders)
	}
}

// TestRequestIDs wants an id in each response: that of the request or a new one.
func TestRequestIDs(t *testing.T) {
	t.Parallel()
	s := start(t, service.Config{Store: openStore(t)})
	for path, status := range map[string]int{"/livez": http.StatusOK, "/v1/jobs": http.StatusUnauthorized, "/nothing": http.StatusUnauthorized} {
		a, b := s.ask("GET", path, "", nil), s.ask("GET", path, "", nil, "X-Request-Id", "trace-7")
		if a.status != status || a.header.Get("X-Request-Id") == "" || b.header.Get("X-Request-Id") != "trace-7" {
			t.Errorf("%s: %d, ids %q and %q", path, a.status, a.header.Get("X-Request-Id"), b.header.Get("X-Request-Id"))
		}
	}
}
