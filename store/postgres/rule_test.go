package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"headway/job"
	"headway/store"
	"headway/visit"
)

// TestServerClockIsNotRead looks for SQL that reads the server's clock: a jump there must not
// affect a lease, nor anything else. Only rate windows use it, because workers have no other
// common clock, and ClockOffset, to find clocks that differ.
func TestServerClockIsNotRead(t *testing.T) {
	clock := regexp.MustCompile(`\b(now|NOW)\(\)|(?i)current_(timestamp|time|date)|localtime|(clock|statement|transaction)_timestamp|timeofday|'now'`)
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, "_test.go") || path == "ratewindow.go" || path == "clock.go" {
			return err
		}
		text, err := os.ReadFile(path)
		if found := clock.Find(text); found != nil {
			t.Errorf("%s asks for %s", path, found)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestEndings compares the numbers of the table with the outcomes and reasons.
func TestEndings(t *testing.T) {
	s := openTest(t, t.TempDir(), nil)
	defer s.Close()
	n := 0
	for _, o := range visit.Outcomes {
		if o == visit.Pending {
			continue
		}
		reasons := visit.Reasons[o]
		if reasons == nil {
			reasons = []visit.Reason{""}
		}
		for _, r := range reasons {
			n++
			id, ok := s.endings[store.Ending{Outcome: o, Reason: r}]
			if !ok {
				t.Errorf("%s %s has no number", o, r)
			}
			if r.Provisional() != slices.Contains(strings.Split(provisional, ", "), fmt.Sprint(id)) {
				t.Errorf("%s %s: provisional is %v", o, r, r.Provisional())
			}
			if (o == visit.Deferred) != (id == deferred) || (o == visit.Fetched) != (id == 1) {
				t.Errorf("%s has number %d", o, id)
			}
			// The constraint of the tables allows it.
			if _, err := s.pool.Exec(t.Context(), "insert into outcome_0 (id, host, ended_at, fp, job, attempt, slot, ending) values ($1, 1, 1, gen_random_uuid(), 1, 0, 0, $2)", int64(id), id); err != nil {
				t.Error(err)
			}
		}
	}
	if n != len(s.endings) {
		t.Errorf("%d endings in the table, %d in the sets", len(s.endings), n)
	}
	if _, err := s.pool.Exec(t.Context(), "insert into outcome_0 (id, host, ended_at, fp, job, attempt, slot, ending) values (1000, 1, 1, gen_random_uuid(), 1, 0, 0, 50)"); err == nil {
		t.Error("an ending of nobody was stored")
	}
}

// TestLargeJobHasItsOwnTables checks where jobs are stored and what is left after a drop.
func TestLargeJobHasItsOwnTables(t *testing.T) {
	s := openBound(t, t.TempDir(), nil, bound{pages: 100, urls: 4, check: 1})
	defer s.Close()
	ctx := t.Context()
	for name, tc := range map[string]struct {
		urls int
		own  bool
	}{"small": {4, false}, "large": {5, true}} {
		id, err := s.CreateJob(ctx, store.Job{State: job.Running})
		fatal(t, err)
		var found []store.Found
		for n := range tc.urls {
			found = append(found, store.Found{Item: pageItem(t, id, n)})
		}
		_, err = s.Add(ctx, time.Now(), found)
		fatal(t, err)
		tables := func() (n int) {
			fatal(t, s.pool.QueryRow(ctx, "select count(*) from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = $1 and c.relname ~ $2", s.schema, fmt.Sprintf("^[a-z]+_%d(_|$)", id)).Scan(&n))
			return n
		}
		if (tables() > 0) != tc.own {
			t.Errorf("%s: %d tables of its own", name, tables())
		}
		fatal(t, s.SetState(ctx, time.Now(), id, job.Running, job.Cancelled, ""))
		fatal(t, s.Drop(ctx, id))
		if n := tables(); n != 0 {
			t.Errorf("%s: %d tables are left", name, n)
		}
	}
	var left int
	fatal(t, s.pool.QueryRow(ctx, "select (select count(*) from url_0) + (select count(*) from queue_0) + (select count(*) from tally) + (select count(*) from account)").Scan(&left))
	if left != 0 {
		t.Errorf("%d rows are left", left)
	}
}

// TestJobDroppedElsewhere queries a job that another process has dropped.
func TestJobDroppedElsewhere(t *testing.T) {
	for name, b := range map[string]bound{"shared tables": {}, "its own": anySize} {
		t.Run(name, func(t *testing.T) { jobDroppedElsewhere(t, b) })
	}
}

func jobDroppedElsewhere(t *testing.T, b bound) {
	place := t.TempDir()
	s, other := openBound(t, place, nil, b), openBound(t, place, nil, b)
	defer s.Close()
	defer other.Close()
	ctx, now := t.Context(), time.Now()
	for _, limit := range []int64{0, 5} {
		id, err := s.CreateJob(ctx, store.Job{State: job.Running, MaxPages: limit})
		fatal(t, err)
		it := pageItem(t, id, 1)
		_, err = s.Add(ctx, now, []store.Found{{Item: it}})
		fatal(t, err)
		w, err := s.Join(ctx, now, "w")
		fatal(t, err)
		leases, err := s.Acquire(ctx, now, w, store.SlotCount)
		fatal(t, err)
		fatal(t, other.SetState(ctx, now, id, job.Running, job.Cancelled, ""))
		fatal(t, other.Drop(ctx, id))
		if _, err := s.Add(ctx, now, []store.Found{{Item: it}}); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("add: %v", err)
		}
		c := store.Commit{Worker: w, Number: 1, At: now, Leases: leases, Found: []store.Found{{Item: it}}}
		if _, err := s.Commit(ctx, c); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("commit: %v", err)
		}
		c.Found, c.Visits = nil, []visit.Visit{{Item: it, Outcome: visit.Dead}}
		if _, err := s.Commit(ctx, c); !errors.Is(err, store.ErrNotWaiting) {
			t.Errorf("visit: %v", err)
		}
		if _, err := s.Lookup(ctx, id, it.URL); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("lookup: %v", err)
		}
		if _, err := s.List(ctx, store.Query{Job: id, Max: 1}); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("list: %v", err)
		}
		if items, err := s.Heads(ctx, now, []store.Want{{Host: it.URL.Host(), Job: id, Max: 1}}); err != nil || len(items) != 0 {
			t.Errorf("heads: %v, %v", items, err)
		}
		fatal(t, s.Leave(ctx, w))
	}
}

