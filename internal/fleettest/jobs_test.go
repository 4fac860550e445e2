package fleettest

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"headway/lab"
	"headway/lab/temper"
)

// TestShares: jobs of three tenants crawl the same hosts: the hosts see one pace, and
// each job gets its share.
func TestShares(t *testing.T) {
	t.Parallel()
	jobs, tenants := 4, []string{"a", "b", "c"}
	web := setup{hosts: 6, pages: 20, pace: pace / 4} // many turns, so that a single one does not decide
	if full {
		jobs, web = 10, setup{hosts: 20, pages: 20}
	}
	f := newFleet(t, web)
	for _, name := range tenants {
		f.run("admin", "tenant", "set", name)
	}
	for i := range jobs {
		f.submit("--tenant", tenants[i%len(tenants)])
	}
	f.start()
	f.start()
	for id := range jobs {
		f.await(int64(id+1), time.Duration(jobs)*f.long(), nil)
	}
	want := int64(f.hosts * f.pages)
	for _, j := range f.list() {
		if j.State != "complete" || j.Outcomes["fetched"] != want {
			t.Errorf("job %d: %s with %d pages, want %d", j.ID, j.State, j.Outcomes["fetched"], want)
		}
	}
	// A worker that loses its lease on a busy machine had at most one request on each
	// host.
	if n, most := f.lab.Stats().Total.PageAnswers, want*int64(jobs)+f.lost(); n > most {
		t.Errorf("%d pages answered, want at most %d", n, most)
	}
	f.fair(jobs)
	f.polite()
}

// fair compares the shares of jobs, on each host for as long as all of them had work
// there: after the second page of the last to begin, which is the first one found by a
// link, and before the last page of the first to end.
func (f *fleet) fair(jobs int) {
	f.Helper()
	shares, sum := map[int64]int{}, 0
	for host, list := range f.stamps() {
		var begin, end time.Time
		of := map[int64][]time.Time{}
		for _, s := range list {
			of[s.job] = append(of[s.job], s.sent)
		}
		if len(of) != jobs {
			f.Errorf("%s was asked by %d jobs, want %d", host, len(of), jobs)
			continue
		}
		for _, sent := range of {
			if second := sent[1]; second.After(begin) {
				begin = second
			}
			if last := sent[len(sent)-1]; end.IsZero() || last.Before(end) {
				end = last
			}
		}
		for _, s := range list {
			if s.sent.After(begin) && s.sent.Before(end) {
				shares[s.job]++
				sum++
			}
		}
	}
	mean := float64(sum) / float64(jobs)
	f.Logf("shares %v of %d pages", shares, sum)
	if mean < float64(f.hosts*f.pages)/2 {
		f.Errorf("the jobs had work at once for %.1f pages of each, which is too few to judge", mean)
	}
	for id, n := range shares {
		if off := math.Abs(float64(n) - mean); off > 0.1*mean {
			f.Errorf("job %d has %d pages, the mean is %.1f", id, n, mean)
		}
	}
}

// TestQueue runs one job at a time, while a worker is killed: never two, none
// forgotten, in order.
func TestQueue(t *testing.T) {
	t.Parallel()
	jobs := 5
	if full {
		jobs = 20
	}
	f := newFleet(t, setup{hosts: jobs, pages: 3, safety: []string{"--max-concurrent", "1"}})
	seeds := f.lab.Seeds()
	for i := range jobs {
		f.submitFor(seeds[i : i+1])
	}
	f.start()
	f.start()
	killed := false
	// The number of running jobs is polled: two may run for a moment only.
	for began := time.Now(); ; time.Sleep(200 * time.Millisecond) {
		list := f.list()
		ended, running := 0, 0
		for i, j := range list {
			switch {
			case !j.Ended.IsZero():
				ended++
				if i > 0 && j.Ended.Before(list[i-1].Ended) {
					t.Errorf("job %d ended before job %d", j.ID, list[i-1].ID)
				}
			case j.State != "queued":
				running++
			}
		}
		if running > 1 {
			t.Fatalf("%d jobs run at once: %+v", running, list)
		}
		if ended == len(list) {
			break
		}
		if ended == 1 && !killed {
			killed = true
			f.kill(f.workers[0])
			f.start()
		}
		if time.Since(began) > time.Duration(jobs)*20*time.Second {
			t.Fatalf("the jobs have not ended: %+v", list)
		}
	}
	if !killed {
		t.Error("no worker was killed")
	}
	for _, j := range f.list() {
		if j.State != "complete" || j.Outcomes["fetched"] != int64(f.pages) {
			t.Errorf("job %d: %s with %d pages, want %d", j.ID, j.State, j.Outcomes["fetched"], f.pages)
		}
	}
	f.polite()
}

