package service_test

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"headway/job"
	"headway/limit"
	"headway/service"
	"headway/store"
)

// naturals are objects whose identity is what they are about: they are not created, and a
// request names them by this field.
var naturals = []string{"Host", "HostStory", "LiveHost", "PlanHost", "HostChange", "Receipt", "URLRow", "Proof", "Why"}

// durationWords are the words of fields that mean a duration. Such a field is a number and
// says its unit.
var durationWords = []string{
	"delay", "pace", "interval", "timeout", "elapsed", "took", "takes", "waited", "spent", "backoff", "patience", "retention", "spread", "gap", "age", "ttl", "latency", "duration",
	"start", "every", "least", "most", "base", "learned", "floor",
}

// notDurations are fields that have such a word and mean something else.
var notDurations = []string{
	"pace", "backoff", // objects of durations
	"pace_changes",
}

// creationWords are other names for a time of creation.
var creationWords = []string{"created", "made_at", "asked_at", "added_at", "joined", "joined_at", "born_at", "inserted_at", "creation_time"}

// identityWords are other names for the identity of an object, by its schema.
var identityWords = map[string][]string{
	"Job": {"job", "job_id"}, "JobView": {"job", "job_id"}, "Schedule": {"schedule", "schedule_id", "name"}, "Webhook": {"webhook", "webhook_id"}, "WebhookSecret": {"webhook", "webhook_id"},
	"Delivery": {"delivery", "delivery_id", "message"}, "Export": {"export", "export_id"}, "Order": {"order", "number"}, "Event": {"event", "number"}, "OptOut": {"name"}, "OwnedHost": {"name"},
}

// listed are the schemas of objects with an identity: what has a path of its own, or is
// created, deleted or numbered.
var listed = slices.Sorted(maps.Keys(identityWords))

// schemaNamed is the name that a schema refers to.
func schemaNamed(s *schema) string {
	if s == nil {
		return ""
	}
	return strings.TrimPrefix(s.Ref, "#/components/schemas/")
}

// faults lists where a document breaks the rules of the vocabulary.
func (d *document) faults() []string {
	var list []string
	fault := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	for _, name := range slices.Sorted(maps.Keys(d.Components.Schemas)) {
		s := d.Components.Schemas[name]
		for _, field := range slices.Sorted(maps.Keys(s.Properties)) {
			p := s.Properties[field]
			if slices.Contains(creationWords, field) {
				fault("%s.%s is a time of creation, which is named created_at", name, field)
			}
			if p.Format == "date-time" && !isTimeName(field) {
				fault("%s.%s is a time, whose name ends in _at", name, field)
			}
			if why := durationFault(field, d.resolve(p)); why != "" {
				fault("%s.%s %s", name, field, why)
			}
			if field == "limits" && schemaNamed(p) != "Limits" {
				fault("%s.limits is not the object of requests", name)
			}
		}
		if slices.Contains(listed, name) {
			if s.Properties["id"] == nil || !slices.Contains(s.Required, "id") {
				fault("%s has no id", name)
			}
			if c := s.Properties["created_at"]; c == nil || c.Format != "date-time" || !slices.Contains(s.Required, "created_at") {
				fault("%s has no created_at", name)
			}
			for _, word := range identityWords[name] {
				if p := s.Properties[word]; p != nil && p.Ref == "" {
					fault("%s.%s names its identity, which is id", name, word)
				}
			}
		}
	}
	return list
}

// isTimeName reports whether a field may hold a time: when something happened, or the
// ends of a period.
func isTimeName(field string) bool {
	return strings.HasSuffix(field, "_at") || slices.Contains([]string{"at", "from", "to", "until", "held_until", "turn_guess"}, field)
}

