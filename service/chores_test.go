package service_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"headway/fetch/guard"
	"headway/job"
	"headway/limit"
	"headway/service"
	"headway/store"
)

// receiver is a webhook receiver. It accepts what the reference library of Standard
// Webhooks verifies with one of its secrets.
type receiver struct {
	*httptest.Server

	mu      sync.Mutex
	secrets []string
	took    map[string]string // type and job, by webhook-id
	bodies  map[string][]byte // by type and job
	refused int
}

func newReceiver(t testing.TB) *receiver {
	v := &receiver{took: map[string]string{}, bodies: map[string][]byte{}}
	v.Server = httptest.NewServer(v)
	t.Cleanup(v.Close)
	return v
}

// door allows webhooks to reach the receiver.
func (v *receiver) door(t testing.TB) guard.Config {
	t.Helper()
	r, err := guard.ParseRange(fmt.Sprintf("127.0.0.0/8:%d", v.Listener.Addr().(*net.TCPAddr).Port))
	if err != nil {
		t.Fatal(err)
	}
	return guard.Config{AllowPrivate: []guard.Range{r}}
}

// ServeHTTP implements [http.Handler].
func (v *receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v.mu.Lock()
	defer v.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	verified := false
	for _, secret := range v.secrets {
		wh, bad := standardwebhooks.NewWebhook(secret)
		verified = verified || bad == nil && wh.Verify(body, r.Header) == nil
	}
	var said struct {
		Type string
		Data struct{ Job int64 }
	}
	if err != nil || !verified || json.Unmarshal(body, &said) != nil {
		v.refused++
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	event := fmt.Sprintf("%s %d", said.Type, said.Data.Job)
	v.took[r.Header.Get(standardwebhooks.HeaderWebhookID)], v.bodies[event] = event, body
}

// body is the body of an event that has arrived; nil before.
func (v *receiver) body(event string) []byte {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.bodies[event]
}

// trust sets the accepted secrets.
func (v *receiver) trust(secrets ...string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.secrets = secrets
}

// has reports whether an event has arrived, and how many were rejected.
func (v *receiver) has(event string) (arrived bool, refused int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, e := range v.took {
		arrived = arrived || e == event
	}
	return arrived, v.refused
}

// until polls a condition, and fails the test after a minute.
func until(t testing.TB, what string, is func() bool) {
	t.Helper()
	// River and PostgreSQL work in real time and report nothing here, so it is polled.
	for deadline := time.Now().Add(time.Minute); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after a minute not: %s", what)
		}
	}
}

// webhook is the part of a webhook that tests read.
type webhook struct {
	ID, URL, Secret string
	Enabled         bool
	Kinds           []string
	Reason          string    `json:"disabled_reason"`
	OldEnds         time.Time `json:"old_secret_ends_at"`
}

