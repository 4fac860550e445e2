package sqlite

import (
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"headway/job"
	"headway/store"
)

// made returns the directory of a closed store with one job of a few URLs.
func made(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	s := openTest(t, dir, nil)
	w := newOwner(t, s, 0)
	w.add("http://a.example/", "http://a.example/1", "http://b.example/")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// refused opens a directory and expects an error with a hint.
func refused(t *testing.T, dir string, want error) *store.OpenError {
	t.Helper()
	s, err := Open(t.Context(), Config{Dir: dir})
	if err == nil {
		s.Close()
		t.Fatal("opened")
	}
	e, ok := errors.AsType[*store.OpenError](err)
	if !ok || !errors.Is(err, want) || e.Hint == "" {
		t.Fatalf("%v, want %v with a hint", err, want)
	}
	return e
}

func TestOneProcessPerDirectory(t *testing.T) {
	dir := t.TempDir()
	first := openTest(t, dir, nil)
	refused(t, dir, store.ErrInUse)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Errorf("closed twice: %v", err)
	}
	if _, err := first.Job(t.Context(), 1); err == nil {
		t.Error("a closed store answers")
	}
	if _, err := first.CreateJob(t.Context(), store.Job{State: job.Running}); err == nil {
		t.Error("a closed store changes")
	}
	openTest(t, dir, nil)
}

func TestDamagedFileIsRefused(t *testing.T) {
	for name, damage := range map[string]func(data []byte) []byte{
		"not a database": func([]byte) []byte { return []byte(strings.Repeat("a web page, perhaps\n", 1000)) },
		"cut short":      func(data []byte) []byte { return data[:len(data)/2] },
		"zeros inside":   func(data []byte) []byte { clear(data[len(data)/3 : len(data)/3*2]); return data },
		"overwritten":    func(data []byte) []byte { copy(data[4096:], strings.Repeat("damage", 3000)); return data },
	} {
		t.Run(name, func(t *testing.T) {
			dir := made(t)
			path := filepath.Join(dir, crawlFile)
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			damaged := damage(data)
			if err := os.WriteFile(path, damaged, 0o644); err != nil {
				t.Fatal(err)
			}
			e := refused(t, dir, store.ErrCorrupt)
			if !strings.Contains(e.Hint, path) {
				t.Errorf("the hint does not name the file: %s", e.Hint)
			}
			after, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if len(after) != len(damaged) {
				t.Error("the damaged file was changed")
			}
		})
	}
}

func TestForeignDatabaseIsRefused(t *testing.T) {
	for name, make := range map[string]string{
		"somebody's tables": "create table recipes (name text)",
		"no tables":         "create table x (y); drop table x",
		"another's mark":    "pragma application_id = 77; create table goose_db_version (x)",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, crawlFile)
			foreign(t, path, make)
			refused(t, dir, store.ErrCorrupt)
		})
	}
	t.Run("empty", func(t *testing.T) {
		dir := made(t)
		path := filepath.Join(dir, crawlFile)
		if err := os.Truncate(path, 0); err != nil {
			t.Fatal(err)
		}
		if e := refused(t, dir, errEmpty); !strings.Contains(e.Hint, path) {
			t.Errorf("the hint does not name the file: %s", e.Hint)
		}
		if info, err := os.Stat(path); err != nil || info.Size() != 0 {
			t.Errorf("it was written to: %v, %v", info, err)
		}
	})
}

