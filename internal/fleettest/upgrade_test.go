package fleettest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"headway/client"
)

// before is the last commit whose program supports tables of format 11.
const before = "4fb89a5"

// buildBefore builds the program of that commit, once for all tests on this machine.
// It fails only if the history is missing.
func buildBefore(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(cache, "headway-fleettest", before)
	if _, err := os.Stat(program); err == nil {
		return program
	}
	git := func(args ...string) (string, error) {
		out, err := exec.CommandContext(t.Context(), "git", args...).CombinedOutput()
		return strings.TrimSpace(string(out)), err
	}
	if out, err := git("rev-parse", "--is-shallow-repository"); err != nil || out == "true" {
		t.Skipf("THE UPGRADE WAS NOT TRIED: this is no clone with all of its history, so the program of commit %s cannot be built (%s, %v)", before, out, err)
	}
	root, err := git("rev-parse", "--show-toplevel")
	if err != nil {
		t.Fatalf("%v: %s", err, root)
	}
	if out, err := git("cat-file", "-e", before+"^{commit}"); err != nil {
		t.Fatalf("commit %s, whose program the upgrade begins with, is not in this repository: fetch the history of main (%s, %v)", before, out, err)
	}
	dir := t.TempDir()
	archive, source, built := filepath.Join(dir, "source.tar"), filepath.Join(dir, "source"), fmt.Sprint(program, ".", os.Getpid())
	if err := errors.Join(os.Mkdir(source, 0o755), os.MkdirAll(filepath.Dir(program), 0o755)); err != nil {
		t.Fatal(err)
	}
	for _, words := range [][]string{
		{"git", "-C", root, "archive", "--output", archive, before},
		{"tar", "-xf", archive, "-C", source},
		{"go", "-C", source, "build", "-o", built, "./cmd/headway"},
	} {
		if out, err := exec.CommandContext(t.Context(), words[0], words[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", words, err, out)
		}
	}
	if err := os.Rename(built, program); err != nil {
		t.Fatal(err)
	}
	return program
}

// TestUpgrade replaces a running fleet, its tables and its server with those of the
// new version, one process after the other. One is killed. Clients and hosts see no
// difference.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	const workers, tenant = 3, "acme"
	old := buildBefore(t)
	web := setup{hosts: 16, pages: 30} // the new workers must be there before they are crawled
	if full {
		web = setup{hosts: 500, pages: 40}
	}
	web.older = true
	f := newFleet(t, web)
	heard := newInbox(t)

	f.program = old
	server, at := f.serve(heard)
	for range workers {
		f.start()
	}
	f.awaitWorkers(workers)
	heard.endpoint(f, f.client(at, nil, tenant))
	olds := slices.Clone(f.workers)
	id := f.submit("--tenant", tenant)
	f.awaitPages(id, int64(f.hosts))

	// The new version migrates, and runs next to the old one.
	f.program = ""
	was := f.format()
	f.list()
	t.Logf("format %d became %d", was, f.format())
	if now := f.format(); was != 11 || now <= was {
		t.Errorf("the tables went from format %d to %d", was, now)
	}
	f.refuses(old)
	f.unset()
	f.setSafety()
	successor, at := f.serve(heard)
	api := f.client(at, nil, tenant)
	for range workers {
		f.start()
	}
	f.awaitWorkers(2 * workers)

	victim, hosts := f.victimOf(olds)
	f.kill(victim)
	killed := time.Now()
	f.leave(server)
	for _, w := range olds {
		if w != victim {
			f.leave(w)
		}
	}
	if j := f.show(id); !j.Ended.IsZero() {
		t.Errorf("the job ended before the old version had left: %+v", j)
	}
	f.judge(f.await(id, f.long(), nil))
	f.takenOver(hosts, killed, 0)
	var events []client.Event
	f.until("the end of the job is told, and all before", func() bool {
		events = all(f, api.AllEvents(t.Context(), client.ListEventsParams{}))
		return events[len(events)-1].Kind == "job.complete" && len(heard.missing(events)) == 0
	})
	if again := heard.again(); len(events) < 3 || again != 0 {
		t.Errorf("%d events were received, and %d of them again", len(events), again)
	}
	f.leave(successor)
	f.leaveAll()
}

// unset checks that no worker of the new version starts before the operator has chosen safety
// limits, and what the worker suggests.
func (f *fleet) unset() {
	f.Helper()
	w := f.spawn("worker", "--contact", "you@example.com", "--lease", lease.String(), "--max-running", "7")
	<-w.exited
	if code := w.cmd.ProcessState.ExitCode(); code != 2 || !strings.Contains(w.errs.String(), "headway admin safety set --max-pages 0 --max-time 0s --max-concurrent 7 --lease 5s") {
		f.Errorf("started without safety limits: exit code %d\n%s", code, w.errs)
	}
	f.Log(w.errs.String())
}

// refuses checks that a program reports that the tables are too new for it, as in the
// guide.
func (f *fleet) refuses(program string) {
	f.Helper()
	cmd := f.command([]int{f.db.Port}, "job", "list")
	cmd.Path = program
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != 5 || !strings.Contains(string(out), "this program knows formats up to 11") {
		f.Errorf("started on newer tables: %v\n%s", err, out)
	}
}

// format is the number of the last migration.
func (f *fleet) format() (n int64) {
	f.Helper()
	f.sql(func(conn *pgx.Conn) error {
		return conn.QueryRow(f.Context(), "select max(version_id) from goose_db_version").Scan(&n)
	})
	return n
}

// serving finds the address of a server in its output.
var serving = regexp.MustCompile(`serving the API at (http://\S+)`)

// serve starts a server that may send to a receiver, waits until it is ready and
// returns its address.
func (f *fleet) serve(to *inbox) (server *worker, at string) {
	f.Helper()
	server = f.spawn("serve", "--listen", "127.0.0.1:0", "--allow-private", to.door())
	f.until("a server", func() bool { return serving.MatchString(server.errs.String()) })
	return server, serving.FindStringSubmatch(server.errs.String())[1]
}
