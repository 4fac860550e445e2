package postgres

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"headway/job"
	"headway/store"
	"headway/visit"
)

func TestOpenRefuses(t *testing.T) {
	ctx := t.Context()
	newer, latest := ahead(t)
	s, err := Open(ctx, Config{DSN: cluster.DSN("postgres"), Schema: newer})
	fatal(t, err)
	_, err = s.pool.Exec(ctx, "update format set oldest = $1", latest+1)
	fatal(t, err)
	fatal(t, s.Close())
	for name, tc := range map[string]struct {
		config Config
		want   error
		hint   string
	}{
		"not for this version": {Config{DSN: cluster.DSN("postgres"), Schema: newer}, store.ErrNewer, "start the version of headway"},
		"nobody there":         {Config{DSN: "postgres://postgres@127.0.0.1:1/none?connect_timeout=2"}, nil, "check that the server runs"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Open(ctx, tc.config)
			e, ok := errors.AsType[*store.OpenError](err)
			if !ok || !strings.Contains(e.Hint, tc.hint) || tc.want != nil && !errors.Is(err, tc.want) {
				t.Errorf("%v", err)
			}
		})
	}
	if _, err := Open(ctx, Config{DSN: cluster.DSN("postgres"), Terms: store.Terms{Renew: 1}}); err == nil {
		t.Error("opened with terms under which two owners could be active at once")
	}
	if _, err := Open(ctx, Config{DSN: "postgres://u:secret@[bad"}); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("a bad connection string: %v", err)
	}
}

// ahead creates tables and adds what a newer version would have added.
func ahead(t *testing.T) (schema string, knows int64) {
	t.Helper()
	ctx := t.Context()
	schema = nameOf(t.TempDir())
	knows, err := latest()
	fatal(t, err)
	s, err := Open(ctx, Config{DSN: cluster.DSN("postgres"), Schema: schema, partitions: 1})
	fatal(t, err)
	defer s.Close()
	_, err = s.pool.Exec(ctx, "alter table job add column of_tomorrow bigint not null default 0")
	fatal(t, err)
	_, err = s.pool.Exec(ctx, "insert into goose_db_version (version_id, is_applied) values ($1, true)", knows+1)
	fatal(t, err)
	return schema, knows
}

// TestOpenBehind starts a program on tables that a newer one has migrated. It works on them
// as before, down to the oldest version that the tables name, and does not change them.
func TestOpenBehind(t *testing.T) {
	schema, knows := ahead(t)
	ctx, now := t.Context(), time.Now()
	s, err := Open(ctx, Config{DSN: cluster.DSN("postgres"), Schema: schema, partitions: 1})
	fatal(t, err)
	defer s.Close()
	id, err := s.CreateJob(ctx, store.Job{State: job.Running})
	fatal(t, err)
	_, err = s.Add(ctx, now, []store.Found{{Item: pageItem(t, id, 1)}})
	fatal(t, err)
	w, err := s.Join(ctx, now, "behind")
	fatal(t, err)
	leases, err := s.Acquire(ctx, now, w, store.SlotCount)
	fatal(t, err)
	_, err = s.Commit(ctx, pageCommit(t, w, id, leases, visit.Fetched))
	fatal(t, err)
	has, err := s.version(ctx)
	if err != nil || has != knows+1 {
		t.Errorf("format %d, %v, want %d", has, err, knows+1)
	}
	for _, tc := range []struct {
		knows int64
		want  error
	}{{24, nil}, {23, store.ErrNewer}} {
		if err := s.admit(ctx, has, tc.knows); !errors.Is(err, tc.want) {
			t.Errorf("a program that knows %d: %v, want %v", tc.knows, err, tc.want)
		}
	}
}

