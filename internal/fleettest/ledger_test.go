package fleettest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestServiceLedger runs ten jobs of three tenants on the same hosts while workers are
// killed. The time of each job is kept and adds up to 100 %, and the jobs together account
// for the time that the workers measured: each host is charged to one job at a time.
func TestServiceLedger(t *testing.T) {
	t.Parallel()
	const jobs, tenants, workers = 10, 3, 4
	web, kills, apart := setup{hosts: 6, pages: 3, pace: pace / 4}, 1, lease
	if full {
		web, kills, apart = setup{hosts: 20, pages: 12}, 5, 20*time.Second
	}
	f := newFleet(t, web)
	s := f.service()
	ports := map[*worker]int{}
	start := func() {
		port := freePort(t)
		ports[f.start("--listen", fmt.Sprintf("127.0.0.1:%d", port))] = port
	}
	var owners []*tenant
	for i := range tenants {
		owners = append(owners, s.tenant(fmt.Sprint("tenant", i)))
	}
	ids := map[int64]*tenant{}
	var last int64
	for i := range jobs {
		owner := owners[i%tenants]
		last = owner.create(f.crawl(0, f.lab.Seeds()...))
		ids[last] = owner
	}
	for range workers { // after that all jobs start together, and share the hosts
		start()
	}
	f.awaitWorkers(workers)
	f.awaitPages(last, 1)

	measured, done, next := 0.0, 0, time.Now()
	disturb := func() {
		if done == kills || time.Now().Before(next) {
			return
		}
		victim, _ := f.victim()
		measured += f.hostSeconds(ports[victim])
		f.kill(victim)
		start()
		done++
		next = time.Now().Add(apart)
	}
	sum := 0.0
	for id, owner := range ids {
		if j := f.await(id, time.Duration(jobs)*f.long(), disturb); j.State != "complete" || j.Pages != int64(f.hosts*f.pages) {
			t.Errorf("job %d: %s (%s) with %d pages, want complete with %d", id, j.State, j.Reason, j.Pages, f.hosts*f.pages)
		}
		own, others := owner.ledger(id)
		t.Logf("job %d: %.1f host-seconds of its own, %.1f while hosts were busy with other jobs", id, own, others)
		if own == 0 || others == 0 {
			t.Errorf("job %d: %.1f and %.1f host-seconds", id, own, others)
		}
		sum += own
	}
	for _, w := range f.workers {
		measured += f.hostSeconds(ports[w])
	}
	apartBy := math.Abs(sum-measured) / measured
	t.Logf("%d kills; %.1f host-seconds in the jobs' ledgers, %.1f measured by the workers: %.2f %% apart", done, sum, measured, 100*apartBy)
	if done != kills {
		t.Errorf("%d of %d kills", done, kills)
	}
	// A killed worker takes at most what it had not stored yet with it.
	bound := 0.01
	if !full {
		bound = float64(kills) * 2 * float64(f.hosts) / measured
	}
	if apartBy > bound {
		t.Errorf("%.2f %% apart, want at most %.2f %%", 100*apartBy, 100*bound)
	}
	f.leave(s.now)
	f.leaveAll()
}

// ledger is the host time of a job: its own, and while hosts were busy with other jobs.
// Its parts must add up to 1.
func (c *tenant) ledger(id int64) (own, others float64) {
	c.Helper()
	slow, err := c.ExplainPaceOfJob(c.Context(), id)
	if err != nil {
		c.Fatal(err)
	}
	total := 0.0
	for _, p := range slow.Parts {
		if total += p.Part; p.State == "other_jobs" {
			others += p.SpentSeconds
		} else {
			own += p.SpentSeconds
		}
	}
	if math.Abs(total-1) > 1e-9 {
		c.Errorf("job %d: the parts add up to %v: %+v", id, total, slow.Parts)
	}
	return own, others
}

// hostSeconds is the host time in all states that a worker has measured.
func (f *fleet) hostSeconds(port int) (sum float64) {
	f.Helper()
	a, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/metrics", port))
	if err != nil {
		f.Fatal(err)
	}
	defer a.Body.Close()
	for lines := bufio.NewScanner(a.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if !strings.HasPrefix(name, "headway_host_seconds_total{") {
			continue
		}
		v, err := strconv.ParseFloat(value, 64)
		if err != nil {
			f.Fatal(err)
		}
		sum += v
	}
	return sum
}

// TestSlowDatabase has a database far away: the time of the job is charged to it.
func TestSlowDatabase(t *testing.T) {
	t.Parallel()
	f := newFleet(t, setup{hosts: 4, pages: 8, pace: 10 * time.Millisecond})
	line := f.start().lines[0]
	f.awaitWorkers(1)
	line.delay.Store(int64(100 * time.Millisecond)) // each way
	id := f.submit()
	if j := f.await(id, f.long(), nil); j.State != "complete" || j.Pages != int64(f.hosts*f.pages) {
		t.Errorf("%s (%s) with %d pages", j.State, j.Reason, j.Pages)
	}
	var slow struct {
		SoFar struct{ State string } `json:"so_far"`
		Parts []struct {
			State string
			Part  float64
		}
	}
	if err := json.Unmarshal(f.run("job", "slow", strconv.FormatInt(id, 10), "--json"), &slow); err != nil {
		t.Fatal(err)
	}
	t.Log(slow.Parts)
	if slow.SoFar.State != "database" {
		t.Errorf("it says %s", slow.SoFar.State)
	}
	line.delay.Store(0)
	f.leaveAll()
}