// TestBudget gives jobs 50 pages each and eight workers, some of which are killed:
// exactly 50 are recorded, each time.
func TestBudget(t *testing.T) {
	t.Parallel()
	const atOnce, each, workers, most = 5, 20, 8, 50
	rounds := 1
	if full {
		rounds = 20
	}
	f := newFleet(t, setup{hosts: atOnce * each, pages: 10})
	for range workers {
		f.start()
	}
	f.awaitWorkers(workers)
	for range rounds {
		before := map[string]int64{}
		for _, h := range f.lab.Stats().PerHost {
			before[h.Host] = h.PageAnswers
		}
		groups, ids := slices.Collect(slices.Chunk(f.lab.Seeds(), each)), []int64{}
		for _, seeds := range groups {
			ids = append(ids, f.submitFor(seeds, "--max-pages", strconv.Itoa(most)))
		}
		var dead []string // hosts whose owner was killed, once for each kill
		next, kills := time.Now().Add(f.chance(2*time.Second)), 0
		for i, id := range ids {
			j := f.await(id, f.long(), func() {
				if kills < 2 && time.Now().After(next) {
					next = time.Now().Add(f.chance(2 * time.Second))
					w, hosts := f.victim()
					f.kill(w)
					f.start()
					dead = append(dead, hosts...)
					kills++
				}
			})
			if j.State != "partial" || j.Reason != "max_pages" || j.Pages != most || f.recorded(id) != most {
				t.Errorf("job %d: %s (%s) with %d pages, %d stored, want partial (max_pages) with %d", id, j.State, j.Reason, j.Pages, f.recorded(id), most)
			}
			// A killed worker had at most one request in flight or not committed on
			// each of its hosts.
			asked, flying := int64(0), int64(0)
			for _, h := range f.lab.Stats().PerHost {
				if slices.Contains(groups[i], h.Host+"/") {
					asked += h.PageAnswers - before[h.Host]
				}
			}
			for _, host := range dead {
				if slices.Contains(groups[i], host+"/") {
					flying++
				}
			}
			t.Logf("job %d: %d pages requested, at most %d of them twice", id, asked, flying)
			if asked > most+flying+f.lost() {
				t.Errorf("job %d: %d pages requested, at most %d", id, asked, most+flying)
			}
		}
		t.Logf("%d kills", kills)
	}
	f.polite()
	f.leaveAll()
}

// awaitWorkers waits until a number of workers own slots.
func (f *fleet) awaitWorkers(n int) {
	f.Helper()
	f.list() // creates the tables
	f.until(fmt.Sprintf("%d workers own slots", n), func() bool {
		var have int
		f.sql(func(conn *pgx.Conn) error {
			return conn.QueryRow(f.Context(), "select count(distinct owner) from slot where owner > 0").Scan(&have)
		})
		return have == n
	})
}