// foreign makes a database that headway did not write.
func foreign(t *testing.T, path, script string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(script); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestEmptyHostsFile: a hosts file that was emptied or is not ours is rejected.
func TestEmptyHostsFile(t *testing.T) {
	hosts := filepath.Join(t.TempDir(), "hosts.db")
	for _, write := range []func() error{
		func() error { return os.WriteFile(hosts, nil, 0o644) },
		func() error { foreign(t, hosts, "create table recipes (name text)"); return nil },
	} {
		if err := write(); err != nil {
			t.Fatal(err)
		}
		s, err := Open(t.Context(), Config{Dir: t.TempDir(), Hosts: hosts})
		if err == nil {
			s.Close()
			t.Fatal("opened")
		}
		e, ok := errors.AsType[*store.OpenError](err)
		if !ok || !errors.Is(err, store.ErrCorrupt) || e.Path != hosts || !strings.Contains(e.Hint, hosts) {
			t.Errorf("%v, want a hint that names %s", err, hosts)
		}
		if err := os.Remove(hosts); err != nil {
			t.Fatal(err)
		}
	}
}

// TestHostsFileIsCreatedAtomically simulates a process killed while it creates the hosts file, and a
// hosts file deleted without its log: the next process creates the file and ignores the
// remains.
func TestHostsFileIsCreatedAtomically(t *testing.T) {
	hosts := filepath.Join(t.TempDir(), "hosts.db")
	for range 2 {
		for _, name := range []string{hosts + ".part", hosts + ".part-journal", hosts + "-wal"} {
			if err := os.WriteFile(name, []byte(strings.Repeat("half of it\n", 1000)), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		s := openShares(t, hosts, nil)
		o := newOwner(t, s, 0)
		if c := o.claim("a.example"); len(c.Granted) != 1 {
			t.Errorf("%+v", c)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(hosts + ".part"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a part stays: %v", err)
		}
		for _, suffix := range []string{"", "-wal", "-shm"} {
			if err := os.Remove(hosts + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
		}
	}
}

// TestUpgrade opens a file with a version that has one more migration, and then with the
// older one again.
func TestUpgrade(t *testing.T) {
	dir := made(t)
	next := fstest.MapFS{"00004_more.sql": {Data: []byte("-- +goose Up\nalter table job add column colour text;\n")}}
	entries, err := fs.ReadDir(crawlSchema.fsys, ".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		data, err := fs.ReadFile(crawlSchema.fsys, e.Name())
		if err != nil {
			t.Fatal(err)
		}
		next[e.Name()] = &fstest.MapFile{Data: data}
	}
	path := filepath.Join(dir, crawlFile)
	newer := schema{crawlSchema.name, crawlSchema.mark, next, 1}
	if err := newer.migrate(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	e := refused(t, dir, store.ErrNewer)
	if !strings.Contains(e.Hint, "upgrade") {
		t.Errorf("hint: %s", e.Hint)
	}
	// The backup made before can be read by the older version.
	if err := os.Rename(path+".v3.bak", path); err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{"-wal", "-shm"} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	s := openTest(t, dir, nil)
	c, err := s.Counts(t.Context(), 1)
	if err != nil || c.Waiting != 3 {
		t.Errorf("%+v, %v", c, err)
	}
	if err := newer.migrate(t.Context(), path); err == nil {
		if _, err := os.Stat(path + ".v3.bak"); err != nil {
			t.Errorf("no backup: %v", err)
		}
	}
}

// TestFull fills the file up to a limit and continues when there is room again.
func TestFull(t *testing.T) {
	s := openTest(t, t.TempDir(), nil)
	w := newOwner(t, s, 0)
	w.add("http://a.example/")
	var pages int64
	if _, err := s.w.one(t.Context(), "pragma page_count", nil, &pages); err != nil {
		t.Fatal(err)
	}
	limit := func(n int64) {
		t.Helper()
		if err := s.w.script(t.Context(), "pragma max_page_count = "+itoa(n)); err != nil {
			t.Fatal(err)
		}
	}
	limit(pages + 20)
	big := store.Commit{Visits: w.visits("http://a.example/"), Found: w.found(2000, "http://a.example/%d")}
	if _, err := w.commit(big); !errors.Is(err, store.ErrFull) {
		t.Fatalf("on a full disk: %v", err)
	}
	if got := w.counts(); got.Waiting != 1 || got.Seen() != 1 {
		t.Errorf("after it: %+v", got)
	}
	limit(1 << 30)
	if _, err := w.commit(big); err != nil {
		t.Fatalf("with room again: %v", err)
	}
	if got := w.counts(); got.Waiting != 2000 || got.Seen() != 2001 {
		t.Errorf("in the end: %+v", got)
	}
}

// TestDamagedLargeFile is about files that are too large to be checked completely.
func TestDamagedLargeFile(t *testing.T) {
	large := func(t *testing.T) (dir string, size int64) {
		dir = t.TempDir()
		s := openTest(t, dir, nil)
		o := newOwner(t, s, 0)
		if _, err := s.Add(t.Context(), o.now, o.found(9000, "http://a.example/"+strings.Repeat("x", 600)+"/%d")); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(filepath.Join(dir, crawlFile))
		if err != nil || info.Size() < checkBelow {
			t.Fatalf("%v, %v", info.Size(), err)
		}
		return dir, info.Size()
	}
	t.Run("cut off", func(t *testing.T) {
		dir, size := large(t)
		if err := os.Truncate(filepath.Join(dir, crawlFile), size-4096); err != nil {
			t.Fatal(err)
		}
		refused(t, dir, store.ErrCorrupt)
	})
	t.Run("overwritten inside", func(t *testing.T) {
		dir, size := large(t)
		f, err := os.OpenFile(filepath.Join(dir, crawlFile), os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt([]byte(strings.Repeat("damage", 500_000)), size/4); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		s, err := Open(t.Context(), Config{Dir: dir})
		if err == nil {
			defer s.Close()
			_, err = s.Audit(t.Context(), 1)
		}
		if !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("opened and read without complaint: %v", err)
		}
	})
}

// tinyEnv names a directory on a file system of a few megabytes, for a disk that is really
// full:
//
//	mount -t tmpfs -o size=3m tmpfs /mnt/tiny && HEADWAY_TINY_DIR=/mnt/tiny go test ./store/sqlite -run TestDiskFull
const tinyEnv = "HEADWAY_TINY_DIR"

func TestDiskFull(t *testing.T) {
	tiny := os.Getenv(tinyEnv)
	if tiny == "" {
		t.Skip("set " + tinyEnv)
	}
	ballast := filepath.Join(tiny, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 1<<20), 0o644); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp(tiny, "crawl")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	open := func() *Store {
		t.Helper()
		s, err := Open(t.Context(), Config{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open()
	o := newOwner(t, s, 0)
	o.add("http://a.example/")
	acknowledged, full := int64(1), 0
	for i := 0; full < 3; i++ {
		if i > 1000 {
			t.Fatal("the disk is never full")
		}
		found := o.found(200, "http://a.example/"+itoa(int64(i))+"/%d")
		switch _, err := o.commit(store.Commit{Found: found}); {
		case err == nil:
			acknowledged += int64(len(found))
		case errors.Is(err, store.ErrFull):
			full++
		default:
			t.Fatal(err)
		}
	}
	if c := o.counts(); c.Seen() != acknowledged {
		t.Errorf("%d URLs of %d that were acknowledged", c.Seen(), acknowledged)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if _, err := o.commit(store.Commit{Visits: o.visits("http://a.example/")}); err != nil {
		t.Fatalf("with room again: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open()
	defer s.Close()
	if c, err := s.Audit(t.Context(), o.job); err != nil || c.Seen() != acknowledged || c.Pages() != 1 {
		t.Errorf("after opening again: %+v, %v", c, err)
	}
	t.Logf("%d URLs until the disk was full", acknowledged)
}

// TestFirstFormat opens a file of the first format, which has no errands: it is read as it
// is, and migrated when it is opened for writing.
func TestFirstFormat(t *testing.T) {
	dir := made(t)
	path := filepath.Join(dir, crawlFile)
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("drop table errand; drop table aside_item; delete from goose_db_version where version_id > 1"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	v, err := OpenView(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if c, err := v.Counts(t.Context(), 1); err != nil || c.Waiting != 3 {
		t.Errorf("read as it is: %+v, %v", c, err)
	}
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path + ".v1.bak"); err == nil {
		t.Error("reading has changed the file")
	}
	s := openTest(t, dir, nil)
	if idle, err := s.Idle(t.Context(), 1); err != nil || idle.None {
		t.Errorf("brought up to date: %+v, %v", idle, err)
	}
	if list, err := s.Errands(t.Context(), []store.Want{{Host: "http://a.example", Job: 1, Max: 1}}); err != nil || len(list) != 0 {
		t.Errorf("errands: %v, %v", list, err)
	}
	if _, err := os.Stat(path + ".v1.bak"); err != nil {
		t.Errorf("no copy of the file as it was: %v", err)
	}
}
