package fleettest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"headway/client"
	"headway/internal/race"
)

// Safety limits of the test: those of a new database. In CI an operator has lowered the time.
const (
	safetyPages = 50
	grace       = 2 * time.Second // for requests in flight at the time limit
)

// graceSince is the grace of a job that started at a time. In the short form other tests keep
// the machine busy, so stalls are added.
func (f *fleet) graceSince(began time.Time) time.Duration {
	if full {
		return grace
	}
	return grace + race.Extra(3*time.Second) + f.stalls.Between(began, time.Now())
}

// safetyTime is the time limit.
func safetyTime() time.Duration {
	if full {
		return time.Minute
	}
	return 20 * time.Second
}

// TestServiceSafety tries to void the safety limits of a fleet in every way that workers, keys,
// plans and jobs have, and logs the answers. Never do two crawls run, has one more than 50
// pages, or does one run longer than its time. Clocks that differ are refused: see TestClock in
// package fleet of the command line.
func TestServiceSafety(t *testing.T) {
	t.Parallel()
	f := newFleet(t, setup{hosts: 4, pages: 200, pace: 200 * time.Millisecond, safety: []string{"--max-time", safetyTime().String()}})
	f.run("admin", "plan", "set", "huge", "--max-pages", "100000", "--max-concurrent", "50", "--max-time", "24h")
	f.run("admin", "tenant", "set", "acme", "--plan", "huge")
	s := f.service()
	f.start() // without a safety setting
	f.awaitWorkers(1)
	f.refusesSafety()
	acme := s.tenant("acme")
	_, err := acme.ChangeSafety(t.Context(), client.SafetyChange{Safety: &client.SafetyLimits{MaxPages: new(int64(1000))}})
	attempt(t, "PATCH /v1/safety with a key of scope write", err)
	if p, ok := errors.AsType[*client.Problem](err); !ok || p.Code != client.CodeScopeTooNarrow {
		t.Errorf("a key of scope write: %v", err)
	}

	seeds := f.lab.Seeds()
	large := func(seed string, delay time.Duration) client.JobRequest {
		r := f.crawl(1000, seed)
		r.Limits.MaxTimeSeconds, r.Pace.DelaySeconds = new(86400.0), new(delay.Seconds())
		return r
	}
	pages := acme.create(large(seeds[0], f.pace))
	slowly := max(pace, safetyTime()/40) // its time ends before its pages
	slow := acme.create(large(seeds[1], slowly))
	waits := acme.create(large(seeds[2], f.pace))
	f.until("the first job runs", func() bool { return f.atMostOne() == 1 })
	f.olderAdmits(waits)
	scraped, err := acme.Scrape(t.Context(), client.ScrapeRequest{URL: seeds[3], TimeoutSeconds: new(1.0)})
	if err != nil {
		t.Fatal(err)
	}
	attempt(t, "POST /v1/scrape beside a crawl", err, scraped.State)
	if scraped.Page != nil || scraped.State != "queued" {
		t.Errorf("a scrape beside a crawl: %+v", scraped)
	}

	// Pages: the job, and an extension of it.
	f.stopped(f.safely(pages), "max_pages", safetyPages, "Safety limit: Maximum 50 pages per crawl (requested: 1000)")
	extended, err := acme.ExtendJob(t.Context(), pages, client.Extension{MaxPages: new(int64(5000))})
	attempt(t, "POST /v1/jobs/{job}/extend to 5000 pages", err, stateOf(extended))
	f.olderWorker()

	// Time: paused and resumed, and extended.
	f.until("the slow job has a page", func() bool { f.atMostOne(); return f.show(slow).Pages > 0 })
	paused, err := acme.PauseJob(t.Context(), slow)
	attempt(t, "pause", err, stateOf(paused))
	f.until("it is paused", func() bool { return f.show(slow).State == "paused" })
	if n := f.atMostOne(); n != 1 {
		t.Errorf("%d crawls have places beside a paused one", n-1)
	}
	ran := f.ranFor(slow)
	time.Sleep(3 * time.Second) // paused: this time must not count
	if again := f.ranFor(slow); again != ran || ran > safetyTime() {
		t.Errorf("it ran for %v, and paused for %v", ran, again)
	}
	resumed, err := acme.ResumeJob(t.Context(), slow)
	attempt(t, "resume", err, stateOf(resumed))
	j := f.safely(slow)
	f.stopped(j, "max_time", 0, fmt.Sprintf("Safety limit: Crawl timeout exceeded (%dms)", safetyTime().Milliseconds()))
	requests := f.requestsTo(seeds[1])
	if most := int((safetyTime() + f.graceSince(f.startOf(slow))) / slowly); requests > most+2 {
		t.Errorf("%d requests, at a pace of %v at most %d", requests, slowly, most)
	}
	extended, err = acme.ExtendJob(t.Context(), slow, client.Extension{MaxPages: new(int64(5000))})
	attempt(t, "extend after the time limit", err, stateOf(extended))

	// The others have waited, and get no more.
	f.stopped(f.safely(waits), "max_pages", safetyPages, "Safety limit: Maximum 50 pages per crawl (requested: 1000)")
	f.stopped(f.safely(pages), "max_pages", safetyPages, "")
	f.stopped(f.safely(slow), "max_time", j.Pages, "")
	if now := f.requestsTo(seeds[1]); now != requests {
		t.Errorf("%d requests after its time was used up", now-requests)
	}

	// A schedule.
	schedule, err := acme.CreateSchedule(t.Context(), client.ScheduleRequest{Job: large(seeds[3], f.pace), Adaptive: &client.Adaptive{EverySeconds: 60, LeastSeconds: 60, MostSeconds: 60}}, client.CreateScheduleParams{})
	attempt(t, "a schedule of jobs of 1000 pages", err)
	if err != nil {
		t.Fatal(err)
	}
	var last int64
	f.until("the schedule has made a job", func() bool {
		got, err := acme.GetSchedule(t.Context(), schedule.ID)
		if err != nil {
			t.Fatal(err)
		}
		last = got.LastJob
		return last != 0
	})
	f.stopped(f.safely(last), "max_pages", safetyPages, "Safety limit: Maximum 50 pages per crawl (requested: 1000)")
	if err := acme.DeleteSchedule(t.Context(), schedule.ID); err != nil {
		t.Error(err)
	}
	f.followsSafety(acme, large(seeds[0], pace), large(seeds[1], pace))
	f.leaveAll()
}