// cancelled requests a crawl, cancels it when its hosts got a number of requests, up
// to half as many more, and it is ready for it, and returns when it began: no request of it
// follows, and it leaves no holds.
func (f *fleet) cancelled(each int, ready func() bool) (from time.Time) {
	f.Helper()
	from = time.Now()
	id := f.submit("--max-pages", "700", "--sitemaps", "off")
	n := each*f.hosts + f.random.IntN(each*f.hosts/2)
	f.until("it is in the middle of its work", func() bool { return len(f.gapsSince(from)) >= n && ready() })
	f.run("job", "cancel", strconv.FormatInt(id, 10))
	at := time.Now()
	time.Sleep(4 * time.Second) // no request may be sent in this time
	for _, r := range f.arrivals() {
		if late := r.at.Sub(at); late > 2*time.Second {
			f.Errorf("%s%s was requested %v after the job was cancelled", r.host, r.target, late)
		}
	}
	for _, table := range []string{"token", "account", "arrival"} {
		if n := f.left(table, id); n > 0 {
			f.Errorf("%d rows of a cancelled job are left in %s", n, table)
		}
	}
	if j := f.show(id); j.State != "cancelled" || j.Pages != f.recorded(id) || j.Pages == 0 {
		f.Errorf("%s with %d pages, %d stored", j.State, j.Pages, f.recorded(id))
	}
	return from
}

// gapsSince are the gaps between requests after a time.
func (f *fleet) gapsSince(from time.Time) []gap {
	f.Helper()
	return slices.DeleteFunc(f.gaps(), func(g gap) bool { return !g.after.After(from) })
}

// TestCancel cancels a job and requests the same again, which continues at the same
// pace.
func TestCancel(t *testing.T) {
	t.Parallel()
	f := newFleet(t, setup{hosts: 8, pages: 100, pace: pace / 2})
	f.start()
	f.start()
	f.awaitWorkers(2)
	gap := func(list []gap) time.Duration {
		var all []time.Duration
		for _, g := range list {
			stood := f.stalls.Between(g.after, g.after.Add(g.time))
			all = append(all, max(g.time-stood, f.pace))
		}
		return median(all)
	}
	const each = 12
	always := func() bool { return true }
	f.cancelled(each, always)
	before := gap(f.gaps())
	after := gap(f.gapsSince(f.cancelled(each, always)))
	t.Logf("%v a page, then %v", before, after)
	if off := float64(after)/float64(before) - 1; math.Abs(off) > 0.05 {
		t.Errorf("%v a page in the first run, %v in the second", before, after)
	}
	f.leaveAll()
}

// TestCancelLearned cancels a job whose hosts refuse more than two requests a second:
// the next job starts at the learned pace, not at the requested one.
func TestCancelLearned(t *testing.T) {
	t.Parallel()
	f := newFleet(t, setup{hosts: 8, pages: 100, pace: 300 * time.Millisecond, rules: temper.Rules{Limits: []temper.Limit{{Rate: 2, Burst: 1}}}})
	f.start()
	f.start()
	f.awaitWorkers(2)
	const each = 4
	// On a busy machine it takes longer until requests are too many for each host.
	learned := func() bool {
		hosts := f.lab.Stats().PerHost
		return len(hosts) == f.hosts && !slices.ContainsFunc(hosts, func(h lab.HostStats) bool { return h.Refusals == 0 })
	}
	f.cancelled(each, learned)
	known := map[string]bool{}
	for _, g := range f.gapsSince(f.cancelled(each, learned)) {
		if !known[g.host] && g.time < f.pace*3/2 {
			t.Errorf("%s got another request after %v by the second run", g.host, g.time)
		}
		known[g.host] = true
	}
	if len(known) != f.hosts {
		t.Errorf("%d of %d hosts got two requests by the second run", len(known), f.hosts)
	}
	f.leaveAll()
}

// TestForeignLinks follows links from host to host, each of which belongs to one of
// the workers.
func TestForeignLinks(t *testing.T) {
	t.Parallel()
	web := setup{hosts: 300, pages: 3, pace: 200 * time.Millisecond}
	if full {
		web.hosts = 10_000
	}
	const workers = 3
	f := newFleet(t, web)
	for range workers {
		f.start()
	}
	f.awaitWorkers(workers)
	j := f.await(f.submitFor(f.lab.Seeds()[:1], "--scope", "any"), f.long()+time.Duration(f.hosts)*30*time.Millisecond, nil)
	f.judge(j)
	for _, w := range f.workers {
		n := len(f.owned(w))
		t.Logf("worker %d has %d hosts", w.cmd.Process.Pid, n)
		if n < f.hosts/workers/2 {
			t.Errorf("a worker has %d of %d hosts", n, f.hosts)
		}
	}
	f.leaveAll()
}
