package fleettest

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// killer kills the process that requests one page, before it gets a response. Workers
// are known by the contact that they send.
type killer struct {
	host, target string
	mu           sync.Mutex
	deaths       []*worker
	workers      map[string]*worker // by contact
}

// ServeHTTP kills the process that sent the request, and never responds.
func (k *killer) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	k.mu.Lock()
	for contact, w := range k.workers {
		if strings.Contains(r.UserAgent(), contact) {
			delete(k.workers, contact)
			k.deaths = append(k.deaths, w)
			_ = w.cmd.Process.Signal(syscall.SIGKILL) // it cannot have ended: it waits for the response
		}
	}
	k.mu.Unlock()
	<-r.Context().Done()
}

func (k *killer) matches(r *http.Request) bool {
	return k != nil && "http://"+r.Host == k.host && r.RequestURI == k.target
}

// dead is how many processes it has killed.
func (k *killer) dead() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.deaths)
}

// TestServiceQuarantine has a page that kills the process which requests it. It kills
// three workers, ends as quarantined, and everything else is fetched.
func TestServiceQuarantine(t *testing.T) {
	t.Parallel()
	workers, web := 4, setup{hosts: 12, pages: 12, pace: 200 * time.Millisecond}
	if full {
		workers, web = 6, setup{hosts: 100, pages: 40, pace: 200 * time.Millisecond}
	}
	f := newFleet(t, web)
	// No page is reached only through this one.
	k := &killer{host: f.allHosts()[0], target: "/s9/p9.html", workers: map[string]*worker{}}
	f.lab.killer.Store(k)
	for i := range workers {
		contact := fmt.Sprintf("http://worker-%d.example/", i)
		k.mu.Lock()
		k.workers[contact] = f.start("--contact", contact)
		k.mu.Unlock()
	}
	f.awaitWorkers(workers)
	j := f.await(f.submit("--sitemaps", "off"), f.long(), nil)
	for _, w := range k.deaths {
		<-w.exited
		f.ended(w)
	}
	want := int64(f.hosts*f.pages) - 1
	t.Logf("%d of %d workers died; %s (%s): %v", k.dead(), workers, j.State, j.Reason, j.Outcomes)
	if n := k.dead(); n == 0 || n > 3 {
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