// durationFault says what is wrong with a field that is a duration.
func durationFault(field string, s *schema) string {
	for _, unit := range []string{"_ms", "_ns", "_us", "_millis", "_minutes", "_hours", "_days", "_nanoseconds"} {
		if strings.HasSuffix(field, unit) {
			return "is not in seconds"
		}
	}
	if strings.HasSuffix(field, "_seconds") {
		if s == nil || s.Type != "number" {
			return "is not a number of seconds"
		}
		return ""
	}
	words := strings.Split(field, "_")
	number := s != nil && (s.Type == "number" || s.Type == "integer" || s.Type == "string" && s.Format == "duration")
	if number && !slices.Contains(notDurations, field) && slices.Contains(durationWords, words[len(words)-1]) {
		return "is a duration without _seconds"
	}
	return ""
}

// TestVocabulary walks the published document: identities are id, times of creation
// created_at, durations numbers of seconds.
func TestVocabulary(t *testing.T) {
	t.Parallel()
	d := readDocument(t)
	for _, f := range d.faults() {
		t.Error(f)
	}
	for _, o := range d.operations() {
		status, s := o.answer()
		name := schemaNamed(s)
		_, file := o.Responses[status].Content["application/octet-stream"]
		if !file && strings.HasSuffix(o.path, "}") && o.method == "GET" && !slices.Contains(listed, name) {
			t.Errorf("%s answers with %s, whose identity is not checked", o.OperationID, name)
		}
		if elements := d.elements(s); o.method == "GET" && elements != "" && !slices.Contains(listed, elements) && !slices.Contains(naturals, elements) {
			t.Errorf("%s lists %s, whose identity is not checked", o.OperationID, elements)
		}
	}
}

// elements is the name of the objects that a list holds, empty for no list.
func (d *document) elements(s *schema) string {
	if !strings.HasSuffix(schemaNamed(s), "List") {
		return ""
	}
	for _, p := range d.resolve(s).Properties {
		if p.Items != nil && p.Items.Ref != "" {
			return schemaNamed(p.Items)
		}
	}
	return ""
}

// answer is the successful response of an operation.
func (o *operation) answer() (status string, s *schema) {
	for _, status := range slices.Sorted(maps.Keys(o.Responses)) {
		if strings.HasPrefix(status, "2") {
			return status, o.Responses[status].Content["application/json"].Schema
		}
	}
	return "", nil
}

// unread are fields of requests that the response does not show, with the reason.
var unread = map[string]string{
	"extend-job.max_pages":           "read as limits.max_pages of the job",
	"extend-job.max_requests":        "read as limits.max_requests of the job",
	"extend-job.max_bytes":           "read as limits.max_bytes of the job",
	"extend-job.max_time_seconds":    "read as limits.max_time_seconds of the job",
	"scrape.url":                     "read as page.url, or the page it redirects to",
	"scrape.as":                      "the response has these fields",
	"scrape.timeout_seconds":         "read as limits.max_time_seconds of the job",
	"simulate-limits.limits":         "nothing is created; the response has the ceilings that would apply",
	"simulate-limits.preset":         "nothing is created",
	"set-pace-of-host.delay_seconds": "read as delay_seconds of the host",
	"claim-host.tenant":              "an order of an operator; the claim is in the list of that tenant",
	"change-schedule.paused":         "read as paused_at",
}

// TestSentIsRead compares each request with the response to it: a field has the same name
// and the same shape in both.
func TestSentIsRead(t *testing.T) {
	t.Parallel()
	d := readDocument(t)
	used := map[string]bool{}
	for _, o := range d.operations() {
		_, answer := o.answer()
		if o.body() == nil || answer == nil {
			continue
		}
		sent, read := d.resolve(o.body()), d.resolve(answer)
		for _, field := range slices.Sorted(maps.Keys(sent.Properties)) {
			at := o.OperationID + "." + field
			if unread[at] != "" {
				used[at] = true
				continue
			}
			p := read.Properties[field]
			if p == nil {
				t.Errorf("%s is sent, and not read in %s", at, schemaNamed(answer))
				continue
			}
			if a, b := d.shape(sent.Properties[field]), d.shape(p); a != b {
				t.Errorf("%s is sent as %s and read as %s", at, a, b)
			}
		}
	}
	for at := range unread {
		if !used[at] {
			t.Errorf("%s is an exception that is not needed", at)
		}
	}
}