// TestConns: the number of connections is that of the connection string, else that of the
// configuration, else that of pgx; and one for heartbeats and one for commits. No more are
// open from the start than there may be without these two.
func TestConns(t *testing.T) {
	for _, tt := range []struct {
		dsn              string
		conns            int32
		want, wantOpened int32
	}{
		{"postgres://a@b/c?pool_max_conns=8", 16, 10, 8},
		{"host=b user=a pool_max_conns=8", 0, 10, 0},
		{"host=b user=a pool_min_conns=3", 0, max(4, int32(runtime.NumCPU())) + 2, 3},
		{"postgres://a@b/pool_max_conns", 16, 18, 16},
		{"host=b user=a", 0, max(4, int32(runtime.NumCPU())) + 2, 0},
	} {
		config, err := new(Store).poolConfig(Config{DSN: tt.dsn, Conns: tt.conns})
		if err != nil || config.MaxConns != tt.want || config.MinConns != tt.wantOpened {
			t.Errorf("%s, %d: %+v, %v, want %d, %d from the start", tt.dsn, tt.conns, config, err, tt.want, tt.wantOpened)
		}
		if life, jitter := config.MaxConnLifetime, config.MaxConnLifetimeJitter; jitter < life/5 {
			t.Errorf("connections opened together are replaced after %v, and at most %v apart", life, jitter)
		}
	}
}

// TestConnsAtStartup: a store opens the connections it is told to before they are needed;
// that for a job queue does not.
func TestConnsAtStartup(t *testing.T) {
	place := t.TempDir()
	openTest(t, place, nil).Close()
	s, err := Open(t.Context(), Config{DSN: cluster.DSN(nameOf(place)), Conns: 8, partitions: 2})
	fatal(t, err)
	defer s.Close()
	for began := time.Now(); s.pool.Stat().IdleConns() < 8; time.Sleep(time.Millisecond) { // pgx opens them in the background
		if time.Since(began) > 10*time.Second {
			t.Fatalf("%d connections are idle, want 8", s.pool.Stat().IdleConns())
		}
	}
	queue, err := s.Connect(t.Context())
	fatal(t, err)
	defer queue.Close()
	if c := queue.Config(); c.MinConns != 0 || c.MaxConns != queueConns {
		t.Errorf("a job queue has %d to %d connections, want 0 to %d", c.MinConns, c.MaxConns, queueConns)
	}
}

func TestErrorsOfTheServer(t *testing.T) {
	for code, want := range map[string]error{
		codeDiskFull: store.ErrFull, codeDataCorrupted: store.ErrCorrupt, codeIndexCorrupted: store.ErrCorrupt,
	} {
		if err := wrap(&pgconn.PgError{Code: code}); !errors.Is(err, want) {
			t.Errorf("%s: %v", code, err)
		}
	}
	if !isRetriable(&pgconn.PgError{Code: codeDeadlock}) || isRetriable(&pgconn.PgError{Code: codeDiskFull}) {
		t.Error("what is tried again is not what helps")
	}
}

// TestOpenedByManyAtOnce starts several processes on an empty database.
func TestOpenedByManyAtOnce(t *testing.T) {
	const n = 4
	schema := nameOf(t.TempDir())
	opened := make(chan *Store, n)
	for range n {
		go func() {
			s, err := Open(t.Context(), Config{DSN: cluster.DSN("postgres"), Schema: schema, partitions: 1})
			if err != nil {
				t.Error(err)
			}
			opened <- s
		}()
	}
	var first *Store
	for range n {
		s := <-opened
		if s == nil {
			continue
		}
		defer s.Close()
		if first == nil {
			first = s
		}
		if s.Key() != first.Key() {
			t.Error("two processes have different keys")
		}
	}
}

