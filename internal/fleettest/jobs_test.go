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
	f := newFleetOf(t, 6, 12)
	f.pace = pace / 2 // more turns in the same time
	if full {
		jobs = 10
		f = newFleetOf(t, 20, 20)
	}
	for i := range jobs {
		f.submit("--tenant", tenants[i%len(tenants)])
	}
	f.start()
	f.start()
	for id := range jobs {
		f.await(int64(id+1), time.Duration(jobs)*long(), nil)
	}
	want := int64(f.hosts * f.pages)
	for _, j := range f.list() {
		if j.State != "complete" || j.Outcomes["fetched"] != want {
			t.Errorf("job %d: %s with %d pages, want %d", j.Job, j.State, j.Outcomes["fetched"], want)
		}
	}
	// Who is taken for dead on a busy machine had a request on each host at most.
	if n, most := f.lab.Stats().Total.PageAnswers, want*int64(jobs)+f.lost(); n > most {
		t.Errorf("%d pages answered, want at most %d", n, most)
	}
	f.fair(jobs)
	f.polite()
}

// fair holds the shares of jobs against each other, on each host for as long as
// all of them had work there: after the second page of the last to begin, which is
// the first one found by a link, and before the last page of the first to end.
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
