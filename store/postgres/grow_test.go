package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"headway/job"
	"headway/limit"
	"headway/store"
	"headway/store/storetest"
	"headway/visit"
	"headway/weburl"
)

// relations counts everything that a store has in its database: tables and partitions, their
// indexes, sequences, and the TOAST tables of all these with their indexes.
const relations = `with own as (select c.oid, c.reltoastrelid from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = $1 and c.relkind in ('r', 'p', 'i', 'I', 'S'))
	select (select count(*) from own) + (select count(*) from pg_class c where c.oid in (select reltoastrelid from own))
		+ (select count(*) from pg_index x where x.indrelid in (select reltoastrelid from own where reltoastrelid <> 0))`

// TestManyJobsShareTables admits many jobs without a page limit. None of them gets its own
// tables before it has grown.
func TestManyJobsShareTables(t *testing.T) {
	const jobs, most, rate = 200, 300, 20
	ctx, now := t.Context(), time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	s, err := Open(ctx, Config{DSN: cluster.DSN("postgres"), Schema: nameOf(t.TempDir())}) // with all partitions
	fatal(t, err)
	defer s.Close()
	storetest.SetSafety(t, s, limit.Limits{})
	var before, after int
	fatal(t, s.pool.QueryRow(ctx, relations, s.schema).Scan(&before))
	begin := time.Now()
	for range jobs {
		_, err := s.CreateJob(ctx, store.Job{Tenant: "acme", Name: "x", State: job.Queued, CreatedAt: now})
		fatal(t, err)
	}
	list, err := s.Admit(ctx, now)
	fatal(t, err)
	took := time.Since(begin)
	if perSecond := jobs / took.Seconds(); len(list) != jobs || perSecond < rate {
		t.Errorf("%d of %d jobs admitted in %s: %.0f a second, want %d", len(list), jobs, took, perSecond, rate)
	}
	fatal(t, s.pool.QueryRow(ctx, relations, s.schema).Scan(&after))
	t.Logf("%d relations before, %d after, %s", before, after, took)
	if after > most || after != before {
		t.Errorf("%d relations before, %d with %d jobs; want at most %d", before, after, jobs, most)
	}
}

// crowded is a job with rows in all tables, beside another one.
type crowded struct {
	id, other job.ID
	worker    store.WorkerID
	leases    []store.Lease
	number    int64
	now       time.Time
}

// crowd creates two jobs with the same URLs and gives them rows in all tables.
func crowd(t *testing.T, s *Store) *crowded {
	t.Helper()
	ctx, c := t.Context(), &crowded{now: time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)}
	var err error
	c.worker, err = s.Join(ctx, c.now, "w")
	fatal(t, err)
	c.leases, err = s.Acquire(ctx, c.now, c.worker, store.SlotCount)
	fatal(t, err)
	for _, id := range []*job.ID{&c.id, &c.other} {
		*id, err = s.CreateJob(ctx, store.Job{State: job.Running, CreatedAt: c.now})
		fatal(t, err)
		var found []store.Found
		for n := range crowdURLs {
			found = append(found, store.Found{Item: pageItem(t, *id, n)})
		}
		for n := range 3 {
			out := pageItem(t, *id, 1000+n)
			out.Via = pageItem(t, *id, n).URL
			found = append(found, store.Found{Item: out, Outcome: visit.Skipped, Reason: visit.OutOfScope})
		}
		_, err = s.Add(ctx, c.now, found)
		fatal(t, err)
		page := func(n int) visit.Visit {
			v := visit.Visit{Item: pageItem(t, *id, n), Outcome: visit.Fetched}
			v.Page.Content = &visit.Content{Text: fmt.Sprint("page ", n), Words: 2, Digest: "d"}
			v.Links = []visit.Link{{URL: pageItem(t, *id, 0).URL, Kind: "a", Anchor: "first"}}
			v.Page.Links = visit.Keep(v.Links, false)
			return v
		}
		waits := visit.Visit{Item: pageItem(t, *id, 5), Outcome: visit.Pending, Wait: visit.WaitHold}
		c.commit(t, s, store.Commit{
			Visits:  []visit.Visit{page(1), page(2), {Item: pageItem(t, *id, 3), Outcome: visit.Dead}},
			Retries: []store.Retry{{Visit: waits, Attempt: 1, NotBefore: c.now.Add(time.Hour)}},
			Errands: []store.Errand{{Job: *id, URL: pageItem(t, *id, 1).URL}, {Job: *id, URL: pageItem(t, *id, 6).URL}},
		})
		c.commit(t, s, store.Commit{Ran: []store.Errand{{Job: *id, URL: pageItem(t, *id, 1).URL}}})
	}
	return c
}

