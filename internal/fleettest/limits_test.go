package fleettest

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"headway/store"
)

// limited is the limits in `headway job show --json`.
type limited struct {
	Success bool       `json:"success"`
	Limits  []limitRow `json:"ceilings"`
	Errors  []stopRow  `json:"errors"`
}

// stopRow is a limit that stopped a job.
type stopRow struct {
	Name     string  `json:"limit"`
	Layer    string  `json:"layer"`
	Max      float64 `json:"max"`
	Observed float64 `json:"observed"`
	Text     string  `json:"text"`
}

// limitRow is one limit.
type limitRow struct {
	Name      string `json:"limit"`
	Layer     string `json:"layer"`
	Max       int64  `json:"max"`
	Requested int64  `json:"requested"`
}

// limits reads the limits of a job.
func (f *fleet) limits(id int64) (l limited) {
	f.Helper()
	if err := json.Unmarshal(f.run("job", "show", "--json", strconv.FormatInt(id, 10)), &l); err != nil {
		f.Fatal(err)
	}
	return l
}

// used is how many pages a tenant used this month.
func (f *fleet) used(tenant string) int64 {
	f.Helper()
	var answer struct {
		Usage []struct {
			Pages int64 `json:"pages"`
		} `json:"usage"`
	}
	if err := json.Unmarshal(f.run("admin", "usage", "--json", tenant), &answer); err != nil {
		f.Fatal(err)
	}
	return answer.Usage[0].Pages
}

// TestLimits: a safety limit, a plan and a monthly quota each stop a job that requests
// more, while workers are killed: each has exactly its pages, usage is what was
// recorded, and the messages name the layer.
func TestLimits(t *testing.T) {
	t.Parallel()
	const safety, plan, quota = 36, 24, 30
	f := newFleet(t, setup{hosts: 12, pages: 20, safety: []string{"--max-pages", strconv.Itoa(safety), "--max-concurrent", "0", "--max-time", "0s"}})
	for _, args := range [][]string{
		{"plan", "set", "large", "--max-pages", "10000"},
		{"plan", "set", "small", "--max-pages", strconv.Itoa(plan)},
		{"plan", "set", "trial", "--month-pages", strconv.Itoa(quota)},
		{"tenant", "set", "acme", "--plan", "large"},
		{"tenant", "set", "byte", "--plan", "small"},
		{"tenant", "set", "cent", "--plan", "trial"},
	} {
		f.run(append([]string{"admin"}, args...)...)
	}
	for range 3 {
		f.start()
	}
	f.awaitWorkers(3)
	seeds := slices.Collect(slices.Chunk(f.lab.Seeds(), 4))
	kill, kills := f.killing(2)
	type want struct {
		tenant, layer, message string
		pages                  int64
		id                     int64
	}
	wants := []want{
		{"acme", "safety", "Safety limit: Maximum 36 pages per crawl (requested: 1000)", safety, 0},
		{"byte", "plan", "Plan limit: Maximum 24 pages per crawl (requested: 1000)", plan, 0},
		{"cent", "usage", "Usage limit: Maximum 30 pages left this month (requested: 1000)", quota, 0},
	}
	for i := range wants {
		wants[i].id = f.submitFor(seeds[i], "--tenant", wants[i].tenant, "--max-pages", "1000")
	}
	for _, w := range wants {
		j := f.await(w.id, f.long(), kill)
		if j.State != "partial" || j.Reason != "max_pages" || j.Pages != w.pages || f.recorded(w.id) != w.pages || f.used(w.tenant) != w.pages {
			t.Errorf("%s: %s (%s) with %d pages, %d stored, %d used, want partial (max_pages) with %d", w.tenant, j.State, j.Reason, j.Pages, f.recorded(w.id), f.used(w.tenant), w.pages)
		}
		l := f.limits(w.id)
		if !l.Success || !slices.Equal(l.Errors, []stopRow{{"max_pages", w.layer, float64(w.pages), float64(w.pages), w.message}}) || len(l.Limits) == 0 || l.Limits[0].Name != "max_pages" || l.Limits[0].Layer != w.layer || l.Limits[0].Max != w.pages || l.Limits[0].Requested != 1000 {
			t.Errorf("%s: %+v", w.tenant, l)
		}
		f.warnedOnce(w.id)
	}
	if *kills == 0 {
		t.Error("no worker was killed")
	}
	// The quota is used up: a further job is refused, with when it renews.
	renews := store.MonthOf(time.Now()).End().Format(time.RFC3339)
	said := f.refused("job", "submit", "--tenant", "cent", "--max-pages", "5", seeds[0][0])
	if !strings.Contains(said, "the monthly quota of the tenant is used up: 30 of 30 pages") || !strings.Contains(said, "it renews at "+renews) {
		t.Errorf("refused with %q", said)
	}
	f.leaveAll()
}