// TestStoppedInACommit stops a process in the middle of a transaction for longer than its
// lease. The worker that takes over does not wait for it.
func TestStoppedInACommit(t *testing.T) {
	ctx := t.Context()
	stopped, goOn := make(chan struct{}), make(chan struct{})
	armed := false
	fault := func(statement string) error {
		if armed && statement == "commit" {
			armed = false
			close(stopped)
			<-goOn
		}
		return nil
	}
	schema := nameOf(t.TempDir())
	open := func(f store.Fault) *Store {
		s, err := Open(ctx, Config{DSN: cluster.DSN("postgres"), Schema: schema, Terms: zombieTerms, Fault: f, partitions: 1})
		fatal(t, err)
		return s
	}
	s, other := open(fault), open(nil)
	defer s.Close()
	defer other.Close()
	id, err := s.CreateJob(ctx, store.Job{State: job.Running})
	fatal(t, err)
	_, err = s.Add(ctx, time.Now(), []store.Found{{Item: pageItem(t, id, 1)}})
	fatal(t, err)
	w, err := s.Join(ctx, time.Now(), "stopped")
	fatal(t, err)
	leases, err := s.Acquire(ctx, time.Now(), w, store.SlotCount)
	fatal(t, err)
	late := pageCommit(t, w, id, leases, visit.Fetched)
	armed = true
	answer := make(chan error)
	go func() {
		_, err := s.Commit(ctx, late)
		answer <- err
	}()
	<-stopped
	next, err := other.Join(ctx, time.Now(), "next")
	fatal(t, err)
	patient, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	// A lease expires in real time, and is polled as workers do.
	for tick := time.NewTicker(50 * time.Millisecond); ; <-tick.C {
		leases, err = other.Acquire(patient, time.Now(), next, store.SlotCount)
		fatal(t, err)
		if len(leases) > 0 {
			break
		}
	}
	_, err = other.Commit(ctx, pageCommit(t, next, id, leases, visit.Dead))
	fatal(t, err)
	close(goOn)
	if err := <-answer; err == nil {
		t.Error("a commit was acknowledged after its worker was declared dead")
	}
	if _, err := s.Commit(ctx, late); !errors.Is(err, store.ErrFenced) {
		t.Errorf("sent again: %v", err)
	}
	if c, err := other.Audit(ctx, id); err != nil || c.Pages() != 1 || c.Ended[store.Ending{Outcome: visit.Dead}] != 1 {
		t.Errorf("%+v, %v", c, err)
	}
}

// firstFormat removes what the first migration did not create.
const firstFormat = `do $$
declare
	x record;
begin
	for x in select p.oid::regprocedure as name from pg_proc p where p.pronamespace = current_schema()::regnamespace loop
		execute format('drop function %s cascade', x.name);
	end loop;
	for x in select tablename as name from pg_tables where schemaname = current_schema() and tablename not in ('goose_db_version', 'ending', 'identity', 'worker',
			'progress', 'slot', 'job', 'account', 'token', 'tally', 'host', 'pace_change', 'robots', 'evidence', 'point', 'arrival', 'shelf')
			and (tablename !~ '_[0-9]' or tablename like 'errand%' or tablename like 'content%' or tablename ~ '^(in)?link_') loop
		execute format('drop table %I cascade', x.name);
	end loop;
	for x in select t.name as table, a.attname as name from (values ('job', 11), ('slot', 4), ('worker', 4)) as t (name, columns)
			join pg_attribute a on a.attrelid = t.name::regclass and a.attnum > t.columns and not a.attisdropped loop
		execute format('alter table %I drop column %I', x.table, x.name);
	end loop;
	for x in select c.relname as name from pg_class c where c.relnamespace = current_schema()::regnamespace and c.relkind = 'S' and c.relname <> 'batch'
			and not exists (select from pg_depend d where d.objid = c.oid and d.deptype in ('a', 'i')) loop
		execute format('drop sequence %I', x.name);
	end loop;
	drop index if exists job_live, job_tenant;
	delete from goose_db_version where version_id > 1;
end $$`

// TestFirstFormat opens tables of the first format, which have no errands, with tables of
// large jobs.
func TestFirstFormat(t *testing.T) {
	place := t.TempDir()
	s := openBound(t, place, nil, anySize)
	ctx, now := t.Context(), time.Now()
	id, err := s.CreateJob(ctx, store.Job{State: job.Running})
	fatal(t, err)
	_, err = s.Add(ctx, now, []store.Found{{Item: pageItem(t, id, 1)}})
	fatal(t, err)
	_, err = s.pool.Exec(ctx, firstFormat)
	fatal(t, err)
	fatal(t, s.Close())
	s = openTest(t, place, nil)
	defer s.Close()
	w, err := s.Join(ctx, now, "w")
	fatal(t, err)
	leases, err := s.Acquire(ctx, now, w, store.SlotCount)
	fatal(t, err)
	small, err := s.CreateJob(ctx, store.Job{State: job.Running, MaxPages: 5})
	fatal(t, err)
	u := pageItem(t, id, 1).URL
	r, err := s.Commit(ctx, store.Commit{Worker: w, Number: 1, At: now, Leases: leases, Errands: []store.Errand{{Job: id, URL: u}, {Job: small, URL: u}}})
	if err != nil || len(r.Errands) != 2 {
		t.Errorf("%+v, %v", r, err)
	}
	if c, err := s.Counts(ctx, id); err != nil || c.Waiting != 1 || c.Errands != 1 {
		t.Errorf("%+v, %v", c, err)
	}
}