// TestWebhooks creates a webhook with the API. It receives signed events, including
// those that happened while no server ran, and events signed with its new secret after
// a rotation.
func TestWebhooks(t *testing.T) {
	t.Parallel()
	st, v := openStore(t), newReceiver(t)
	s := start(t, service.Config{Store: st, Webhooks: v.door(t)})
	k := key(t, st, "acme", store.ScopeWrite)
	create := func() int64 {
		t.Helper()
		var j jobView
		s.ask("POST", "/v1/jobs", k, map[string]any{"seeds": []string{"https://example.com/"}}).read(t, http.StatusCreated, &j)
		return j.ID
	}
	arrives := func(id int64) {
		t.Helper()
		until(t, fmt.Sprintf("job.created of job %d was sent", id), func() bool {
			arrived, refused := v.has(fmt.Sprintf("job.created %d", id))
			if refused > 0 {
				t.Fatalf("%d deliveries were not signed with the secret of the webhook", refused)
			}
			return arrived
		})
	}
	for _, bad := range []string{"http://example.com/", "https://user:pass@example.com/", "http://10.0.0.1/", "nonsense"} {
		s.ask("POST", "/v1/webhooks", k, map[string]any{"url": bad}).read(t, http.StatusUnprocessableEntity, nil)
	}
	before := create() // before there was a webhook
	var made, changed webhook
	a := s.ask("POST", "/v1/webhooks", k, map[string]any{"url": v.URL + "/hook", "kinds": []string{"job.created"}})
	a.read(t, http.StatusCreated, &made)
	if !strings.HasPrefix(made.Secret, "whsec_") || !made.Enabled || len(made.Kinds) != 1 || a.header.Get("Location") != "/v1/webhooks/"+made.ID {
		t.Fatalf("made: %s", a.body)
	}
	path := "/v1/webhooks/" + made.ID
	for _, p := range []string{path, "/v1/webhooks"} {
		if a := s.ask("GET", p, k, nil); !strings.Contains(string(a.body), made.ID) || strings.Contains(string(a.body), "whsec_") {
			t.Errorf("%s: %s", p, a.body)
		}
	}
	v.trust(made.Secret)
	arrives(create())

	s.stop()
	missed, err := st.CreateJob(t.Context(), store.Job{Tenant: "acme", State: job.Queued, CreatedAt: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	s = start(t, service.Config{Store: st, Webhooks: v.door(t)})
	arrives(int64(missed))
	if arrived, _ := v.has(fmt.Sprintf("job.created %d", before)); arrived {
		t.Error("an event from before the webhook was sent")
	}

	var rotated webhook
	s.ask("POST", path+"/rotate", k, nil).read(t, http.StatusOK, &rotated)
	if rotated.Secret == made.Secret || time.Until(rotated.OldEnds) < 23*time.Hour {
		t.Errorf("rotated: %+v", rotated)
	}
	arrives(create()) // by a receiver that has the old one
	v.trust(rotated.Secret)
	arrives(create())
	var list struct {
		Deliveries []struct {
			Kind, State string
			Attempts    int
		}
	}
	until(t, "all are noted as delivered", func() bool {
		s.ask("GET", path+"/deliveries", k, nil).read(t, http.StatusOK, &list)
		n := 0
		for _, d := range list.Deliveries {
			if d.State == "delivered" && d.Kind == "job.created" && d.Attempts == 1 {
				n++
			}
		}
		return n == 4
	})

	s.ask("PATCH", path, k, map[string]any{"enabled": false, "kinds": []string{}}).read(t, http.StatusOK, &changed)
	if changed.Enabled || len(changed.Kinds) != 0 || changed.URL != made.URL || !strings.HasPrefix(changed.Reason, "by key ") {
		t.Errorf("turned off: %+v", changed)
	}
	s.ask("PATCH", path, k, map[string]any{"url": "http://example.com/"}).read(t, http.StatusUnprocessableEntity, nil)
	s.ask("DELETE", path, k, nil).read(t, http.StatusNoContent, nil)
	s.ask("GET", path, k, nil).read(t, http.StatusNotFound, nil)
}

// TestStoppedJobWebhook: the webhook of a job that a limit stopped has the error, its limit,
// layer, value and what was observed, as the job object has them.
func TestStoppedJobWebhook(t *testing.T) {
	t.Parallel()
	st, v := openStore(t), newReceiver(t)
	s := start(t, service.Config{Store: st, Webhooks: v.door(t)})
	k := key(t, st, "acme", store.ScopeWrite)
	var hook webhook
	s.ask("POST", "/v1/webhooks", k, map[string]any{"url": v.URL + "/hook", "kinds": []string{"job.partial"}}).read(t, http.StatusCreated, &hook)
	v.trust(hook.Secret)
	asked := limit.Limits{Pages: 10, Requests: 20, Bytes: 3000, Time: 30 * time.Second}
	for _, n := range limit.Extendable {
		var made jobView
		s.ask("POST", "/v1/jobs", k, map[string]any{"seeds": []string{"https://example.com/"}, "limits": asked.Fields()}).read(t, http.StatusCreated, &made)
		if _, err := st.Admit(t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
		j, err := st.Job(t.Context(), job.ID(made.ID))
		if err != nil {
			t.Fatal(err)
		}
		over := j.Limits().Of(n)
		if _, err := st.Note(t.Context(), store.StopOf(j.ID, time.Now(), over.Exceeded(over.Max+over.Max/10))); err != nil {
			t.Fatal(err)
		}
		if err := st.SetState(t.Context(), time.Now(), j.ID, job.Running, job.Partial, string(n)); err != nil {
			t.Fatal(err)
		}
		type stop struct {
			Limit, Layer, Unit string
			Max, Observed      float64
		}
		var view struct {
			State, Reason string
			Errors        []struct {
				stop
				Text string
			}
		}
		s.ask("GET", fmt.Sprintf("/v1/jobs/%d", made.ID), k, nil).read(t, http.StatusOK, &view)
		if len(view.Errors) != 1 || view.Errors[0].Limit != string(n) || view.Errors[0].Layer != "job" || view.Errors[0].Observed <= view.Errors[0].Max || view.Errors[0].Text == "" {
			t.Fatalf("%s: the job has %+v", n, view)
		}
		event := fmt.Sprintf("job.partial %d", made.ID)
		until(t, event+" was sent", func() bool { return v.body(event) != nil })
		var sent struct {
			Data struct {
				stop
				State, Reason, Error string
			}
		}
		if err := json.Unmarshal(v.body(event), &sent); err != nil {
			t.Fatal(err)
		}
		if d := sent.Data; d.stop != view.Errors[0].stop || d.Error != view.Errors[0].Text || d.State != view.State || d.Reason != view.Reason {
			t.Errorf("%s: sent %+v, the job has %+v", n, d, view)
		}
	}
}

// TestSchedules creates schedules with the API, and they create jobs.
func TestSchedules(t *testing.T) {
	t.Parallel()
	s := start(t, service.Config{Store: openStore(t)})
	k := key(t, s.st, "acme", store.ScopeWrite)
	type schedule struct {
		ID, Cron string
		Jobs     int64
		LastJob  int64     `json:"last_job"`
		DueAt    time.Time `json:"due_at"`
		PausedAt time.Time `json:"paused_at"`
	}
	crawl := map[string]any{"seeds": []string{"https://example.com/"}, "limits": map[string]any{"max_pages": 5}}
	apt := map[string]any{"every_seconds": 3600, "least_seconds": 60, "most_seconds": 86_400}
	for name, bad := range map[string]map[string]any{
		"neither":       {"job": crawl},
		"both":          {"job": crawl, "cron": "@daily", "adaptive": apt},
		"no expression": {"job": crawl, "cron": "often"},
		"never":         {"job": crawl, "cron": "0 0 31 2 *"},
		"too often":     {"job": crawl, "cron": "@every 1s"},
		"bounds":        {"job": crawl, "adaptive": map[string]any{"every_seconds": 60, "least_seconds": 120, "most_seconds": 180}},
		"no job":        {"cron": "@daily"},
	} {
		if a := s.ask("POST", "/v1/schedules", k, bad); a.status != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	var daily, soon schedule
	s.ask("POST", "/v1/schedules", k, map[string]any{"job": crawl, "cron": "@daily"}).read(t, http.StatusCreated, &daily)
	if daily.Cron != "@daily" || daily.DueAt.Hour() != 0 || daily.Jobs != 0 {
		t.Errorf("daily: %+v", daily)
	}
	s.ask("POST", "/v1/schedules", k, map[string]any{"job": crawl, "adaptive": apt}).read(t, http.StatusCreated, &soon)
	until(t, "the schedule has made a job", func() bool {
		s.ask("GET", "/v1/schedules/"+soon.ID, k, nil).read(t, http.StatusOK, &soon)
		return soon.Jobs == 1
	})
	var j jobView
	s.ask("GET", fmt.Sprintf("/v1/jobs/%d", soon.LastJob), k, nil).read(t, http.StatusOK, &j)
	if j.State != "queued" || j.Tenant != "acme" || j.Limits.MaxPages != 5 || len(j.Seeds) != 1 {
		t.Errorf("its job: %+v", j)
	}
	path := "/v1/schedules/" + daily.ID
	s.ask("POST", path+"/pause", k, nil).read(t, http.StatusOK, &daily)
	if daily.PausedAt.IsZero() {
		t.Errorf("paused: %+v", daily)
	}
	daily.PausedAt = time.Time{}
	s.ask("POST", path+"/resume", k, nil).read(t, http.StatusOK, &daily)
	if !daily.PausedAt.IsZero() || daily.DueAt.Hour() != 0 {
		t.Errorf("resumed: %+v", daily)
	}
	s.ask("DELETE", path, k, nil).read(t, http.StatusNoContent, nil)
	if a := s.ask("GET", "/v1/schedules", k, nil); strings.Contains(string(a.body), daily.ID) || !strings.Contains(string(a.body), soon.ID) {
		t.Errorf("listed: %s", a.body)
	}
}

// TestExports writes files of a job if there is an export location.
func TestExports(t *testing.T) {
	t.Parallel()
	st := openStore(t)
	s := start(t, service.Config{Store: st})
	k := key(t, st, "acme", store.ScopeWrite)
	path := fmt.Sprintf("/v1/jobs/%d/exports", fill(t, s, "acme"))
	order := map[string]any{"formats": []string{"csv", "jsonl"}}
	s.ask("POST", path, k, order).read(t, http.StatusConflict, nil)
	s.stop()
	s = start(t, service.Config{Store: st, Exports: service.Exports{To: t.TempDir()}})
	s.ask("POST", path, k, map[string]any{"formats": []string{"warc"}}).read(t, http.StatusUnprocessableEntity, nil)
	var e struct {
		ID    int64
		State string
		Files []string
	}
	a := s.ask("POST", path, k, order)
	a.read(t, http.StatusAccepted, &e)
	until(t, "the files are there", func() bool {
		s.ask("GET", a.header.Get("Location"), k, nil).read(t, http.StatusOK, &e)
		return e.State == "done"
	})
	if len(e.Files) != 2 {
		t.Errorf("files %v", e.Files)
	}
	for _, name := range e.Files {
		if _, err := os.Stat(name); err != nil {
			t.Error(err)
		}
	}
}

// TestCallersWithoutTenant refuses webhooks and schedules to callers without a tenant.
func TestCallersWithoutTenant(t *testing.T) {
	t.Parallel()
	s := start(t, service.Config{Store: openStore(t), NoKeys: true})
	s.ask("POST", "/v1/webhooks", "", map[string]any{"url": "https://example.com/"}).read(t, http.StatusForbidden, nil)
	s.ask("POST", "/v1/schedules", "", map[string]any{"cron": "@daily", "job": map[string]any{"seeds": []string{"example.com"}}}).read(t, http.StatusForbidden, nil)
}

// TestFailingChores: if the background jobs fail, the service ends with their error.
func TestFailingChores(t *testing.T) {
	t.Parallel()
	var from net.ListenConfig
	l, err := from.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	wrong := errors.New("the tables are gone")
	c := service.Config{Store: openStore(t), Log: slog.New(slog.DiscardHandler)}
	if err := service.ServeBeside(t.Context(), c, l, func(context.Context) error { return wrong }); !errors.Is(err, wrong) {
		t.Errorf("the service ended with %v", err)
	}
	if err := service.Run(t.Context(), service.Config{Store: c.Store, Listen: "127.0.0.1:0", Exports: service.Exports{To: "s3://"}}); err == nil {
		t.Error("a place without a bucket was accepted")
	}
}
