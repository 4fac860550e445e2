package fleettest

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// restorePace is longer than a restore takes here: workers return to hosts that just
// got requests of which the backup knows nothing. If the backup has workers, their
// leases are waited for, and any pace would do.
const restorePace = 3 * time.Second

// TestRestore backs up a fleet, lets it continue, and restores the backup with the
// commands of the guide: the job is completed, nothing is lost or recorded twice, and
// no host gets a request too soon.
func TestRestore(t *testing.T) {
	for name, tc := range map[string]struct {
		atRest bool
		pages  int
		pace   time.Duration
	}{
		"backed up while workers work":  {false, 12, pace},
		"backed up while none is there": {true, 4, restorePace},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, setup{hosts: 8, pages: tc.pages, pace: tc.pace})
			f.start()
			f.start()
			id := f.submit("--sitemaps", "off")
			f.awaitPages(id, int64(f.hosts))
			if tc.atRest {
				f.leaveAll()
			}
			f.printed("pg_dump ")
			saved := f.show(id).Pages // at most
			if tc.atRest {
				f.start()
			}
			f.awaitPages(id, saved+int64(f.hosts))
			f.leaveAll()

			f.printed("psql ", "pg_restore ")
			pages := f.show(id).Pages
			t.Logf("%d pages after the restore", pages)
			if pages > saved || pages < int64(f.hosts) {
				t.Errorf("%d pages are recorded after the restore, want %d to %d", pages, f.hosts, saved)
			}
			f.start()
			f.start()
			f.judge(f.await(id, f.long(), nil))
			f.leaveAll()
		})
	}
}

// awaitPages waits until a job has a number of pages.
func (f *fleet) awaitPages(id, n int64) {
	f.Helper()
	// Other processes report nothing here, so it is polled.
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		j := f.show(id)
		if j.Pages >= n {
			return
		}
		if !j.Ended.IsZero() || time.Since(began) > f.long() {
			f.Fatalf("want %d pages: %+v", n, j)
		}
	}
}

// printed runs the commands of the operator's guide that begin with one of these
// words.
func (f *fleet) printed(begin ...string) {
	f.Helper()
	text, err := os.ReadFile(operateGuide)
	if err != nil {
		f.Fatal(err)
	}
	ran := 0
	for _, s := range commands(string(text)) {
		for _, b := range begin {
			if !strings.HasPrefix(s.command, b) {
				continue
			}
			cmd := exec.CommandContext(f.Context(), "sh", "-c", s.command)
			cmd.Dir, cmd.Env = f.dir, f.command([]int{f.db.Port}).Env
			if out, err := cmd.CombinedOutput(); err != nil {
				f.Fatalf("%s: %v\n%s", s.command, err, out)
			}
			ran++
		}
	}
	if ran < len(begin) {
		f.Fatalf("the guide has %d commands with %v", ran, begin)
	}
}
