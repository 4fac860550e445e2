package chore

import (
	"fmt"
	"testing"
	"time"

	"headway/job"
	"headway/limit"
	"headway/store"
)

// TestRetention deletes jobs after the retention time of their plan: a large job with its own
// tables, a small one with rows in the shared ones and one without, but no running job and
// none of another plan.
func TestRetention(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ctx, old := t.Context(), time.Now().Add(-48*time.Hour)
	fatal(t, b.store.SetPlan(ctx, store.Plan{Name: "day", Limits: limit.Limits{Retention: 24 * time.Hour}}))
	fatal(t, b.store.SetTenant(ctx, store.Tenant{Name: "acme", Plan: "day"}))
	create := func(tenant string, pages int64) job.ID {
		id, err := b.store.CreateJob(ctx, store.Job{Tenant: tenant, State: job.Queued, MaxPages: pages, CreatedAt: old})
		fatal(t, err)
		return id
	}
	large, crawled := create("acme", 0), create("acme", 0)
	fatal(t, execOn(ctx, b.dsn, "insert into headway.tally (job, shard, ending, n) values ($1, 0, 1, 10000)", large)) // as many pages as the shared tables take
	b.record(large, 300, 0)
	b.record(crawled, 20, 0)
	small, other, runs := create("acme", 1), create("other", 1), create("acme", 1)
	fatal(t, execOn(ctx, b.dsn, "update headway.job set ended_at = $2 where id in ($1, $3)", crawled, old.UnixMilli(), large))
	for _, id := range []job.ID{small, other} {
		fatal(t, b.store.SetState(ctx, old, id, job.Queued, job.Cancelled, ""))
	}
	tables := func() int64 {
		return b.one("select count(to_regclass(format('headway.%s_%s', kind, $1::text))) from unnest(array['url', 'queue', 'outcome']) as kind", fmt.Sprint(large))
	}
	if tables() == 0 {
		t.Fatal("the large job has no tables of its own")
	}
	urls := func() int64 { return b.one("select count(*) from headway.url_0 where job = $1", crawled) }
	if n := urls(); n != 20 {
		t.Fatalf("the job with pages has %d URLs", n)
	}
	first, second := b.run(b.runner(Config{})), b.run(b.runner(Config{}))
	b.until("they are forgotten", func() bool {
		return b.one("select count(*) from headway.job where id in ($1, $2, $3)", large, crawled, small) == 0
	})
	if n := b.one("select count(*) from headway.job where id in ($1, $2)", other, runs); n != 2 || tables()+urls() != 0 {
		t.Errorf("%d of those to keep are left, and %d tables and %d URLs of those that are gone", n, tables(), urls())
	}

	// A runner that starts later in the same hour checks again.
	fatal(t, b.store.SetState(ctx, old, runs, job.Queued, job.Cancelled, ""))
	first()
	second()
	b.run(b.runner(Config{}))
	b.until("what ended since is forgotten, too", func() bool { return b.one("select count(*) from headway.job where id = $1", runs) == 0 })
}
