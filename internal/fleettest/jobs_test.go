package fleettest

import (
	"encoding/json"
	"math"
	"testing"
	"time"
)

// list is what `headway job list --json` says.
func (f *fleet) list() []job {
	f.Helper()
	var answer struct {
		Jobs []job `json:"jobs"`
	}
	if err := json.Unmarshal(f.run("job", "list", "--json"), &answer); err != nil {
		f.Fatal(err)
	}
	return answer.Jobs
}

// TestShares lets jobs of three tenants crawl the same hosts: the hosts see one
// pace, and each job gets its share.
func TestShares(t *testing.T) {
	t.Parallel()
	jobs, tenants := 4, []string{"a", "b", "c"}
	f := newFleetOf(t, 6, 8)
	if full {
		jobs = 10
		f = newFleetOf(t, 20, 20)
	}
	for i := range jobs {
		f.submit("--tenant", tenants[i%len(tenants)])
	}
	f.start()
	f.start()
	want := int64(f.hosts * f.pages)
	shared := false
	for began := time.Now(); ; time.Sleep(time.Second) {
		list := f.list()
		ended, sum := 0, int64(0)
		for _, j := range list {
			sum += j.Outcomes["fetched"]
			if !j.Ended.IsZero() {
				ended++
			}
		}
		// In the middle, when all of them have had many turns and none is over.
		if mean := float64(sum) / float64(len(list)); !shared && mean > float64(want)/2 && ended == 0 {
			shared = true
			for _, j := range list {
				// Each is at most a turn on each host ahead of or behind another.
				if off := math.Abs(float64(j.Outcomes["fetched"]) - mean); off > max(0.1*mean, float64(f.hosts)/2) {
					t.Errorf("job %d has %d pages, the mean is %.1f", j.Job, j.Outcomes["fetched"], mean)
				}
			}
		}
		if ended == len(list) {
			break
		}
		if time.Since(began) > time.Duration(jobs)*long() {
			t.Fatalf("the jobs have not ended: %+v", list)
		}
	}
	if !shared {
		t.Error("no look at the jobs fell into their middle")
	}
	for _, j := range f.list() {
		if j.State != "complete" || j.Outcomes["fetched"] != want {
			t.Errorf("job %d: %s with %d pages, want %d", j.Job, j.State, j.Outcomes["fetched"], want)
		}
	}
	if n := f.lab.Stats().Total.PageAnswers; n != want*int64(jobs) {
		t.Errorf("%d pages answered, want %d", n, want*int64(jobs))
	}
	f.polite()
}

// TestQueue lets one job run at a time, while a worker is killed: never two, none
// forgotten, in order.
func TestQueue(t *testing.T) {
	t.Parallel()
	jobs := 5
	if full {
		jobs = 20
	}
	f := newFleetOf(t, jobs, 3)
	seeds := f.lab.Seeds()
	for i := range jobs {
		f.submitFor(seeds[i : i+1])
	}
	f.start("--max-running", "1")
	f.start("--max-running", "1")
	killed := false
	for began := time.Now(); ; time.Sleep(200 * time.Millisecond) {
		list := f.list()
		ended, running := 0, 0
		for i, j := range list {
			switch {
			case !j.Ended.IsZero():
				ended++
				if i > 0 && j.Ended.Before(list[i-1].Ended) {
					t.Errorf("job %d ended before job %d", j.Job, list[i-1].Job)
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
			f.start("--max-running", "1")
		}
		if time.Since(began) > time.Duration(jobs)*20*time.Second {
			t.Fatalf("the jobs have not ended: %+v", list)
		}
	}
	if !killed {
		t.Error("nobody was killed")
	}
	for _, j := range f.list() {
		if j.State != "complete" || j.Outcomes["fetched"] != int64(f.pages) {
			t.Errorf("job %d: %s with %d pages, want %d", j.Job, j.State, j.Outcomes["fetched"], f.pages)
		}
	}
	f.polite()
}

// TestBudget gives a job 50 pages and eight workers, some of which are killed:
// exactly 50 are recorded.
func TestBudget(t *testing.T) {
	t.Parallel()
	runs := 1
	if full {
		runs = 100
	}
	for range runs {
		f := newFleetOf(t, 20, 10)
		for range 8 {
			f.start()
		}
		id := f.submit("--max-pages", "50")
		next, kills := time.Now().Add(3*time.Second), 0
		j := f.await(id, long(), func() {
			if kills < 2 && time.Now().After(next) {
				next = time.Now().Add(2 * time.Second)
				f.kill(f.workers[f.random.IntN(len(f.workers))])
				kills++
			}
		})
		asked := f.lab.Stats().Total.PageAnswers
		t.Logf("%s (%s) with %d pages, %d asked for, %d kills", j.State, j.Reason, j.Pages, asked, kills)
		if j.State != "partial" || j.Reason != "max_pages" || j.Pages != 50 {
			t.Errorf("%s (%s) with %d pages, want partial (max_pages) with 50", j.State, j.Reason, j.Pages)
		}
		// A worker that was killed had at most one request under way on each of
		// its hosts, and what it had not committed.
		if most := int64(50 + 2*kills*f.hosts); asked > most {
			t.Errorf("%d pages asked for, at most %d", asked, most)
		}
		f.polite()
		f.endAll()
		f.workers = nil
	}
}
