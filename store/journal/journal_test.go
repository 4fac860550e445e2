package journal

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"headway/weburl"
)

func mustURL(t testing.TB, raw string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// life is one run of a process: it opens the journal and follows the test's script.
type life struct {
	t *testing.T
	j *Journal
}

// begin opens the journal and compares the suspects, written as "path alone".
func begin(t *testing.T, path, want string) life {
	t.Helper()
	j, suspects, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, s := range suspects {
		text := fmt.Sprintf("%s %d", s.URL.Path(), s.Alone)
		if s.Quarantined() {
			text += " guilty"
		}
		list = append(list, text)
	}
	if got := strings.Join(list, ", "); got != want {
		t.Fatalf("suspects %q, want %q", got, want)
	}
	return life{t, j}
}

func (l life) start(paths ...string) life {
	l.t.Helper()
	for _, p := range paths {
		if err := l.j.Start(1, mustURL(l.t, "http://a.example"+p)); err != nil {
			l.t.Fatal(err)
		}
	}
	return l
}

func (l life) done(paths ...string) life {
	l.t.Helper()
	for _, p := range paths {
		if err := l.j.Done(1, mustURL(l.t, "http://a.example"+p)); err != nil {
			l.t.Fatal(err)
		}
	}
	return l
}

// crash ends the process without closing the journal.
func (l life) crash() { l.j.f.Close() }

func TestQuarantine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	begin(t, path, "").start("/ok", "/bad", "/other").done("/ok").crash()
	// Two suspects, fetched one at a time: the harmless one is cleared.
	begin(t, path, "/bad 0, /other 0").start("/other", "/new1").done("/other").start("/bad").crash()
	// The first further crash; what else was in flight is now suspect, too.
	begin(t, path, "/bad 1, /new1 0").start("/new1").done("/new1").start("/new2", "/bad").crash()
	begin(t, path, "/bad 2 guilty, /new2 0").done("/bad").start("/new2").done("/new2").crash()
	begin(t, path, "")
}

func TestCrashWithoutSuspectInFlight(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	begin(t, path, "").start("/a", "/b").crash()
	begin(t, path, "/a 0, /b 0").crash()
	// Two suspects at once say nothing about either.
	begin(t, path, "/a 0, /b 0").start("/a", "/b").crash()
	begin(t, path, "/a 0, /b 0").start("/a").crash()
	begin(t, path, "/a 1, /b 0")
}

func TestCleanEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	begin(t, path, "").start("/a").crash()
	l := begin(t, path, "/a 0").start("/a", "/b")
	if err := l.j.Close(); err != nil {
		t.Fatal(err)
	}
	if err := l.j.Close(); err != nil {
		t.Errorf("closed twice: %v", err)
	}
	if err := l.j.Start(1, mustURL(t, "http://a.example/")); err == nil {
		t.Error("a closed journal takes notes")
	}
	begin(t, path, "/a 0")
}

func TestCutOffAndForeignLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	text := "+ 1 0 http://a.example/whole\nrubbish\n+ x 0 http://a.example/\n+ 1 0 ftp://a.example/\n+ 1 0 http://a.example/cut"
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	begin(t, path, "/whole 0")
}

func TestFileStaysSmall(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	l := begin(t, path, "").start("/stays")
	long := strings.Repeat("x", 2000)
	for i := range 3 * maxSize / len(long) {
		p := fmt.Sprintf("/%d/%s", i, long)
		l.start(p).done(p)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > maxSize+2*int64(len(long)) {
		t.Errorf("the file has %d bytes", info.Size())
	}
	l.crash()
	begin(t, path, "/stays 0")
}

func TestSuspectsAreBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	var b strings.Builder
	for i := range maxSuspects + 5 {
		fmt.Fprintf(&b, "? 1 0 http://a.example/%d\n", i)
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	_, suspects, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(suspects) != maxSuspects || suspects[0].URL.Path() != "/5" {
		t.Errorf("%d suspects from %s on", len(suspects), suspects[0].URL.Path())
	}
}

func FuzzReplay(f *testing.F) {
	f.Add([]byte("? 1 1 http://a.example/\n+ 1 0 http://a.example/\n- 1 0 http://a.example/\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "journal")
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		j, first, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		j, again, err := Open(path)
		if err != nil || len(again) != len(first) {
			t.Fatalf("%d suspects, then %d: %v", len(first), len(again), err)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		for i := range first {
			if first[i] != again[i] {
				t.Errorf("%v became %v", first[i], again[i])
			}
		}
	})
}

func BenchmarkNote(b *testing.B) {
	j, _, err := Open(filepath.Join(b.TempDir(), "journal"))
	if err != nil {
		b.Fatal(err)
	}
	u := mustURL(b, "https://www.host000001.example/section/00000001/article-0000000001.html")
	for b.Loop() {
		if err := j.Start(1, u); err != nil {
			b.Fatal(err)
		}
		if err := j.Done(1, u); err != nil {
			b.Fatal(err)
		}
	}
}

// TestConcurrentEntries: lines of callers that wait for a write are written together, and
// none is lost.
func TestConcurrentEntries(t *testing.T) {
	const callers = 100
	path := filepath.Join(t.TempDir(), "journal")
	l := begin(t, path, "")
	errs := make(chan error, callers)
	at := func(i int) weburl.URL { return mustURL(t, fmt.Sprintf("http://a.example/%02d", i)) }
	together := func(record func(i int) error) {
		l.j.mu.Lock() // a write under way
		for i := range callers {
			go func() { errs <- record(i) }()
		}
		for waiting := 0; waiting < callers; runtime.Gosched() {
			waiting = 0
			for e := l.j.waiting.Load(); e != nil; e = e.next {
				waiting++
			}
		}
		l.j.mu.Unlock()
		for range callers {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
	}
	together(func(i int) error { return l.j.Start(1, at(i)) })
	together(func(i int) error {
		if i == 7 {
			return l.j.Start(1, at(callers))
		}
		return l.j.Done(1, at(i))
	})
	l.crash()
	begin(t, path, "/07 0, /100 0")
}

// BenchmarkNotes is the same from many workers, each with a URL of its own.
func BenchmarkNotes(b *testing.B) {
	j, _, err := Open(filepath.Join(b.TempDir(), "journal"))
	if err != nil {
		b.Fatal(err)
	}
	var workers atomic.Int64
	b.SetParallelism(32)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		u := mustURL(b, fmt.Sprintf("https://www.host%06d.example/section/00000001/article-0000000001.html", workers.Add(1)))
		for pb.Next() {
			if err := j.Start(1, u); err != nil {
				b.Error(err)
			}
			if err := j.Done(1, u); err != nil {
				b.Error(err)
			}
		}
	})
}
