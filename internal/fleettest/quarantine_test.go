package fleettest

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"headway/lab"
)

// TestServiceQuarantine has a page that kills the process which requests it. It kills
// three workers, ends as quarantined, and everything else is fetched.
func TestServiceQuarantine(t *testing.T) {
	t.Parallel()
	workers, web := 4, setup{hosts: 12, pages: 12, pace: 200 * time.Millisecond}
	if full {
		workers, web = 6, setup{hosts: 100, pages: 40, pace: 200 * time.Millisecond}
	}
	var mu sync.Mutex
	alive := map[string]*worker{} // by the contact that they send
	var dead []*worker
	web.kill = func(r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		for contact, w := range alive {
			if strings.Contains(r.UserAgent(), contact) {
				delete(alive, contact)
				dead = append(dead, w)
				_ = w.cmd.Process.Kill() // it cannot have ended: it waits for the response
			}
		}
	}
	f := newFleet(t, web)
	for i := range workers {
		contact := fmt.Sprintf("http://worker-%d.example/", i)
		w := f.start("--contact", contact)
		mu.Lock()
		alive[contact] = w
		mu.Unlock()
	}
	f.awaitWorkers(workers)
	j := f.await(f.submitFor(append(f.lab.Seeds(), f.allHosts()[0]+lab.KillPath), "--sitemaps", "off"), f.long(), nil)
	mu.Lock()
	defer mu.Unlock()
	for _, w := range dead {
		<-w.exited
		f.ended(w)
	}
	want := int64(f.hosts * f.pages)
	t.Logf("%d of %d workers died; %s (%s): %v", len(dead), workers, j.State, j.Reason, j.Outcomes)
	if n := len(dead); n == 0 || n > 3 {
		t.Errorf("the page killed %d workers, want 1 to 3", n)
	}
	if j.State != "complete" || j.Outcomes["fetched"] != want || j.Outcomes["failed: quarantined"] != 1 {
		t.Errorf("%s (%s): %v, want %d fetched and 1 quarantined", j.State, j.Reason, j.Outcomes, want)
	}
	var suspects int
	f.sql(func(conn *pgx.Conn) error {
		return conn.QueryRow(t.Context(), "select count(*) from suspect").Scan(&suspects)
	})
	if suspects > 0 {
		t.Errorf("%d suspects are left", suspects)
	}
	f.leaveAll()
	f.over(j)
	f.polite()
}