// TestRoundTrip sends a job with all settings and reads it back: what was sent is in the
// same fields, and can be sent again.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	s := start(t, service.Config{Store: openStore(t)})
	k := key(t, s.st, "acme", store.ScopeWrite)
	sent := map[string]any{
		"seeds": []any{"https://example.com/"}, "name": "all", "scope": "list", "scope_hosts": []any{"example.org"}, "include": []any{"/a/*"}, "exclude": []any{"re:b"}, "files": false,
		"sitemaps": "off", "content": []any{"text"}, "links": true, "raw": true, "extract": "name: {css: h1}\n", "preset": "polite", "failure_threshold": 7.0, "cancel_after": 9.0, "dry_run": true,
		"pace":    map[string]any{"delay_seconds": 1.5, "spread_seconds": 0.25, "jitter": 3.0, "in_flight": 2.0},
		"backoff": map[string]any{"refusing_start_seconds": 2.0, "refusing_max_seconds": 4.5, "failing_start_seconds": 3.0, "failing_max_seconds": 6.0},
		"limits":  map[string]any{"max_pages": 50.0, "max_requests": 80.0, "max_time_seconds": 90.5, "max_depth": 0.0, "max_bytes": 1e6, "max_pages_per_host": 5.0, "patience_seconds": 600.0},
	}
	same := func(path string, job func(map[string]any) map[string]any, body map[string]any) {
		t.Helper()
		var made map[string]any
		a := s.ask("POST", path, k, body)
		a.read(t, http.StatusCreated, &made)
		for _, read := range []map[string]any{made, {}} {
			if len(read) == 0 {
				s.ask("GET", a.header.Get("Location"), k, nil).read(t, http.StatusOK, &read)
			}
			for field, value := range sent {
				if diff := cmp.Diff(value, job(read)[field]); diff != "" {
					t.Errorf("%s: %s: %s", path, field, diff)
				}
			}
		}
	}
	same("/v1/jobs", func(read map[string]any) map[string]any { return read }, sent)
	same("/v1/schedules", func(read map[string]any) map[string]any { return read["job"].(map[string]any) }, map[string]any{"cron": "@daily", "job": sent})
}

