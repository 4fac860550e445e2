package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"headway/job"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

func openView(t testing.TB, dir string) *View {
	t.Helper()
	v, err := OpenView(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.Close() })
	return v
}

// names lists a directory.
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// TestViewAgreesWithStore runs the same queries on a view and on the store.
func TestViewAgreesWithStore(t *testing.T) {
	dir := t.TempDir()
	s := askable(t, dir)
	v := openView(t, dir)
	ctx := t.Context()
	ask := func(r store.Reader) map[string]any {
		answers := map[string]any{}
		put := func(name string, answer any, err error) {
			if err != nil {
				answers[name] = err.Error()
				return
			}
			answers[name] = answer
		}
		jobs, err := r.JobList(ctx, 0, 10)
		put("jobs", jobs, err)
		counts, err := r.Counts(ctx, 1)
		counts.Tokens = 0 // known only to the process that crawls
		put("counts", counts, err)
		for _, q := range []store.Query{{Job: 1}, {Job: 1, Outcome: visit.Pending}, {Job: 1, Outcome: visit.Skipped}, {Job: 1, Host: "http://a.example"}} {
			q.Max = 100
			page, err := r.List(ctx, q)
			put(fmt.Sprintf("list %v", q), page, err)
			for _, e := range page.Entries {
				entry, err := r.Lookup(ctx, 1, e.Item.URL)
				put("lookup "+e.Item.URL.String(), entry, err)
			}
		}
		hosts, err := r.HostList(ctx, store.HostListQuery{Job: 1, Max: 100})
		put("hosts", hosts, err)
		for _, h := range hosts.Hosts {
			host, err := r.Host(ctx, h.Host.Host)
			put("host "+h.Host.Host, host, err)
			paces, err := r.PaceChanges(ctx, h.Host.Host)
			put("paces "+h.Host.Host, paces, err)
		}
		points, err := r.Points(ctx, 1)
		put("points", points, err)
		_, err = r.Counts(ctx, 99)
		put("no such job", nil, err)
		put("key", r.Key(), nil)
		return answers
	}
	seen := ask(v)
	if page := seen["hosts"].(store.HostListPage); len(page.Hosts) < 2 {
		t.Fatalf("hosts %+v", page)
	}
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	if err := v.Close(); err != nil {
		t.Errorf("closed twice: %v", err)
	}
	if _, err := v.Job(ctx, 1); !errors.Is(err, errClosed) {
		t.Errorf("a closed view answers: %v", err)
	}
	if diff := cmp.Diff(ask(s), seen, cmp.Comparer(func(a, b weburl.URL) bool { return a == b })); diff != "" {
		t.Errorf("store and view disagree:\n%s", diff)
	}
}

// TestListEndedPages lists URLs of one ending in pages: each URL once, by age.
func TestListEndedPages(t *testing.T) {
	const most = 20
	for _, n := range []int{1, most - 1, most, most + 1, 2 * most, 2*most + 3} {
		s := openTest(t, t.TempDir(), nil)
		w := newOwner(t, s, 0)
		links := w.found(n, "http://a.example/%06d")
		for i := range links {
			links[i].Outcome, links[i].Reason = visit.Skipped, visit.Nofollow
		}
		_, err := s.Add(t.Context(), w.now, links)
		w.check(err)
		q := store.Query{Job: w.job, Outcome: visit.Skipped, Reason: visit.Nofollow, Texts: true, Max: most}
		var got []string
		for {
			page, err := s.List(t.Context(), q)
			w.check(err)
			if len(page.Entries) > most {
				t.Errorf("a page of %d", len(page.Entries))
			}
			for i := range page.Entries {
				got = append(got, page.Entries[i].Item.URL.Path())
			}
			if q.After = page.Next; q.After == "" {
				break
			}
		}
		if len(got) != n || !slices.IsSorted(got) || len(slices.Compact(got)) != n {
			t.Errorf("%d of %d listed, by age: %v", len(got), n, slices.IsSorted(got))
		}
	}
}