// attempt logs the answer to an attempt.
func attempt(t *testing.T, what string, err error, answer ...any) {
	t.Helper()
	if err != nil {
		t.Logf("%s: %v", what, err)
		return
	}
	t.Logf("%s: accepted, %v", what, answer)
}

// stateOf is the state of a job, if there is an answer.
func stateOf(j *client.JobView) string {
	if j == nil {
		return ""
	}
	return j.State
}

// refusesSafety starts processes with looser settings, which must refuse to start.
func (f *fleet) refusesSafety() {
	f.Helper()
	config := filepath.Join(f.dir, "loose.yaml")
	if err := os.WriteFile(config, []byte("safety:\n  max_pages: 1000\n"), 0o644); err != nil {
		f.Fatal(err)
	}
	for _, args := range [][]string{
		{"worker", "--max-running", "5"}, {"worker", "--max-running", "0"}, {"worker", "--lease", "20s"}, {"worker", "--config", config}, {"serve", "--listen", "127.0.0.1:0", "--config", config},
	} {
		if args[0] == "worker" {
			args = append(args, "--contact", "you@example.com")
		}
		w := f.spawn(args...)
		f.until("it has ended", func() bool {
			select {
			case <-w.exited:
				return true
			default:
				return false
			}
		})
		f.Logf("headway %s: exit code %d\n%s", strings.Join(args, " "), w.cmd.ProcessState.ExitCode(), w.errs)
		if code := w.cmd.ProcessState.ExitCode(); code != 2 || !strings.Contains(w.errs.String(), "headway admin safety set") {
			f.Errorf("headway %v ended with %d", args, code)
		}
	}
}

// olderAdmits does what a worker of an older version would do to admit a job.
func (f *fleet) olderAdmits(id int64) {
	f.Helper()
	f.sql(func(conn *pgx.Conn) error {
		_, err := conn.Exec(f.Context(), "update job set state = 'running', started_at = 1, turn = 0 where id = $1", id)
		f.Logf("an older program admits a job: %v", err)
		if err == nil {
			f.Error("an older program admitted a job")
		}
		return nil
	})
}

// olderWorker adds a worker of an older version, without heartbeats. Until it is declared
// dead, no job is admitted.
func (f *fleet) olderWorker() {
	f.Helper()
	var alive bool
	var queued, running int
	f.sql(func(conn *pgx.Conn) error {
		_, err := conn.Exec(f.Context(), "insert into worker (name, joined_at) values ('older', 1)")
		return err
	})
	look := func() {
		f.sql(func(conn *pgx.Conn) error {
			return conn.QueryRow(f.Context(), "select exists (select from worker where name = 'older'), count(*) filter (where state = 'queued'), count(*) filter (where state = 'running') from job").Scan(&alive, &queued, &running)
		})
	}
	look()
	f.Logf("an older worker has joined: %d jobs are queued, %d run", queued, running)
	before := queued
	f.until("the older worker is declared dead", func() bool {
		if look(); alive && queued < before {
			f.Errorf("%d jobs were queued, and %d beside an older worker", before, queued)
		}
		before = queued
		return !alive
	})
}

