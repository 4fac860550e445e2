package output

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// page is a fetched page with a body of this size.
func page(t testing.TB, n, size int) *Page {
	t.Helper()
	list := visits(t, fmt.Sprintf("/%d", n))
	return &Page{Visit: &list[0], Body: bytes.Repeat([]byte{byte(n)}, size)}
}

// received records the pages that a function got, each of which takes a while.
type received struct {
	mu      sync.Mutex
	takes   time.Duration
	pages   []string
	now     int
	highest int // calls at once
	fail    func(path string) error
}

func (r *received) call(_ context.Context, p *Page) error {
	path := p.Item.URL.Path()
	r.mu.Lock()
	r.now++
	r.highest = max(r.highest, r.now)
	r.mu.Unlock()
	time.Sleep(r.takes) // virtual time
	var n int
	if _, err := fmt.Sscanf(path, "/%d", &n); err != nil {
		return err
	}
	if want := bytes.Repeat([]byte{byte(n)}, len(p.Body)); !bytes.Equal(p.Body, want) {
		return fmt.Errorf("%s has the body of another page", path)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now--
	r.pages = append(r.pages, path)
	if r.fail != nil {
		return r.fail(path)
	}
	return nil
}

// TestBodyWriter hands over many pages to a slow function: none is lost or repeated, never
// more waits than allowed, and what exceeds the memory is in a file that is removed.
func TestBodyWriter(t *testing.T) {
	const pages, workers = 200, 20
	for name, tc := range map[string]struct {
		cfg      BodyConfig
		body     int
		wantFile bool
	}{
		"in memory":            {BodyConfig{}, 1000, false},
		"spooled":              {BodyConfig{Memory: 5_500, Spool: 7_700}, 1000, true},
		"spooled, three calls": {BodyConfig{Concurrency: 3, Memory: 2_500, Spool: 7_300}, 900, true},
		"larger than all":      {BodyConfig{Memory: 10, Spool: 20}, 1000, false},
		"empty":                {BodyConfig{Memory: 10, Spool: 20}, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tc.cfg.Dir = t.TempDir()
				r := &received{takes: time.Second}
				w := NewBodyWriter(r.call, tc.cfg)
				var wg sync.WaitGroup
				var spooledAtAll atomic.Bool
				for worker := range workers {
					wg.Go(func() {
						for n := worker; n < pages; n += workers {
							if err := w.Page(t.Context(), page(t, n, tc.body)); err != nil {
								t.Error(err)
							}
							_, memory, spooled := w.Waiting()
							if memory > max(w.cfg.Memory, int64(tc.body)) || spooled > w.cfg.Spool {
								t.Errorf("%d bytes in memory and %d in the file", memory, spooled)
							}
							if spooled > 0 {
								spooledAtAll.Store(true)
							}
						}
					})
				}
				wg.Wait()
				if err := w.Sync(t.Context()); err != nil {
					t.Fatal(err)
				}
				seen := map[string]int{}
				for _, p := range r.pages {
					seen[p]++
				}
				if len(seen) != pages || len(r.pages) != pages || r.highest != max(tc.cfg.Concurrency, 1) {
					t.Errorf("%d pages, %d different ones, %d calls at once", len(r.pages), len(seen), r.highest)
				}
				if is := spooledAtAll.Load(); is != tc.wantFile {
					t.Errorf("spooled: %v", is)
				}
				if n, memory, spooled := w.Waiting(); n != 0 || memory != 0 || spooled != 0 {
					t.Errorf("%d pages, %d and %d bytes wait", n, memory, spooled)
				}
				if err := w.Close(); err != nil {
					t.Error(err)
				}
				if left, err := os.ReadDir(tc.cfg.Dir); err != nil || len(left) > 0 {
					t.Errorf("left behind: %v, %v", left, err)
				}
			})
		})
	}
}

// TestBodyWriterOrder passes the pages of one worker on in order, across memory and file.
func TestBodyWriterOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &received{takes: time.Second}
		w := NewBodyWriter(r.call, BodyConfig{Memory: 2_000, Spool: 3_333, Dir: t.TempDir()})
		var want []string
		for n := range 50 {
			want = append(want, fmt.Sprintf("/%d", n))
			if err := w.Page(t.Context(), page(t, n, 700)); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(w.Sync(t.Context()), w.Close()); err != nil {
			t.Fatal(err)
		}
		if got, all := strings.Join(r.pages, " "), strings.Join(want, " "); got != all {
			t.Errorf("in the order %s", got)
		}
	})
}

