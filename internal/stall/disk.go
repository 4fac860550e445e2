package stall

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// quick is how long a disk takes at most that others leave alone to keep a few bytes.
const quick = 10 * time.Millisecond

// StartDisk watches until the test ends for how long the disk below a folder stood still:
// while a few bytes were not kept though they should have been.
func StartDisk(t testing.TB, dir string) *Watch {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, ".disk"))
	if err != nil {
		t.Fatal(err)
	}
	w := &Watch{}
	stop, done := make(chan struct{}), make(chan error, 1)
	go func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				done <- f.Close()
				return
			case <-tick.C:
			}
			began := time.Now()
			_, err := f.WriteAt([]byte("kept"), 0)
			if err == nil {
				err = f.Sync()
			}
			if err != nil {
				f.Close()
				done <- err
				return
			}
			w.kept(began, time.Now())
		}
	}()
	t.Cleanup(func() {
		close(stop)
		if err := <-done; err != nil {
			t.Errorf("watch the disk: %v", err)
		}
	})
	return w
}

// kept notes from when to when bytes were kept.
func (w *Watch) kept(began, ended time.Time) {
	if ended.Sub(began) <= quick {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.stalls) < maxStalls {
		w.stalls = append(w.stalls, stall{began.Add(quick), ended})
	}
}