// TestLimitsOfHosts: a plan limits the hosts of a job with links to all of the lab,
// while workers are killed: the lab sees exactly as many, and the job reports what was
// left out.
func TestLimitsOfHosts(t *testing.T) {
	t.Parallel()
	const most = 5
	f := newFleet(t, setup{hosts: 12, pages: 5, pace: 500 * time.Millisecond})
	for _, args := range [][]string{
		{"plan", "set", "few", "--max-hosts", strconv.Itoa(most)},
		{"tenant", "set", "acme", "--plan", "few"},
	} {
		f.run(append([]string{"admin"}, args...)...)
	}
	for range 3 {
		f.start()
	}
	f.awaitWorkers(3)
	id := f.submitFor(f.lab.Seeds()[:2], "--tenant", "acme", "--scope", "any")
	killed := false
	j := f.await(id, f.long(), func() {
		if !killed && f.lab.Stats().HostsTouched > 2 { // it has begun to reserve others
			victim, _ := f.victim()
			f.kill(victim)
			f.start()
			killed = true
		}
	})
	if !killed {
		t.Error("no worker was killed")
	}
	if n := f.lab.Stats().HostsTouched; n != most {
		t.Errorf("%d hosts were asked, want %d", n, most)
	}
	if j.State != "partial" || j.Reason != "max_hosts" || j.Waiting != 0 || j.Outcomes["deferred"] == 0 || f.recorded(id) != j.Pages {
		t.Errorf("%s (%s): %d pages, %d stored, %v", j.State, j.Reason, j.Pages, f.recorded(id), j.Outcomes)
	}
	l := f.limits(id)
	at := slices.IndexFunc(l.Limits, func(x limitRow) bool { return x.Name == "max_hosts" })
	if !l.Success || !slices.Equal(l.Errors, []stopRow{{"max_hosts", "plan", most, most, "Plan limit: Maximum 5 hosts per crawl"}}) || at < 0 || l.Limits[at].Layer != "plan" || l.Limits[at].Max != most {
		t.Errorf("%+v", l)
	}
	f.warnedOnce(id)
	f.leaveAll()
}

// TestLimitsOfUse: requests, bytes and time each stop a job while workers are killed. 80 and
// 95 % of each limit and the end are events, once each, and the job has what was observed.
func TestLimitsOfUse(t *testing.T) {
	t.Parallel()
	f := newFleet(t, setup{hosts: 12, pages: 200, pace: 500 * time.Millisecond})
	for range 3 {
		f.start()
	}
	f.awaitWorkers(3)
	seeds := slices.Collect(slices.Chunk(f.lab.Seeds(), 4))
	wants := []struct {
		name, flag, value string
		max               float64
		success           bool
		id                int64
	}{
		{"max_requests", "--max-requests", "100", 100, true, 0},
		{"max_bytes", "--max-bytes", "200000", 200_000, true, 0},
		{"max_time", "--max-time", "15s", 15, false, 0},
	}
	for i := range wants {
		wants[i].id = f.submitFor(seeds[i], wants[i].flag, wants[i].value)
	}
	kill, kills := f.killing(2)
	for _, w := range wants {
		j := f.await(w.id, f.long(), kill)
		l := f.limits(w.id)
		if j.State != "partial" || j.Reason != w.name || l.Success != w.success || len(l.Errors) != 1 {
			t.Fatalf("%s: %s (%s), %+v", w.name, j.State, j.Reason, l)
		}
		if e := l.Errors[0]; e.Name != w.name || e.Layer != "job" || e.Max != w.max || e.Observed < w.max {
			t.Errorf("%s: stopped by %+v", w.name, e)
		}
		f.warnedOnce(w.id)
	}
	if *kills == 0 {
		t.Error("no worker was killed")
	}
	f.leaveAll()
}

// TestServiceRequestLimit: hosts never see more requests than a job's limit, robots.txt
// included, while workers are killed; what a killed worker had reserved counts as sent. An
// extension continues to its new limit.
func TestServiceRequestLimit(t *testing.T) {
	t.Parallel()
	f := newFleet(t, setup{hosts: 12, pages: 200, pace: 300 * time.Millisecond})
	for range 3 {
		f.start()
	}
	f.awaitWorkers(3)
	kill, kills := f.killing(3)
	id := f.submitFor(f.lab.Seeds(), "--max-requests", "240")
	for _, most := range []int64{240, 320} {
		if most > 240 {
			f.run("job", "extend", strconv.FormatInt(id, 10), "--max-requests", strconv.FormatInt(most, 10))
		}
		j := f.await(id, f.long(), kill)
		l := f.limits(id)
		if j.State != "partial" || j.Reason != "max_requests" || len(l.Errors) != 1 || l.Errors[0].Max != float64(most) || l.Errors[0].Observed != float64(most) {
			t.Fatalf("%s (%s), %+v, want %d requests", j.State, j.Reason, l, most)
		}
		sent := f.lab.Stats().Total.Requests
		t.Logf("%d requests of %d after %d kills", sent, most, *kills)
		// A killed worker had at most one request in flight, or about to be sent, to each host.
		if sent > most || sent < most-int64(*kills*f.hosts) {
			t.Errorf("%d requests of %d after %d kills", sent, most, *kills)
		}
	}
	if *kills == 0 {
		t.Error("no worker was killed")
	}
	f.leaveAll()
}

// killing returns a function that replaces a worker by a new one when it is time: first after
// four seconds, then once a lease, up to a number of times, which it counts.
func (f *fleet) killing(most int) (kill func(), done *int) {
	next, done := time.Now().Add(4*time.Second), new(int)
	return func() {
		if *done == most || time.Now().Before(next) {
			return
		}
		next = time.Now().Add(lease)
		victim, _ := f.victim()
		f.kill(victim)
		f.start()
		*done++
	}, done
}

// warnedOnce wants one event at 80 and at 95 % of a limit that stopped a job, and one when
// it was reached.
func (f *fleet) warnedOnce(id int64) {
	f.Helper()
	var events []string
	f.sql(func(conn *pgx.Conn) error {
		rows, err := conn.Query(f.Context(), "select e.kind || ' ' || (e.body::jsonb ->> 'percent') from event e where e.job = $1 and e.kind like 'limit.%' order by 1", id)
		if err == nil {
			events, err = pgx.CollectRows(rows, pgx.RowTo[string])
		}
		return err
	})
	if !slices.Equal(events, []string{"limit.near 80", "limit.near 95", "limit.reached 100"}) {
		f.Errorf("job %d has the events %v", id, events)
	}
}