const crowdURLs = 12

func (c *crowded) commit(t *testing.T, s *Store, x store.Commit) {
	t.Helper()
	c.number++
	x.Worker, x.Number, x.At, x.Leases = c.worker, c.number, c.now, c.leases
	_, err := s.Commit(t.Context(), x)
	fatal(t, err)
}

// all is everything that can be read about a job, as text.
func (c *crowded) all(t *testing.T, s *Store, id job.ID) string {
	t.Helper()
	ctx := t.Context()
	var lines []string
	add := func(what string, value any, err error) {
		t.Helper()
		fatal(t, err)
		text, err := json.Marshal(value)
		fatal(t, err)
		lines = append(lines, what+" "+string(text))
	}
	for _, q := range []store.Query{{}, {Outcome: visit.Pending}, {Outcome: visit.Fetched}, {Outcome: visit.Dead}, {Host: pageItem(t, id, 1).URL.Host()}} {
		q.Job, q.Max, q.Texts, q.Links = id, 2, true, true
		for {
			page, err := s.List(ctx, q)
			fatal(t, err)
			for i := range page.Entries {
				e := &page.Entries[i]
				e.Item.Job = 0
				add(fmt.Sprint("list ", q.Outcome, q.Host, e.Item.URL), e, nil)
			}
			if q.After = page.Next; q.After == "" {
				break
			}
		}
	}
	var wants []store.Want
	for n := range crowdURLs {
		u := pageItem(t, id, n).URL
		e, err := s.Lookup(ctx, id, u)
		add("lookup", e.Attempts, err)
		content, err := s.Content(ctx, id, u)
		add("content", content, err)
		links, err := s.Links(ctx, id, u)
		add("links", links, err)
		wants = append(wants, store.Want{Host: u.Host(), Job: id, Max: 3})
	}
	heads, err := s.Heads(ctx, c.now, wants)
	for i := range heads {
		add("head "+heads[i].URL.String(), heads[i].Attempt, err)
	}
	errands, err := s.Errands(ctx, wants)
	for i := range errands {
		add("errand", errands[i].URL.String(), err)
	}
	aside, err := s.ListAside(ctx, id, "", 10)
	for i := range aside.URLs {
		add("aside", aside.URLs[i].Item.URL.String(), err)
	}
	hosts, err := s.HostList(ctx, store.HostListQuery{Job: id, Max: 100})
	add("hosts", hosts, err)
	inlinks, err := s.Inlinks(ctx, store.InlinkQuery{Job: id, URL: pageItem(t, id, 0).URL, Max: 10})
	add("inlinks", inlinks, err)
	attempts, err := s.Attempts(ctx, store.AttemptQuery{Job: id, Host: pageItem(t, id, 5).URL.Host(), Max: 10})
	add("attempts", len(attempts.Attempts), err)
	counts, err := s.Counts(ctx, id)
	fatal(t, err)
	audit, err := s.Audit(ctx, id)
	if err != nil || !counts.Equal(audit) {
		t.Errorf("counts %+v, rows %+v, %v", counts, audit, err)
	}
	lines = append(lines, fmt.Sprint("counts ", audit.Waiting, audit.Pages(), audit.Seen(), audit.Errands, audit.Admitted))
	slices.Sort(lines) // a list has another order in other tables
	return strings.Join(lines, "\n")
}

// tablesIn is the number of the tables of a job.
func tablesIn(t *testing.T, s *Store, id job.ID) (tables int32) {
	t.Helper()
	fatal(t, s.pool.QueryRow(t.Context(), "select shelf from job where id = $1", id).Scan(&tables))
	return tables
}

// leftIn counts the rows of a job in the shared tables.
func leftIn(t *testing.T, s *Store, id job.ID) (n int) {
	t.Helper()
	for _, table := range []string{"url", "queue", "outcome", "attempt", "aside", "errand", "inlink"} {
		var here int
		fatal(t, s.pool.QueryRow(t.Context(), "select count(*) from "+table+"_0 where job = $1", id).Scan(&here))
		n += here
	}
	return n
}