func TestHostListPages(t *testing.T) {
	dir := t.TempDir()
	s := openTest(t, dir, nil)
	w := newOwner(t, s, 0)
	for i := range 7 {
		for k := range i + 1 {
			w.add(fmt.Sprintf("http://h%d.example/%d", i, k))
		}
	}
	v := openView(t, dir)
	var got []string
	q := store.HostListQuery{Job: w.job, Max: 3}
	for {
		page, err := v.HostList(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range page.Hosts {
			got = append(got, fmt.Sprintf("%s %d", h.Host.Host, h.Waiting))
		}
		if q.After = page.Next; q.After == "" {
			break
		}
	}
	want := []string{"http://h0.example 1", "http://h1.example 2", "http://h2.example 3", "http://h3.example 4", "http://h4.example 5", "http://h5.example 6", "http://h6.example 7"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	one, err := v.HostList(t.Context(), store.HostListQuery{Job: w.job, Host: "http://h4.example", Max: 3})
	if err != nil || len(one.Hosts) != 1 || one.Hosts[0].Waiting != 5 || one.Next != "" {
		t.Errorf("one host alone: %+v, %v", one, err)
	}
	q.After = "x"
	if _, err := v.HostList(t.Context(), q); err == nil {
		t.Error("a cursor of another list is taken")
	}
}

func TestAside(t *testing.T) {
	dir := t.TempDir()
	s := openTest(t, dir, nil)
	w := newOwner(t, s, 0)
	out, in := mustURL(t, "http://elsewhere.example/x"), mustURL(t, "http://a.example/x")
	_, err := s.Add(t.Context(), time.Now(), []store.Found{
		{Item: visit.Item{Job: w.job, URL: out, Via: in, Found: visit.FoundLink, Depth: 1}, Outcome: visit.Skipped, Reason: visit.OutOfScope},
		{Item: visit.Item{Job: w.job, URL: in, Found: visit.FoundSeed}},
	})
	if err != nil {
		t.Fatal(err)
	}
	v := openView(t, dir)
	for u, want := range map[string]bool{out.String(): true, in.String(): false, "http://elsewhere.example/": false} {
		if got, err := v.Aside(t.Context(), w.job, mustURL(t, u)); err != nil || got != want {
			t.Errorf("%s: %v, %v", u, got, err)
		}
	}
}

// TestViewWhileCommitting reads from views while a store commits: what a view sees only
// grows, and adds up.
func TestViewWhileCommitting(t *testing.T) {
	dir := t.TempDir()
	s := openTest(t, dir, nil)
	w := newOwner(t, s, 0)
	const rounds = 60
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 3 {
		v := openView(t, dir)
		wg.Go(func() {
			var last int64
			for ctx.Err() == nil {
				c, err := v.Counts(t.Context(), w.job)
				if err != nil {
					t.Error(err)
					return
				}
				page, err := v.List(t.Context(), store.Query{Job: w.job, Max: store.MaxPage})
				if err != nil {
					t.Error(err)
					return
				}
				if c.Seen() < last || int64(len(page.Entries)) < c.Seen() {
					t.Errorf("%d seen after %d, %d listed", c.Seen(), last, len(page.Entries))
					return
				}
				last = c.Seen()
				if _, err := v.HostList(t.Context(), store.HostListQuery{Job: w.job, Max: 100}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for i := range rounds {
		w.add(fmt.Sprintf("http://h%d.example/%d", i%7, i))
	}
	cancel()
	wg.Wait()
	v := openView(t, dir)
	if c, err := v.Counts(t.Context(), w.job); err != nil || c.Seen() != rounds {
		t.Errorf("%d seen, %v", c.Seen(), err)
	}
	// The store does not wait for views to close, and is complete without them.
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := v.Counts(t.Context(), w.job); err != nil {
		t.Errorf("after the store was closed: %v", err)
	}
}

// TestViewFollowsJobs sees jobs that another process creates and drops.
func TestViewFollowsJobs(t *testing.T) {
	dir := t.TempDir()
	s := openTest(t, dir, nil)
	v := openView(t, dir)
	ctx := t.Context()
	if _, err := v.Counts(ctx, 1); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a job that is not there: %v", err)
	}
	w := newOwner(t, s, 0)
	w.add("http://a.example/")
	if c, err := v.Counts(ctx, w.job); err != nil || c.Waiting != 1 {
		t.Errorf("%+v, %v", c, err)
	}
	if err := s.SetState(ctx, time.Now(), w.job, job.Running, job.Cancelled, "test"); err != nil {
		t.Fatal(err)
	}
	if err := s.Drop(ctx, w.job); err != nil {
		t.Fatal(err)
	}
	if _, err := v.List(ctx, store.Query{Job: w.job, Max: 1}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a job that was dropped: %v", err)
	}
}

// TestViewOfReadOnlyDirectory reads a finished crawl in a read-only directory.
func TestViewOfReadOnlyDirectory(t *testing.T) {
	dir := made(t)
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(dir, 0o755) })
	before := names(t, dir)
	v := openView(t, dir)
	if c, err := v.Counts(t.Context(), 1); err != nil || c.Seen() != 3 {
		t.Errorf("%+v, %v", c, err)
	}
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, names(t, dir)); diff != "" {
		t.Errorf("the view left files:\n%s", diff)
	}
}

// TestViewWaits opens a view while another process locks the file exclusively, as during
// recovery after a kill.
func TestViewWaits(t *testing.T) {
	dir := made(t)
	other, err := openConn(filepath.Join(dir, crawlFile), "locking_mode = exclusive")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.exec(t.Context(), "begin exclusive"); err != nil {
		t.Fatal(err)
	}
	closed := make(chan error, 1)
	// A lock of the file system: without a busy timeout opening would fail at once.
	time.AfterFunc(100*time.Millisecond, func() { closed <- other.close() })
	v := openView(t, dir)
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	if c, err := v.Counts(t.Context(), 1); err != nil || c.Seen() != 3 {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestImmutableView reads a file in the way used for read-only directories. As root every
// directory is writable, so this tests it directly.
func TestImmutableView(t *testing.T) {
	path := filepath.Join(made(t), crawlFile)
	uri := fileURI(path) + "?immutable=1"
	if err := crawlSchema.checkReadable(t.Context(), uri); err != nil {
		t.Fatal(err)
	}
	if got := names(t, filepath.Dir(path)); len(got) != 2 {
		t.Errorf("files %v", got)
	}
}

func TestViewRefuses(t *testing.T) {
	mark := func(t *testing.T, dir, statement string) {
		t.Helper()
		db, err := sql.Open("sqlite", filepath.Join(dir, crawlFile))
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	for name, tc := range map[string]struct {
		make func(t *testing.T) string
		want error
	}{
		"nothing":                       {func(t *testing.T) string { return t.TempDir() }, fs.ErrNotExist},
		"a directory that is not there": {func(t *testing.T) string { return filepath.Join(t.TempDir(), "x") }, fs.ErrNotExist},
		"an empty file": {func(t *testing.T) string {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, crawlFile), nil, 0o644); err != nil {
				t.Fatal(err)
			}
			return dir
		}, errUnfinished},
		"no database": {func(t *testing.T) string {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, crawlFile), []byte(strings.Repeat("a web page\n", 1000)), 0o644); err != nil {
				t.Fatal(err)
			}
			return dir
		}, store.ErrCorrupt},
		"a database of somebody else": {func(t *testing.T) string {
			dir := t.TempDir()
			mark(t, dir, "create table recipes (name text)")
			return dir
		}, store.ErrCorrupt},
		"a file of a newer version": {func(t *testing.T) string {
			dir := made(t)
			mark(t, dir, "insert into goose_db_version (version_id, is_applied) values (99, 1)")
			return dir
		}, store.ErrNewer},
		"a file of an older version": {func(t *testing.T) string {
			dir := made(t)
			mark(t, dir, "delete from goose_db_version where version_id > 0")
			return dir
		}, errOlder},
		"tables without their mark": {func(t *testing.T) string {
			dir := made(t)
			mark(t, dir, "pragma application_id = 0")
			return dir
		}, errUnfinished},
	} {
		t.Run(name, func(t *testing.T) {
			dir := tc.make(t)
			v, err := OpenView(t.Context(), dir)
			if err == nil {
				v.Close()
				t.Fatal("opened")
			}
			e, ok := errors.AsType[*store.OpenError](err)
			if !ok || !errors.Is(err, tc.want) || e.Hint == "" {
				t.Errorf("%v, want %v with a hint", err, tc.want)
			}
		})
	}
}