// safely waits for the end of a job, while never more than one has a place.
func (f *fleet) safely(id int64) job {
	f.Helper()
	return f.await(id, f.long(), func() { f.atMostOne() })
}

// atMostOne counts the crawls that have places.
func (f *fleet) atMostOne() (n int) {
	f.Helper()
	f.sql(func(conn *pgx.Conn) error {
		return conn.QueryRow(f.Context(), "select count(*) from job where state in ('running', 'paused', 'draining')").Scan(&n)
	})
	if n > 1 {
		f.Errorf("%d crawls run at once", n)
	}
	return n
}

// ranFor is the running time of a job that is not running.
func (f *fleet) ranFor(id int64) time.Duration {
	f.Helper()
	var ms int64
	f.sql(func(conn *pgx.Conn) error {
		return conn.QueryRow(f.Context(), "select ran from job where id = $1", id).Scan(&ms)
	})
	return time.Duration(ms) * time.Millisecond
}

// stopped checks how a job ended: by which limit, with how many pages (0 for up to 50) and
// which message.
func (f *fleet) stopped(j job, reason string, pages int64, message string) {
	f.Helper()
	ran := f.ranFor(j.ID)
	f.Logf("job %d: %s (%s), %d pages in %v, errors %+v", j.ID, j.State, j.Reason, j.Pages, ran, j.Errors)
	if j.State != "partial" || j.Reason != reason || j.Pages > safetyPages || pages > 0 && j.Pages != pages || f.recorded(j.ID) != j.Pages {
		f.Errorf("job %d: %s (%s) with %d pages, %d stored", j.ID, j.State, j.Reason, j.Pages, f.recorded(j.ID))
	}
	if ran > safetyTime()+f.graceSince(f.startOf(j.ID)) {
		f.Errorf("job %d ran for %v", j.ID, ran)
	}
	if message != "" && (len(j.Errors) != 1 || j.Errors[0].Text != message) {
		f.Errorf("job %d: errors %+v, want %q", j.ID, j.Errors, message)
	}
}

// followsSafety allows two crawls while one runs and another waits: the second starts within
// five seconds. The change is in the history and in the control log.
func (f *fleet) followsSafety(c *tenant, first, second client.JobRequest) {
	f.Helper()
	ids := []int64{c.create(first), c.create(second)}
	running := func() (n int) {
		for _, id := range ids {
			if f.show(id).State == "running" {
				n++
			}
		}
		return n
	}
	f.until("one runs", func() bool { return running() == 1 })
	began := time.Now()
	f.run("admin", "safety", "set", "--max-concurrent", "2")
	f.until("both run", func() bool { return running() == 2 })
	f.Logf("a second crawl was allowed, and ran %v later", time.Since(began).Round(time.Millisecond))
	if took := time.Since(began) - f.stalls.Between(began, time.Now()); took > 5*time.Second {
		f.Errorf("a change of the settings took %v", took)
	}
	f.run("admin", "safety", "set", "--max-pages", "1")
	for _, id := range ids {
		if j := f.await(id, time.Minute, nil); j.State != "partial" {
			f.Errorf("job %d: %s (%s)", id, j.State, j.Reason)
		}
	}
	f.Logf("history:\n%s", f.run("admin", "safety", "history"))
	var log []string
	f.sql(func(conn *pgx.Conn) error {
		rows, err := conn.Query(f.Context(), "select about || ': ' || before || ' > ' || after from control where what = 'set-safety' and who <> '' order by id")
		if err == nil {
			log, err = pgx.CollectRows(rows, pgx.RowTo[string])
		}
		return err
	})
	want := fmt.Sprintf("version 3: max_pages 50, max_time %[1]s, max_concurrent_crawls 1; lease 5s, commit gap 100ms > max_pages 50, max_time %[1]s, max_concurrent_crawls 2; lease 5s, commit gap 100ms", strings.Replace(safetyTime().String(), "m0s", "m", 1))
	if len(log) != 3 || log[1] != want {
		f.Errorf("the control log has\n%s\nwant\n%s", strings.Join(log, "\n"), want)
	}
}