// TestMoveJob moves a job with rows in all tables. Nothing is lost or doubled, another
// process that believes it in the shared tables reads and changes it all the same, and the
// other job stays as it is. Before that the move fails at each of its statements, which
// changes nothing.
func TestMoveJob(t *testing.T) {
	stop, errStop := 0, errors.New("stopped")
	place := t.TempDir()
	s, other := openTest(t, place, func(string) error {
		if stop--; stop == 0 {
			return errStop
		}
		return nil
	}), openTest(t, place, nil)
	defer s.Close()
	defer other.Close()
	c := crowd(t, s)
	want, same := c.all(t, other, c.id), c.all(t, other, c.other)
	if !strings.Contains(want, "page 2") || !strings.Contains(want, "attempts 1") || !strings.Contains(want, "errand ") || !strings.Contains(want, "aside ") {
		t.Fatalf("the job has not all kinds of rows:\n%s", want)
	}
	for at := 1; ; at++ {
		stop = at
		err := s.moveJob(t.Context(), int32(c.id))
		stop = 0
		if err == nil {
			if at < len(shared) {
				t.Errorf("moved in %d statements", at)
			}
			break
		}
		if !errors.Is(err, errStop) {
			t.Fatal(err)
		}
		if in := tablesIn(t, s, c.id); in != 0 || c.all(t, s, c.id) != want {
			t.Fatalf("stopped at statement %d: the job is in tables %d, or differs", at, in)
		}
	}
	if in := tablesIn(t, s, c.id); in != int32(c.id) || leftIn(t, s, c.id) != 0 {
		t.Errorf("the job is in tables %d, %d rows are left", in, leftIn(t, s, c.id))
	}
	fatal(t, s.moveJob(t.Context(), int32(c.id))) // nothing to do
	for name, s := range map[string]*Store{"the process that moved it": s, "another": other} {
		if diff := cmp.Diff(want, c.all(t, s, c.id)); diff != "" {
			t.Errorf("%s reads:\n%s", name, diff)
		}
		if diff := cmp.Diff(same, c.all(t, s, c.other)); diff != "" {
			t.Errorf("%s reads of the other job:\n%s", name, diff)
		}
	}
}