// TestPlans checks the plan of every statement on job tables: none may read a whole
// table.
func TestPlans(t *testing.T) {
	s := openTest(t, t.TempDir(), nil)
	defer s.Close()
	ctx := t.Context()
	fatal(t, s.change(ctx, func(ctx context.Context, c *change) error { return c.createTables(ctx, 1) })) // to move to
	conn, err := s.pool.Acquire(ctx)
	fatal(t, err)
	defer conn.Release()
	_, err = conn.Exec(ctx, "select nextval('batch')")
	fatal(t, err)
	jt := &sharedTables
	all := map[string]string{
		"addWaiting": jt.addWaiting, "addOther": jt.addOther, "setAside": jt.setAside, "readmit": jt.readmit, "readmitURL": jt.readmitURL, "extend": jt.extend,
		"reopen": jt.reopen, "keepEnded": jt.keepEnded,
		"end": jt.end, "retry": jt.retry, "trimAttempts": jt.trimAttempts, "park": jt.park, "parkLeft": jt.parkLeft, "head": jt.head, "headLater": jt.headLater,
		"lookup": jt.lookup, "attempts": jt.attempts, "listKeys": jt.listKeys, "listHost": jt.listHost, "listQueue": jt.listQueue,
		"listEnding": jt.listEnding, "listFetched": jt.listFetched,
		"addErrands": jt.addErrands, "endErrands": jt.endErrands, "parkErrands": jt.parkErrands, "errands": jt.errands,
		"pickQueued": pickQueued, "aroundTenants": aroundTenants, "largeJobs": largeJobs, "knownSegments": knownSegments,
	}
	for i := range shared {
		all["clear "+shared[i].table], all["move "+shared[i].table] = shared[i].clear(), shared[i].move(1)
	}
	for name, sql := range all {
		d, err := conn.Conn().Prepare(ctx, name, sql)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		nulls := ""
		if n := len(d.ParamOIDs); n > 0 {
			nulls = " (" + strings.TrimSuffix(strings.Repeat("null, ", n), ", ") + ")"
		}
		rows, err := conn.Query(ctx, "explain (costs off) execute \""+name+"\""+nulls)
		fatal(t, err)
		var plan []string
		for rows.Next() {
			var line string
			fatal(t, rows.Scan(&line))
			plan = append(plan, line)
		}
		fatal(t, rows.Err())
		text := strings.Join(plan, "\n")
		// Tables with a row for each worker, and with one row.
		text = strings.NewReplacer("Seq Scan on worker w", "", "Seq Scan on format f", "").Replace(text)
		if strings.Contains(text, "Seq Scan") || strings.Contains(text, "Hash Join") || strings.Contains(text, "Merge Join") {
			t.Errorf("%s:\n%s", name, text)
		}
	}
}

