package postgres

import (
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
	// Rows that were read and discarded.
	Removed float64 `json:"Rows Removed by Filter"`
	Plans   []planNode
}

// read counts the rows that scans read.
func (n *planNode) read() float64 {
	sum := 0.0
	if len(n.Plans) == 0 {
		sum = (n.Rows + n.Removed) * n.Loops
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