// TestStaleProcess works on a job after another process has moved it.
func TestStaleProcess(t *testing.T) {
	now := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	for name, do := range map[string]func(t *testing.T, s *Store, c *crowded) error{
		"heads": func(t *testing.T, s *Store, c *crowded) error {
			items, err := s.Heads(t.Context(), now, []store.Want{{Host: pageItem(t, c.id, 7).URL.Host(), Job: c.id, Max: 1}, {Host: pageItem(t, c.other, 7).URL.Host(), Job: c.other, Max: 1}})
			if err == nil && len(items) != 2 {
				err = fmt.Errorf("%d items", len(items))
			}
			return err
		},
		"errands": func(t *testing.T, s *Store, c *crowded) error {
			list, err := s.Errands(t.Context(), []store.Want{{Host: pageItem(t, c.id, 6).URL.Host(), Job: c.id, Max: 4}})
			if err == nil && len(list) != 1 {
				err = fmt.Errorf("%d errands", len(list))
			}
			return err
		},
		"commit": func(t *testing.T, s *Store, c *crowded) error {
			v := visit.Visit{Item: pageItem(t, c.id, 7), Outcome: visit.Fetched}
			v.Page.Content = &visit.Content{Text: "new", Words: 1, Digest: "d"}
			c.commit(t, s, store.Commit{
				Visits: []visit.Visit{v, {Item: pageItem(t, c.other, 7), Outcome: visit.Fetched}},
				Found:  []store.Found{{Item: pageItem(t, c.id, 1)}, {Item: pageItem(t, c.id, 50)}, {Item: pageItem(t, c.other, 50)}},
			})
			counts, err := s.Counts(t.Context(), c.id)
			if content, no := s.Content(t.Context(), c.id, v.Item.URL); no != nil || content.Text != "new" || counts.Pages() != 4 || counts.Seen() != crowdURLs+4 {
				return fmt.Errorf("%+v, %+v, %w", content, counts, no)
			}
			return err
		},
		"add": func(t *testing.T, s *Store, c *crowded) error {
			r, err := s.Add(t.Context(), now, []store.Found{{Item: pageItem(t, c.id, 1)}, {Item: pageItem(t, c.id, 50)}})
			if err == nil && len(r.Fresh) != 1 {
				err = fmt.Errorf("%d new URLs", len(r.Fresh))
			}
			return err
		},
		"add in a shared transaction": func(t *testing.T, s *Store, c *crowded) error {
			return s.Together(t.Context(), func(ctx context.Context) error {
				_, err := s.Add(ctx, now, []store.Found{{Item: pageItem(t, c.id, 50)}})
				return err
			})
		},
		"reopen": func(t *testing.T, s *Store, c *crowded) error {
			n, err := s.Reopen(t.Context(), now, c.id, []weburl.URL{pageItem(t, c.id, 1).URL})
			if err == nil && n != 1 {
				err = fmt.Errorf("%d URLs", n)
			}
			return err
		},
		"readmit": func(t *testing.T, s *Store, c *crowded) error {
			page, err := s.ListAside(t.Context(), c.id, "", 10)
			if err != nil {
				return err
			}
			s.rememberTables(c.id, 0) // the list has noticed the move
			n, err := s.Readmit(t.Context(), now, c.id, page.URLs)
			if err == nil && n != 3 {
				err = fmt.Errorf("%d URLs", n)
			}
			return err
		},
		"extend": func(t *testing.T, s *Store, _ *crowded) error {
			id, err := s.CreateJob(t.Context(), store.Job{State: job.Running, MaxPages: 1, CreatedAt: now})
			fatal(t, err)
			_, err = s.Add(t.Context(), now, []store.Found{{Item: pageItem(t, id, 1), Outcome: visit.Deferred}})
			fatal(t, err)
			fatal(t, s.moveJob(t.Context(), int32(id)))
			s.rememberTables(id, 0)
			fatal(t, s.Extend(t.Context(), now, id, 2))
			counts, err := s.Audit(t.Context(), id)
			if err == nil && (counts.Waiting != 1 || counts.Seen() != 1) {
				err = fmt.Errorf("%+v", counts)
			}
			return err
		},
		"drop": func(t *testing.T, s *Store, c *crowded) error {
			if err := s.SetState(t.Context(), now, c.id, job.Running, job.Cancelled, ""); err != nil {
				return err
			}
			return s.Drop(t.Context(), c.id)
		},
	} {
		t.Run(name, func(t *testing.T) {
			place := t.TempDir()
			s, mover := openTest(t, place, nil), openTest(t, place, nil)
			defer s.Close()
			defer mover.Close()
			c := crowd(t, s)
			fatal(t, mover.moveJob(t.Context(), int32(c.id)))
			fatal(t, do(t, s, c))
			if n := leftIn(t, s, c.id); n != 0 {
				t.Errorf("%d rows in the shared tables", n)
			}
			for _, id := range []job.ID{c.id, c.other} {
				counts, err := s.Counts(t.Context(), id)
				if name == "drop" && id == c.id {
					if !errors.Is(err, store.ErrNotFound) {
						t.Errorf("after the drop: %v", err)
					}
					continue
				}
				fatal(t, err)
				if audit, err := s.Audit(t.Context(), id); err != nil || !counts.Equal(audit) {
					t.Errorf("job %d: counts %+v, rows %+v, %v", id, counts, audit, err)
				}
			}
		})
	}
}

// TestListAcrossAMove reads a list in pages while the job is moved: every URL comes once.
func TestListAcrossAMove(t *testing.T) {
	for _, outcome := range []visit.Outcome{"", visit.Pending, visit.Fetched, visit.Dead} {
		t.Run(string(outcome), func(t *testing.T) {
			s := openTest(t, t.TempDir(), nil)
			defer s.Close()
			c := crowd(t, s)
			q := store.Query{Job: c.id, Outcome: outcome, Max: 100}
			page, err := s.List(t.Context(), q)
			fatal(t, err)
			want := len(page.Entries)
			got := map[string]int{}
			for q.Max = 1; ; {
				page, err := s.List(t.Context(), q)
				fatal(t, err)
				for i := range page.Entries {
					got[page.Entries[i].Item.URL.String()]++
				}
				if q.After = page.Next; q.After == "" {
					break
				}
				fatal(t, s.moveJob(t.Context(), int32(c.id)))
			}
			if len(got) != want {
				t.Errorf("%d URLs, want %d", len(got), want)
			}
			for u, n := range got {
				if n != 1 {
					t.Errorf("%s was listed %d times", u, n)
				}
			}
		})
	}
}

