package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"headway/job"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// planNode is a node of an executed plan.
type planNode struct {
	Type  string  `json:"Node Type"`
	Rows  float64 `json:"Actual Rows"`
	Loops float64 `json:"Actual Loops"`
	// Rows that were read and discarded, by a scan and by a join.
	Removed  float64 `json:"Rows Removed by Filter"`
	Unjoined float64 `json:"Rows Removed by Join Filter"`
	Plans    []planNode
}

// read counts the rows that scans read, and those that joins compared in vain.
func (n *planNode) read() float64 {
	sum := n.Unjoined * n.Loops
	if len(n.Plans) == 0 {
		sum += (n.Rows + n.Removed) * n.Loops
	}
	for i := range n.Plans {
		sum += n.Plans[i].read()
	}
	return sum
}

// TestListHostReadsAPage lists a page of a host that has many URLs, in a job that has many
// more: no more rows are read than are listed, whatever the page.
func TestListHostReadsAPage(t *testing.T) {
	for name, b := range map[string]bound{"shared tables": {}, "its own": anySize} {
		t.Run(name, func(t *testing.T) { listHostReadsAPage(t, b) })
	}
}

func listHostReadsAPage(t *testing.T, b bound) {
	s := openBound(t, t.TempDir(), nil, b)
	defer s.Close()
	now := store.Stored(time.Now())
	id, err := s.CreateJob(t.Context(), store.Job{Name: "many", State: job.Running, CreatedAt: now})
	fatal(t, err)
	const pages = 2000
	for host := range 3 {
		var found []store.Found
		for page := range pages {
			u, err := weburl.Parse(fmt.Sprintf("http://host%d.example/%d", host, page))
			fatal(t, err)
			found = append(found, store.Found{Item: visit.Item{URL: u, Job: id, Found: visit.FoundSeed}})
		}
		_, err := s.Add(t.Context(), now, found)
		fatal(t, err)
	}
	_, err = s.pool.Exec(t.Context(), "analyze")
	fatal(t, err)
	tables, err := s.tablesOfJobs(t.Context(), []job.ID{id})
	fatal(t, err)
	jt := tables[id]
	if (jt.id != 0) != (b == anySize) {
		t.Fatalf("the job is in tables %d", jt.id)
	}
	refs, err := s.hostRefs(t.Context(), map[string]bool{"http://host1.example": true}, false)
	fatal(t, err)
	ref := refs["http://host1.example"]
	for _, after := range []byte{0x00, 0x80} {
		var text []byte
		err = s.pool.QueryRow(t.Context(), "explain (analyze, format json) "+jt.listHost, int32(id), int16(ref.slot), ref.id, [16]byte{after}, []int16{tallyWaiting, 1}, 10).Scan(&text)
		fatal(t, err)
		var plans []struct{ Plan planNode }
		fatal(t, json.Unmarshal(text, &plans))
		if n := plans[0].Plan.read(); n == 0 || n > 100 {
			t.Errorf("%v rows were read for 10 from %x on:\n%s", n, after, text)
		}
	}
	n := 0
	for q := (store.Query{Job: id, Host: "http://host1.example", Max: 700}); ; {
		page, err := s.List(t.Context(), q)
		fatal(t, err)
		n += len(page.Entries)
		if q.After = page.Next; q.After == "" {
			break
		}
	}
	if n != pages {
		t.Errorf("%d URLs listed, want %d", n, pages)
	}
}

// TestListHostWithOldPlan lists what waits on a host, and all of the host, by plans that were
// made while the tables were empty: no URL is compared with all others.
func TestListHostWithOldPlan(t *testing.T) {
	const pages = 400
	s := openTest(t, t.TempDir(), nil)
	defer s.Close()
	ctx, now := t.Context(), store.Stored(time.Now())
	id, err := s.CreateJob(ctx, store.Job{Name: "many", State: job.Running, CreatedAt: now})
	fatal(t, err)
	jt := newJobTables(0) // the shared ones
	conn, err := s.pool.Acquire(ctx)
	fatal(t, err)
	defer conn.Release()
	lists := map[string]string{"waiting": "-1, 0, 1000", "whole": "'00000000-0000-0000-0000-000000000000', array[0::smallint, 1::smallint], 1000"}
	for _, do := range []string{
		"prepare waiting (integer, smallint, bigint, integer, bigint, integer) as " + jt.listHostQueue,
		"prepare whole (integer, smallint, bigint, uuid, smallint[], integer) as " + jt.listHost,
		"execute waiting (1, 1::smallint, 1, " + lists["waiting"] + ")",
		"execute whole (1, 1::smallint, 1, " + lists["whole"] + ")",
	} {
		_, err := conn.Exec(ctx, do)
		fatal(t, err)
	}
	var found []store.Found
	for page := range pages {
		u, err := weburl.Parse(fmt.Sprintf("http://host.example/%d", page))
		fatal(t, err)
		found = append(found, store.Found{Item: visit.Item{URL: u, Job: id, Found: visit.FoundSeed}})
	}
	_, err = s.Add(ctx, now, found)
	fatal(t, err)
	refs, err := s.hostRefs(ctx, map[string]bool{"http://host.example": true}, false)
	fatal(t, err)
	ref := refs["http://host.example"]
	for name, rest := range lists {
		var text []byte
		fatal(t, conn.QueryRow(ctx, fmt.Sprintf("explain (analyze, format json) execute %s (%d, %d::smallint, %d, %s)", name, id, ref.slot, ref.id, rest)).Scan(&text))
		var plans []struct{ Plan planNode }
		fatal(t, json.Unmarshal(text, &plans))
		if n := plans[0].Plan.read(); plans[0].Plan.Rows != pages || n > 5*pages {
			t.Errorf("%s: %v rows, %v were read or compared:\n%s", name, plans[0].Plan.Rows, n, text)
		}
	}
}

// TestListHostOnOneConnection lists a host that nobody knows while all connections but one
// are in use: lists that each held one and waited for another would wait for each other.
func TestListHostOnOneConnection(t *testing.T) {
	s := openBound(t, t.TempDir(), nil, bound{})
	defer s.Close()
	id, err := s.CreateJob(t.Context(), store.Job{Name: "few", State: job.Running, CreatedAt: store.Stored(time.Now())})
	fatal(t, err)
	for range s.pool.Config().MaxConns - 1 {
		conn, err := s.pool.Acquire(t.Context())
		fatal(t, err)
		defer conn.Release()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	page, err := s.List(ctx, store.Query{Job: id, Host: "http://unknown.example"})
	if err != nil || len(page.Entries) != 0 {
		t.Errorf("%d URLs, %v, want none", len(page.Entries), err)
	}
}
