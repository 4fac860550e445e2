package service_test

import (
	"fmt"
	"math"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"headway/job"
	"headway/service"
	"headway/store"
	"headway/visit"
)

// crawled adds a job of one host with a fetched page, a disallowed one and one that
// waits.
func crawled(t *testing.T, s *server, tenant, host string) job.ID {
	t.Helper()
	now := store.Stored(time.Now())
	id, err := s.st.CreateJob(t.Context(), store.Job{Tenant: tenant, Name: "crawled", State: job.Running, CreatedAt: now.Add(-time.Minute), Spec: fmt.Appendf(nil, `{"seeds":[%q]}`, host)})
	if err != nil {
		t.Fatal(err)
	}
	var found []store.Found
	var items []visit.Item
	for _, path := range []string{"/", "/private", "/later"} {
		it := visit.Item{URL: mustURL(t, host+path), Job: id, Found: visit.FoundSeed}
		items, found = append(items, it), append(found, store.Found{Item: it})
	}
	if _, err := s.st.Add(t.Context(), now, found); err != nil {
		t.Fatal(err)
	}
	w, err := s.st.Join(t.Context(), now, "w")
	if err != nil {
		t.Fatal(err)
	}
	leases, err := s.st.Acquire(t.Context(), now, w, store.SlotCount)
	if err != nil {
		t.Fatal(err)
	}
	rule := visit.Evidence{Kind: visit.BlockedByRobots, At: now, Rule: "Disallow: /private", Line: 2, Group: "*", Source: fmt.Sprintf("%064x", 7), SourceAt: now, Confidence: visit.High}
	_, err = s.st.Commit(t.Context(), store.Commit{
		Worker: w, Number: 1, At: now, Leases: leases,
		Visits: []visit.Visit{
			{Item: items[0], Outcome: visit.Fetched, Answer: visit.Answer{Status: 200, WireBytes: 10}, Timing: visit.Timing{Sent: now.Add(-2 * time.Second), Total: time.Second}},
			{Item: items[1], Outcome: visit.Skipped, Reason: visit.RobotsDisallow, Evidence: []visit.Evidence{rule}},
		},
		Paces: []store.PaceChange{{Host: host, At: now, From: time.Second, To: 2 * time.Second, Cause: "incident"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.st.Leave(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	return id
}

// TestJobListCounts: a list shows the same counts for each job as the job itself.
func TestJobListCounts(t *testing.T) {
	t.Parallel()
	s := start(t, service.Config{Store: openStore(t)})
	k := key(t, s.st, "acme", store.ScopeRead)
	type row struct {
		ID             int64
		Pages, Waiting int
		Outcomes       map[string]int
	}
	var list struct{ Jobs []row }
	want := []row{}
	for i := range 3 {
		var one row
		id := crawled(t, s, "acme", fmt.Sprintf("https://shop%d.example", i))
		s.ask("GET", fmt.Sprintf("/v1/jobs/%d", id), k, nil).read(t, http.StatusOK, &one)
		want = append([]row{one}, want...) // the newest first
	}
	crawled(t, s, "other", "https://other.example")
	s.ask("GET", "/v1/jobs", k, nil).read(t, http.StatusOK, &list)
	if !reflect.DeepEqual(list.Jobs, want) {
		t.Errorf("the list says %+v, the jobs say %+v", list.Jobs, want)
	}
	if one := want[0]; one.Pages != 1 || one.Waiting != 1 || one.Outcomes["skipped: robots_disallow"] != 1 {
		t.Errorf("counted %+v", one)
	}
}

// TestReads reads slow, evidence, one host and receipts. A tenant sees only what its
// own jobs know of a host.
func TestReads(t *testing.T) {
	t.Parallel()
	s := start(t, service.Config{Store: openStore(t)})
	const host = "https://shop.example"
	path := fmt.Sprintf("/v1/jobs/%d", crawled(t, s, "acme", host))
	crawled(t, s, "other", host)
	foreign := fmt.Sprintf("/v1/jobs/%d", fill(t, s, "third"))
	k, operator, third := key(t, s.st, "acme", store.ScopeRead), key(t, s.st, "acme", store.ScopeOperator), key(t, s.st, "third", store.ScopeRead)

	var slow struct {
		Sentence string
		Parts    []struct{ Part float64 }
		Notes    []string
	}
	s.ask("GET", path+"/slow", k, nil).read(t, http.StatusOK, &slow)
	sum := 0.0
	for _, p := range slow.Parts {
		sum += p.Part
	}
	if !strings.HasPrefix(slow.Sentence, "No worker has reported") || len(slow.Notes) != 1 || len(slow.Parts) > 0 && math.Abs(sum-1) > 1e-9 {
		t.Errorf("slow: %+v", slow)
	}

	var proofs struct {
		URLs []struct {
			URL, Outcome, Reason string
			Evidence             []visit.Evidence
		}
	}
	s.ask("GET", path+"/evidence?url="+url.QueryEscape(host+"/private"), k, nil).read(t, http.StatusOK, &proofs)
	if len(proofs.URLs) != 1 || len(proofs.URLs[0].Evidence) != 1 {
		t.Fatalf("evidence of one: %+v", proofs)
	}
	if e := proofs.URLs[0].Evidence[0]; e.Rule != "Disallow: /private" || e.Line != 2 || e.Confidence != visit.High || len(e.Source) != 64 || e.At.IsZero() || e.SourceAt.IsZero() {
		t.Errorf("evidence: %+v", e)
	}
	s.ask("GET", path+"/evidence?host="+host, k, nil).read(t, http.StatusOK, &proofs)
	if len(proofs.URLs) != 2 {
		t.Errorf("evidence of a host: %+v", proofs)
	}
	s.ask("GET", path+"/evidence?url=https://nowhere.example/", k, nil).read(t, http.StatusOK, &proofs)
	if len(proofs.URLs) != 0 {
		t.Errorf("evidence of nothing: %+v", proofs)
	}
	s.ask("GET", path+"/evidence?url=nonsense", k, nil).read(t, http.StatusUnprocessableEntity, nil)

	var hosts struct {
		Hosts []struct {
			Host      string
			Waiting   int
			Incidents int
		}
	}
	for of, n := range map[string]int{path + "/hosts?host=" + host: 1, path + "/hosts?host=https://other.example": 0} {
		if s.ask("GET", of, k, nil).read(t, http.StatusOK, &hosts); len(hosts.Hosts) != n || n == 1 && (hosts.Hosts[0].Waiting != 1 || hosts.Hosts[0].Incidents != 2) {
			t.Errorf("%s: %+v", of, hosts)
		}
	}
	if s.ask("GET", foreign+"/hosts?host="+host, third, nil).read(t, http.StatusOK, &hosts); len(hosts.Hosts) > 0 {
		t.Errorf("a host of others: %+v", hosts)
	}
	var one struct {
		Host        string
		Incidents   int
		PaceChanges []struct {
			To float64 `json:"to_seconds"`
		} `json:"pace_changes"`
	}
	s.ask("GET", "/v1/hosts/one?host="+host, operator, nil).read(t, http.StatusOK, &one)
	if one.Host != host || one.Incidents != 2 || len(one.PaceChanges) != 2 || one.PaceChanges[0].To != 2 {
		t.Errorf("one host: %+v", one)
	}
	s.ask("GET", "/v1/hosts/one?host=https://nowhere.example", operator, nil).read(t, http.StatusNotFound, nil)
	s.ask("GET", "/v1/hosts/one?host="+host, k, nil).read(t, http.StatusForbidden, nil)

	if err := s.st.LogOrder(t.Context(), store.Order{At: time.Now(), By: "ann", What: "slow", Host: host, Before: "1s", After: "5s"}); err != nil {
		t.Fatal(err)
	}
	type receipt struct {
		Requests, Disallowed int
		PaceChanges          []any `json:"pace_changes"`
		Orders               []any
		Who                  struct{ Token string }
		Instructions         []any
	}
	for _, c := range []struct {
		path, key                        string
		requests, disallowed, paces, say int
	}{
		{path + "/courtesy?host=" + host, k, 1, 1, 2, 1},
		{"/v1/hosts/courtesy?host=" + host, operator, 2, 2, 2, 1},
		{foreign + "/courtesy?host=" + host, third, 0, 0, 0, 0},
	} {
		var r receipt
		s.ask("GET", c.path, c.key, nil).read(t, http.StatusOK, &r)
		if r.Requests != c.requests || r.Disallowed != c.disallowed || len(r.PaceChanges) != c.paces || len(r.Orders) != c.say || r.Who.Token == "" || len(r.Instructions) == 0 {
			t.Errorf("%s: %+v", c.path, r)
		}
	}
	s.ask("GET", path+"/courtesy?host=shop", k, nil).read(t, http.StatusUnprocessableEntity, nil)
}

// TestReceiptOfManyJobs: a receipt of a host counts the newest thousand jobs, and says
// if there are older ones.
func TestReceiptOfManyJobs(t *testing.T) {
	t.Parallel()
	s := start(t, service.Config{Store: openStore(t)})
	k := key(t, s.st, "", store.ScopeOperator)
	const host, note = "https://shop.example", "Only the newest 1000 jobs are included; requests of older jobs are not counted."
	crawled(t, s, "acme", host)
	receipt := func() (requests int, told bool) {
		t.Helper()
		var r struct {
			Requests int
			Notes    []string
		}
		s.ask("GET", "/v1/hosts/courtesy?host="+host, k, nil).read(t, http.StatusOK, &r)
		return r.Requests, slices.Contains(r.Notes, note)
	}
	if requests, told := receipt(); requests != 1 || told {
		t.Errorf("of all jobs: %d requests, told of others: %v", requests, told)
	}
	for range 1000 {
		if _, err := s.st.CreateJob(t.Context(), store.Job{State: job.Queued, CreatedAt: time.Now(), Spec: []byte(`{"seeds":["https://new.example"]}`)}); err != nil {
			t.Fatal(err)
		}
	}
	if requests, told := receipt(); requests != 0 || !told {
		t.Errorf("of the newest: %d requests, told of others: %v", requests, told)
	}
}