// TestKilledWhileMoving ends the session of a process that has moved half of a job. The job is
// where it was, and is moved when it grows further.
func TestKilledWhileMoving(t *testing.T) {
	place := t.TempDir()
	s, mover := openTest(t, place, nil), openBound(t, place, nil, bound{pages: 2, urls: 100, check: 1})
	defer s.Close()
	defer mover.Close()
	ctx := t.Context()
	c := crowd(t, s)
	want := c.all(t, s, c.id)
	conn, err := pgx.Connect(ctx, cluster.DSN(nameOf(place)))
	fatal(t, err)
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, "begin; lock table "+DefaultSchema+".aside_0 in access exclusive mode") // the move waits there, after most rows
	fatal(t, err)
	moved := make(chan error)
	go func() { moved <- mover.moveJob(ctx, int32(c.id)) }()
	var pid int
	// PostgreSQL does not report that a session waits, so it is polled.
	for tick := time.NewTicker(2 * time.Millisecond); pid == 0; <-tick.C {
		fatal(t, conn.QueryRow(ctx, "select coalesce(max(pid), 0) from pg_locks where relation = 'headway.aside_0'::regclass and not granted").Scan(&pid))
	}
	fatal(t, execOn(ctx, cluster.DSN("postgres"), fmt.Sprintf("select pg_terminate_backend(%d, 60000)", pid)))
	if err := <-moved; err == nil {
		t.Error("a move was acknowledged whose session had ended")
	}
	_, err = conn.Exec(ctx, "rollback")
	fatal(t, err)
	if in := tablesIn(t, s, c.id); in != 0 || c.all(t, s, c.id) != want {
		t.Errorf("the job is in tables %d, or differs", in)
	}
	c.commit(t, mover, store.Commit{Visits: []visit.Visit{{Item: pageItem(t, c.id, 8), Outcome: visit.Fetched}}})
	if in := tablesIn(t, s, c.id); in != int32(c.id) {
		t.Errorf("grown further, the job is in tables %d", in)
	}
	if counts, err := s.Audit(ctx, c.id); err != nil || counts.Pages() != 4 || counts.Seen() != crowdURLs+3 {
		t.Errorf("%+v, %v", counts, err)
	}
}

// TestBoundOfSharedTables checks when a job leaves the shared tables, and that none does
// while a worker of an older version is alive.
func TestBoundOfSharedTables(t *testing.T) {
	if sharedBound.pages != 10_000 {
		t.Errorf("a job leaves the shared tables after %d pages", sharedBound.pages)
	}
	for name, tc := range map[string]struct {
		bound bound
		old   bool
		want  bool
	}{
		"at the bound":              {bound{pages: 4, urls: 17, check: 1}, false, false},
		"more pages":                {bound{pages: 3, urls: 17, check: 1}, false, true},
		"more URLs":                 {bound{pages: 4, urls: 16, check: 1}, false, true},
		"beside an older worker":    {bound{pages: 3, urls: 16, check: 1}, true, false},
		"checked now and then":      {bound{pages: 3, urls: 16, check: 3}, false, true},
		"not grown enough to check": {bound{pages: 3, urls: 16, check: 4}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			place := t.TempDir()
			s := openTest(t, place, nil)
			defer s.Close()
			c := crowd(t, s)
			if tc.old {
				_, err := s.pool.Exec(t.Context(), "insert into worker (name, joined_at) values ('older', 0)")
				fatal(t, err)
			}
			grown := openBound(t, place, nil, tc.bound)
			defer grown.Close()
			// A page, and two new URLs: 4 pages, 17 URLs with those out of scope.
			c.commit(t, grown, store.Commit{
				Visits: []visit.Visit{{Item: pageItem(t, c.id, 8), Outcome: visit.Fetched}},
				Found:  []store.Found{{Item: pageItem(t, c.id, 100)}, {Item: pageItem(t, c.id, 101)}},
			})
			c.commit(t, grown, store.Commit{Retries: []store.Retry{{Visit: visit.Visit{Item: pageItem(t, c.id, 9), Outcome: visit.Pending, Wait: visit.WaitHold}, Attempt: 1, NotBefore: c.now}}})
			if got := tablesIn(t, s, c.id) != 0; got != tc.want {
				t.Errorf("moved: %v, want %v", got, tc.want)
			}
		})
	}
}