// TestStoppedJob: the limit that stopped a job, its layer, value and what was observed are in
// the job object, in lists and in the events of the job; a queued job has its place.
func TestStoppedJob(t *testing.T) {
	t.Parallel()
	s := start(t, service.Config{Store: openStore(t)})
	k := key(t, s.st, "acme", store.ScopeWrite)
	type stop struct {
		Limit, Layer, Unit, Text string
		Max, Observed            float64
	}
	var made struct {
		ID    int64
		Queue struct {
			Place        int64
			Reason, Text string
		}
	}
	s.ask("POST", "/v1/jobs", k, map[string]any{"seeds": []string{"https://example.com/"}, "limits": map[string]any{"max_time_seconds": 60}}).read(t, http.StatusCreated, &made)
	s.ask("GET", fmt.Sprintf("/v1/jobs/%d", made.ID), k, nil).read(t, http.StatusOK, &made)
	if q := made.Queue; q.Place != 1 || q.Reason != "no_worker" || q.Text != "place 1: the fleet has no worker" {
		t.Errorf("queue is %+v", q)
	}
	now := time.Now()
	if _, err := s.st.Admit(t.Context(), now); err != nil {
		t.Fatal(err)
	}
	id := job.ID(made.ID)
	over := limit.Resolve(limit.Layer{Level: limit.Job, Limits: limit.Limits{Time: time.Minute}}).Of(limit.Time).Exceeded(int64(61 * time.Second))
	if _, err := s.st.Note(t.Context(), store.StopOf(id, now, over)); err != nil {
		t.Fatal(err)
	}
	if err := s.st.SetState(t.Context(), now, id, job.Running, job.Partial, string(limit.Time)); err != nil {
		t.Fatal(err)
	}
	want := stop{"max_time", "job", "seconds", "Job limit: Crawl timeout exceeded (60000ms)", 60, 61}
	var one struct{ Errors []stop }
	s.ask("GET", fmt.Sprintf("/v1/jobs/%d", made.ID), k, nil).read(t, http.StatusOK, &one)
	var list struct{ Jobs []struct{ Errors []stop } }
	s.ask("GET", "/v1/jobs", k, nil).read(t, http.StatusOK, &list)
	var limits struct{ Errors []stop }
	s.ask("GET", fmt.Sprintf("/v1/jobs/%d/limits", made.ID), k, nil).read(t, http.StatusOK, &limits)
	for what, got := range map[string][]stop{"job": one.Errors, "list": list.Jobs[0].Errors, "limits": limits.Errors} {
		if !slices.Equal(got, []stop{want}) {
			t.Errorf("%s: %+v, want %+v", what, got, want)
		}
	}
	var events struct {
		Events []struct {
			Kind string
			Data struct {
				stop
				Error string
			}
		}
	}
	s.ask("GET", "/v1/events", k, nil).read(t, http.StatusOK, &events)
	last := events.Events[len(events.Events)-1]
	if last.Kind != "job.partial" {
		t.Fatalf("the last event is %+v", last)
	}
	got := last.Data.stop
	if got.Text = last.Data.Error; got != want {
		t.Errorf("event: %+v, want %+v", got, want)
	}
}

// TestUnknownTenant refuses jobs and schedules with a key whose tenant does not exist: nothing
// would limit or count them.
func TestUnknownTenant(t *testing.T) {
	t.Parallel()
	s := start(t, service.Config{Store: openStore(t)})
	k := key(t, s.st, "", store.ScopeWrite, func(k *store.APIKey) { k.Tenant = "nosuch" })
	crawl := map[string]any{"seeds": []string{"https://example.com/"}}
	for path, body := range map[string]any{"/v1/jobs": crawl, "/v1/schedules": map[string]any{"cron": "@daily", "job": crawl}} {
		var p struct{ Code, Detail, Hint string }
		s.ask("POST", path, k, body).read(t, http.StatusUnprocessableEntity, &p)
		if p.Code != "unknown_tenant" || p.Detail != "tenant not found: nosuch" || p.Hint == "" {
			t.Errorf("%s: %+v", path, p)
		}
	}
}

// TestQuotaExhausted refuses a job of a tenant that has used up its quota, and says when it
// renews.
func TestQuotaExhausted(t *testing.T) {
	t.Parallel()
	s := start(t, service.Config{Store: openStore(t)})
	k := key(t, s.st, "acme", store.ScopeWrite)
	crawl := map[string]any{"seeds": []string{"https://example.com/"}}
	if err := s.st.SetPlan(t.Context(), store.Plan{Name: "small", MonthPages: 1}); err != nil {
		t.Fatal(err)
	}
	if err := s.st.SetTenant(t.Context(), store.Tenant{Name: "acme", Plan: "small"}); err != nil {
		t.Fatal(err)
	}
	s.ask("POST", "/v1/jobs", k, crawl).read(t, http.StatusCreated, nil)
	crawled(t, s, "acme", "https://shop.example")
	a := s.ask("POST", "/v1/jobs", k, crawl)
	var p struct{ Code, Detail, Hint string }
	a.read(t, http.StatusTooManyRequests, &p)
	renews := store.MonthOf(time.Now()).End().Format(time.RFC3339)
	if p.Code != "quota_exhausted" || p.Detail != "the monthly quota of the tenant is used up: 1 of 1 pages" || !strings.HasPrefix(p.Hint, "it renews at "+renews) || a.header.Get("Retry-After") == "" {
		t.Errorf("%+v, %v", p, a.header)
	}
	dry := map[string]any{"seeds": []string{"https://example.com/"}, "dry_run": true}
	s.ask("POST", "/v1/jobs", k, dry).read(t, http.StatusCreated, nil)
}