// TestBodyWriterSync waits for the pages before it, not for later ones.
func TestBodyWriterSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &received{takes: time.Second}
		w := NewBodyWriter(r.call, BodyConfig{})
		defer w.Close()
		began := time.Now()
		for n := range 3 {
			if err := w.Page(t.Context(), page(t, n, 1)); err != nil {
				t.Fatal(err)
			}
		}
		time.AfterFunc(time.Second, func() {
			if err := w.Page(t.Context(), page(t, 3, 1)); err != nil {
				t.Error(err)
			}
		})
		if err := w.Sync(t.Context()); err != nil || time.Since(began) != 3*time.Second {
			t.Errorf("synced after %v, %v", time.Since(began), err)
		}
		if err := w.Sync(t.Context()); err != nil || time.Since(began) != 4*time.Second {
			t.Errorf("synced again after %v, %v", time.Since(began), err)
		}
	})
}

// TestBodyWriterFails: after an error or a panic the function is not called again, and every
// call returns what happened, also those that wait.
func TestBodyWriterFails(t *testing.T) {
	full := errors.New("index is full")
	for name, tc := range map[string]struct {
		fail func(path string) error
		is   func(err error) bool
	}{
		"an error": {func(string) error { return full }, func(err error) bool { return errors.Is(err, full) }},
		"a panic": {func(string) error { panic("no such field") }, func(err error) bool {
			p, ok := errors.AsType[*PagePanicError](err)
			return ok && p.Value == "no such field" && bytes.Contains(p.Stack, []byte("body_test.go"))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &received{takes: time.Second, fail: tc.fail}
				w := NewBodyWriter(r.call, BodyConfig{Memory: 10, Spool: 10})
				check := func(what string, err error) {
					if !tc.is(err) || !strings.Contains(err.Error(), "https://example.com/1") {
						t.Errorf("%s: %v", what, err)
					}
				}
				if err := w.Page(t.Context(), page(t, 1, 10)); err != nil {
					t.Fatal(err)
				}
				var wg sync.WaitGroup
				wg.Go(func() { check("a page that waits", w.Page(t.Context(), page(t, 2, 100))) })
				wg.Go(func() { check("sync that waits", w.Sync(t.Context())) })
				wg.Wait()
				check("page", w.Page(t.Context(), page(t, 3, 1)))
				check("sync", w.Sync(t.Context()))
				check("write", w.Write(t.Context(), page(t, 3, 1).Visit))
				if err := w.Close(); err != nil || len(r.pages) != 1 {
					t.Errorf("%d calls, %v", len(r.pages), err)
				}
			})
		})
	}
}

// TestBodyWriterEnds covers a stop while a page waits for room, and a close while a call
// runs: it is waited for, and nothing else is passed on.
func TestBodyWriterEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &received{takes: time.Minute}
		w := NewBodyWriter(r.call, BodyConfig{Memory: 10, Spool: 10, Dir: t.TempDir()})
		for n, size := range []int{10, 10} { // the second is spooled
			if err := w.Page(t.Context(), page(t, n, size)); err != nil {
				t.Fatal(err)
			}
		}
		stopped := errors.New("stopped")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(stopped) })
		if err := w.Page(ctx, page(t, 2, 10)); !errors.Is(err, stopped) {
			t.Errorf("a page without room: %v", err)
		}
		began := time.Now()
		if err := w.Close(); err != nil || time.Since(began) != 59*time.Second || len(r.pages) != 1 {
			t.Errorf("closed after %v with %d pages, %v", time.Since(began), len(r.pages), err)
		}
		if err := w.Page(t.Context(), page(t, 3, 1)); err == nil || !strings.Contains(err.Error(), "closed") {
			t.Errorf("a page after the end: %v", err)
		}
	})
}

// TestBodyWriterContext: the function's context has the values of the crawl's, and does not
// end with it.
func TestBodyWriterContext(t *testing.T) {
	type key struct{}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "value"))
		w := NewBodyWriter(func(ctx context.Context, _ *Page) error {
			cancel()
			if ctx.Err() != nil || ctx.Value(key{}) != "value" {
				return fmt.Errorf("%w, value %v", ctx.Err(), ctx.Value(key{}))
			}
			return nil
		}, BodyConfig{})
		if err := errors.Join(w.Page(ctx, page(t, 1, 1)), w.Sync(t.Context()), w.Close()); err != nil {
			t.Error(err)
		}
	})
}

// TestSpoolFails names the folder that cannot be written.
func TestSpoolFails(t *testing.T) {
	release := make(chan struct{})
	w := NewBodyWriter(func(context.Context, *Page) error { <-release; return nil }, BodyConfig{Memory: 1, Dir: t.TempDir() + "/nowhere"})
	if err := w.Page(t.Context(), page(t, 1, 1)); err != nil {
		t.Fatal(err)
	}
	if err := w.Page(t.Context(), page(t, 2, 1)); err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("spooled to a folder that is not there: %v", err)
	}
	close(release)
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}
