package fleettest

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// judge checks what the lab saw and what is stored, for a job that had the lab to
// itself.
func (f *fleet) judge(j job) {
	f.Helper()
	want := int64(f.hosts * f.pages)
	total := f.lab.Stats().Total
	f.Logf("%s (%s): %d pages, %d answers; at once %d", j.State, j.Reason, j.Pages, total.PageAnswers, total.MaxConcurrent)
	if j.State != "complete" || j.Outcomes["fetched"] != want || total.UniquePages != want {
		f.Errorf("%s (%s): %d pages recorded and %d seen by the lab, want %d; %v", j.State, j.Reason, j.Outcomes["fetched"], total.UniquePages, want, j.Outcomes)
	}
	if n := f.recorded(j.ID); n != want {
		f.Errorf("%d pages are stored, want %d", n, want)
	}
	f.over(j)
	f.polite()
}

// over checks that nothing happened after the end of the last job, and that no work is
// left.
func (f *fleet) over(j job) {
	f.Helper()
	for _, r := range f.arrivals() {
		if r.at.After(j.Ended) {
			f.Errorf("%s%s was requested at %s, after the job had ended at %s", r.host, r.target, r.at.Format(time.StampMilli), j.Ended.Format(time.StampMilli))
		}
	}
	for _, table := range []string{"queue_%d", "errand_%d", "arrival", "token"} {
		if n := f.left(table, j.ID); n > 0 {
			f.Errorf("%d rows are left in %s", n, table)
		}
	}
}

// left counts the rows of a job in a table that mean work.
func (f *fleet) left(table string, id int64) (n int64) {
	f.Helper()
	where := map[string]string{"errand_%d": " and not ended", "token": " and n > 0"}[table]
	f.sql(func(conn *pgx.Conn) error {
		if strings.Contains(table, "%d") {
			var shelf int
			if err := conn.QueryRow(f.Context(), "select shelf from job where id = $1", id).Scan(&shelf); err != nil {
				return err
			}
			table = fmt.Sprintf(table, shelf)
		}
		return conn.QueryRow(f.Context(), "select count(*) from "+table+" where job = $1"+where, id).Scan(&n)
	})
	return n
}

// recorded counts the fetched pages of a job, each of which is stored once.
func (f *fleet) recorded(id int64) (n int64) {
	f.Helper()
	f.sql(func(conn *pgx.Conn) error {
		var shelf int
		if err := conn.QueryRow(f.Context(), "select shelf from job where id = $1", id).Scan(&shelf); err != nil {
			return err
		}
		var different int64
		err := conn.QueryRow(f.Context(), fmt.Sprintf("select count(*), count(distinct fp) from outcome_%d where job = $1 and ending = 1", shelf), id).Scan(&n, &different)
		if n != different {
			f.Errorf("%d records of %d pages", n, different)
		}
		return err
	})
	return n
}

// polite checks the requests that were sent and what the lab saw.
func (f *fleet) polite() {
	f.Helper()
	total := f.lab.Stats().Total
	if total.MaxConcurrent > 1 {
		f.Errorf("%d requests at once on a host", total.MaxConcurrent)
	}
	if total.RobotsViolations+total.BeforeRobots+total.NofollowHits > 0 {
		f.Errorf("robots violations %d, before robots.txt %d, nofollow %d", total.RobotsViolations, total.BeforeRobots, total.NofollowHits)
	}
	f.stamped()
	f.paced()
}

// owned are the hosts of a worker.
func (f *fleet) owned(w *worker) (hosts []string) {
	f.Helper()
	f.sql(func(conn *pgx.Conn) (err error) {
		rows, err := conn.Query(f.Context(), "select h.name from host h join slot s on s.id = h.slot join worker w on w.id = s.owner where w.name like '% ' || $1", strconv.Itoa(w.cmd.Process.Pid))
		if err == nil {
			hosts, err = pgx.CollectRows(rows, pgx.RowTo[string])
		}
		return err
	})
	return hosts
}

// takenOver checks that the hosts of a worker that ended get requests again in time,
// not counting stalls of the machine. Requests within quiet of the end were its own.
func (f *fleet) takenOver(hosts []string, since time.Time, quiet time.Duration) {
	f.Helper()
	next := map[string]time.Duration{}
	for _, r := range f.arrivals() {
		d := r.at.Sub(since)
		if _, ok := next[r.host]; d > quiet && !ok && slices.Contains(hosts, r.host) {
			next[r.host] = d
		}
	}
	if len(next) == 0 {
		f.Error("none of the hosts got another request")
		return
	}
	times := slices.Sorted(maps.Values(next))
	last := times[len(times)-1]
	stood := f.stalls.Between(since, since.Add(last))
	f.Logf("%d of %d hosts got another request, the first after %v, the last after %v, in which the machine stalled for %v", len(times), len(hosts), times[0], last, stood)
	if last-stood > takeOver {
		f.Errorf("a host got another request after %v, want at most %v in addition to the %v in which the machine stalled", last, takeOver, stood)
	}
}

// growth is by how much the peak memory of a worker may grow after the middle of a
// run.
const growth = 64 << 20

// peaks are the peak memory of the workers so far, in bytes.
func (f *fleet) peaks() map[*worker]int64 {
	f.Helper()
	peaks := map[*worker]int64{}
	for _, w := range f.workers {
		text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(w.cmd.Process.Pid), "status"))
		if err != nil {
			f.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(text), "VmHWM:")
		kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
		if err != nil {
			f.Fatal(err)
		}
		peaks[w] = kb << 10
	}
	return peaks
}

// flat checks that the memory of workers has grown little since.
func (f *fleet) flat(before map[*worker]int64) {
	f.Helper()
	var most, grown int64
	for w, peak := range f.peaks() {
		most = max(most, peak)
		if was, ok := before[w]; ok {
			grown = max(grown, peak-was)
		}
	}
	f.Logf("memory: at most %d MB, grown by %d MB", most>>20, grown>>20)
	if grown > growth {
		f.Errorf("the memory of a worker has grown by %d MB, at most %d MB", grown>>20, int64(growth)>>20)
	}
}
