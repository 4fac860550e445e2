package chore

import (
	"fmt"
	"testing"
	"time"

	"headway/job"
	"headway/limit"
	"headway/service/internal/webhook"
	"headway/store"
	"headway/store/storetest"
	"headway/visit"
	"headway/weburl"
)

// record stores a crawl of a queued job: a number of pages, the first few of which
// have a different text.
func (b *bench) record(id job.ID, pages, changed int) {
	b.Helper()
	ctx, now := b.Context(), time.Now()
	storetest.SetSafety(b.TB, b.store, limit.Limits{})
	_, err := b.store.Admit(ctx, now)
	fatal(b.TB, err)
	var found []store.Found
	visits := make([]visit.Visit, pages)
	for i := range visits {
		u, err := weburl.Parse(fmt.Sprintf("https://example.com/%d", i))
		fatal(b.TB, err)
		item := visit.Item{Job: id, URL: u, Found: visit.FoundSeed}
		found = append(found, store.Found{Item: item})
		text := "as ever"
		if i < changed {
			text = fmt.Sprint("of job ", id)
		}
		visits[i] = visit.Visit{Item: item, Outcome: visit.Fetched, Answer: visit.Answer{Status: 200}, Page: visit.Page{Digest: text}}
	}
	_, err = b.store.Add(ctx, now, found)
	fatal(b.TB, err)
	w, err := b.store.Join(ctx, now, "test")
	fatal(b.TB, err)
	leases, err := b.store.Acquire(ctx, now, w, store.SlotCount)
	fatal(b.TB, err)
	_, err = b.store.Commit(ctx, store.Commit{Worker: w, Number: 1, Leases: leases, At: now, Visits: visits})
	fatal(b.TB, err)
	fatal(b.TB, b.store.Release(ctx, w, leases...))
	fatal(b.TB, b.store.SetState(ctx, now, id, job.Running, job.Complete, ""))
}

// TestSchedule has two runners run two schedules: a cron expression that was due
// several times in the last week, and an adaptive one.
func TestSchedule(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	now := time.Now()
	week := now.Add(-7 * 24 * time.Hour)
	cron := store.Schedule{ID: "cron", Tenant: "acme", Name: "hourly", Cron: "0 * * * *", MaxPages: 50, CreatedAt: week, DueAt: week}
	apt := store.Schedule{ID: "apt", Tenant: "acme", Name: "apt", Every: 4 * time.Hour, Least: time.Hour, Most: 24 * time.Hour, CreatedAt: week, DueAt: week}
	fatal(t, b.store.CreateSchedule(t.Context(), cron))
	fatal(t, b.store.CreateSchedule(t.Context(), apt))
	b.work(webhook.Config{})
	b.work(webhook.Config{})
	read := func(id string) store.Schedule {
		s, err := b.store.Schedule(t.Context(), id)
		fatal(t, err)
		return s
	}
	// due makes a schedule due, and waits for its job.
	due := func(id string) store.Schedule {
		turn := read(id).Turn
		fatal(t, execOn(t.Context(), b.dsn, "update headway.schedule set due_at = $2 where id = $1", id, now.UnixMilli()))
		b.until(id+" has made its job", func() bool { return read(id).Turn > turn })
		return read(id)
	}
	b.until("both have made a job", func() bool { return read("cron").Turn == 1 && read("apt").Turn == 1 })
	if s := read("cron"); s.DueAt.Before(now) || s.DueAt.After(now.Add(time.Hour+time.Minute)) || s.DueAt.Minute() != 0 {
		t.Errorf("after a week the next is due at %s", s.DueAt)
	}
	if s := read("apt"); s.DueAt.Sub(s.BegunAt) != 4*time.Hour {
		t.Errorf("due %s after it began", s.DueAt.Sub(s.BegunAt))
	}
	b.record(read("apt").Last, 20, 0)

	// A fifth of the pages differs from the run before: twice as often.
	b.record(due("apt").Last, 20, 4)
	b.until("it was compared", func() bool { return read("apt").Every == 2*time.Hour })
	if s := read("apt"); s.Share != 0.2 || s.DueAt.Sub(s.BegunAt) != 2*time.Hour {
		t.Errorf("after much changed: %+v", s)
	}
	// A quarter of the next: twice as often again, which is as often as it may be.
	b.record(due("apt").Last, 20, 5)
	b.until("it was compared", func() bool { return read("apt").Share == 0.25 })
	if s := read("apt"); s.Every != time.Hour {
		t.Errorf("after much changed again: %+v", s)
	}
	if jobs := b.one("select count(*) from headway.job"); jobs != 4 {
		t.Errorf("%d jobs were made, want 1 and 3", jobs)
	}
}

// TestKilledSchedules kills processes while they run schedules that are due. Each
// makes one job.
func TestKilledSchedules(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const kills, each = 2, 40
	past := time.Now().Add(-time.Hour)
	made := func() int64 { return b.one("select count(*) from headway.job") }
	for k := range kills {
		for i := range each {
			fatal(t, b.store.CreateSchedule(t.Context(), store.Schedule{ID: fmt.Sprint(k, "-", i), Tenant: "acme", Cron: "@daily", MaxPages: 1, CreatedAt: past, DueAt: past}))
		}
		before := made()
		kill := b.child(0)
		b.until("a job was made", func() bool { return made() > before })
		kill()
	}
	b.work(webhook.Config{})
	b.work(webhook.Config{})
	b.until("all were run", func() bool {
		return b.one("select count(*) from headway.schedule where turn > 0") == kills*each
	})
	if n, turns := made(), b.one("select sum(turn) from headway.schedule"); n != kills*each || turns != n {
		t.Errorf("%d jobs in %d turns of %d schedules", n, turns, kills*each)
	}
}