// TestManyProcesses lets several stores of the same database, as in several processes, crawl
// pages that all link to each other: every page is recorded once, also if the job is moved to
// its own tables meanwhile.
func TestManyProcesses(t *testing.T) {
	for name, b := range map[string]bound{"shared tables": {}, "moved": {pages: 30, urls: 1000, check: 1}} {
		t.Run(name, func(t *testing.T) { manyProcesses(t, b) })
	}
}

func manyProcesses(t *testing.T, b bound) {
	const processes, hosts = 3, 90
	place := t.TempDir()
	ctx, now := t.Context(), time.Now()
	var stores []*Store
	for range processes {
		s := openBound(t, place, nil, b)
		defer s.Close()
		stores = append(stores, s)
	}
	id, err := stores[0].CreateJob(ctx, store.Job{State: job.Running, MaxPages: hosts})
	fatal(t, err)
	_, err = stores[0].Add(ctx, now, []store.Found{{Item: pageItem(t, id, 0)}})
	fatal(t, err)
	var links []store.Found
	for n := range hosts {
		links = append(links, store.Found{Item: pageItem(t, id, n)})
	}
	errs := make(chan error, processes)
	for i, s := range stores {
		w, err := s.Join(ctx, now, "w")
		fatal(t, err)
		leases, err := s.Acquire(ctx, now, w, store.SlotCount/processes+i) // 1,024 is not a multiple of 3
		fatal(t, err)
		go func() { errs <- crawlAll(ctx, s, w, id, leases, links) }()
	}
	for range stores {
		fatal(t, <-errs)
	}
	c, err := stores[0].Audit(ctx, id)
	fatal(t, err)
	if c.Pages() != hosts || c.Waiting != 0 || c.Admitted != hosts {
		t.Errorf("%+v", c)
	}
	var tables int32
	fatal(t, stores[0].pool.QueryRow(ctx, "select shelf from job where id = $1", id).Scan(&tables))
	if moved := b != (bound{}); (tables != 0) != moved {
		t.Errorf("the job is in tables %d", tables)
	}
}

// crawlAll fetches what waits in the slots of a worker, a page per commit, until nothing
// waits anywhere.
func crawlAll(ctx context.Context, s *Store, w store.WorkerID, id job.ID, leases []store.Lease, links []store.Found) error {
	mine := map[store.Slot]bool{}
	for _, l := range leases {
		mine[l.Slot] = true
	}
	var wants []store.Want
	for _, f := range links {
		if mine[store.SlotOf(s.Key(), f.Item.URL.Domain())] {
			wants = append(wants, store.Want{Host: f.Item.URL.Host(), Job: id, Max: 1})
		}
	}
	for number := int64(1); ; {
		items, err := s.Heads(ctx, time.Now(), wants)
		if err != nil {
			return err
		}
		if len(items) == 0 {
			done, err := store.Complete(ctx, id, s)
			if done || err != nil {
				return err
			}
			continue
		}
		if got, err := s.Reserve(ctx, w, id, 1); err != nil || got != 1 {
			return fmt.Errorf("reserved %d: %w", got, err)
		}
		_, err = s.Commit(ctx, store.Commit{Worker: w, Number: number, At: time.Now(), Leases: leases, Visits: []visit.Visit{{Item: items[0], Outcome: visit.Fetched}}, Found: links})
		if err != nil {
			return err
		}
		number++
	}
}

// TestJobNumberOutOfRange queries a job number that no table could hold.
func TestJobNumberOutOfRange(t *testing.T) {
	s := openTest(t, t.TempDir(), nil)
	defer s.Close()
	const id = 1<<32 + 1
	ctx, now := t.Context(), time.Now()
	w, err := s.Join(ctx, now, "w")
	fatal(t, err)
	_, add := s.Add(ctx, now, []store.Found{{Item: pageItem(t, id, 1)}})
	_, counts := s.Counts(ctx, id)
	_, audit := s.Audit(ctx, id)
	_, get := s.Job(ctx, id)
	_, reserve := s.Reserve(ctx, w, id, 1)
	_, points := s.Points(ctx, id)
	_, reopen := s.Reopen(ctx, now, id, nil)
	for name, err := range map[string]error{
		"reopen": reopen, "add": add, "counts": counts, "audit": audit, "job": get, "reserve": reserve, "points": points, "drop": s.Drop(ctx, id), "extend": s.Extend(ctx, now, id, 1),
		"set state": s.SetState(ctx, now, id, job.Running, job.Paused, ""), "record": s.Record(ctx, []store.Point{{Job: id, At: time.UnixMilli(0), Span: store.MinSpan}}),
	} {
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if p, err := s.Hosts(ctx, store.HostQuery{Slots: []store.Slot{1}, Job: id, Max: 1}); err != nil || len(p.Hosts) != 0 {
		t.Errorf("hosts: %v, %v", p, err)
	}
}