// shape is the type of a field.
func (d *document) shape(s *schema) string {
	if s.Ref != "" {
		return schemaNamed(s)
	}
	if s.Items != nil {
		return "list of " + d.shape(s.Items)
	}
	return fmt.Sprint(s.Type, " ", s.Format)
}

// TestProblemTypes compares the codes of the document with the reference page: every error
// response has problem types of the table, with the status of the table.
func TestProblemTypes(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/reference/problems.md")
	if err != nil {
		t.Fatal(err)
	}
	table := map[string]string{} // status by code
	for line := range strings.Lines(string(text)) {
		if cells := strings.Split(line, "|"); strings.HasPrefix(line, "| `") && len(cells) == 6 {
			table[strings.Trim(cells[1], " `")] = strings.TrimSpace(cells[2])
			if strings.TrimSpace(cells[3]) == "" || strings.TrimSpace(cells[4]) == "" {
				t.Errorf("no meaning or hint: %s", line)
			}
		}
	}
	d := readDocument(t)
	problem := d.Components.Schemas["Problem"]
	for _, code := range problem.Properties["code"].Enum {
		if table[fmt.Sprint(code)] == "" {
			t.Errorf("%v is not in the table", code)
		}
		if !slices.Contains(problem.Properties["type"].Enum, any("urn:headway:problem:"+fmt.Sprint(code))) {
			t.Errorf("%v has no URI", code)
		}
	}
	if len(problem.Properties["code"].Enum) != len(table) || len(table) == 0 {
		t.Errorf("%d codes, %d in the table", len(problem.Properties["code"].Enum), len(table))
	}
	used := map[string]bool{"unknown_path": true, "method_not_allowed": true} // of no operation
	for _, o := range d.operations() {
		for status, r := range o.Responses {
			if n, err := strconv.Atoi(status); err != nil || n < 400 {
				continue
			}
			if schemaNamed(r.Content["application/problem+json"].Schema) != "Problem" || len(r.Codes) == 0 {
				t.Errorf("%s %s is no problem of the table", o.OperationID, status)
			}
			for _, code := range r.Codes {
				used[code] = true
				if table[code] != status {
					t.Errorf("%s %s: %s has status %q in the table", o.OperationID, status, code, table[code])
				}
			}
		}
	}
	for code := range table {
		if !used[code] {
			t.Errorf("no operation has the problem %s", code)
		}
	}
}

// TestVocabularyFinds checks that the rules find what they forbid.
func TestVocabularyFinds(t *testing.T) {
	t.Parallel()
	field := func(kind, format string) *schema { return &schema{Type: kind, Format: format} }
	d := new(document)
	d.Components.Schemas = map[string]*schema{
		"Job": {Required: []string{"job"}, Properties: map[string]*schema{
			"job": field("integer", ""), "created": field("string", "date-time"), "pace_ms": field("integer", ""), "delay": field("number", ""), "wait_seconds": field("string", ""),
			"limits": {Items: field("string", "")},
		}},
	}
	got := strings.Join(d.faults(), "; ")
	for _, want := range []string{
		"Job.created is a time of creation", "Job.created is a time, whose", "Job.pace_ms is not in seconds", "Job.delay is a duration", "Job.wait_seconds is not a number", "Job.limits is not the object", "Job has no id",
		"Job has no created_at", "Job.job names its identity",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("not found: %s in %s", want, got)
		}
	}
}
