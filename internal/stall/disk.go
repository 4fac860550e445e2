package stall

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// quick is the longest time that an idle disk takes to sync a few bytes.
const quick = 10 * time.Millisecond

// StartDisk measures until the test ends how long the disk below a folder stalled: how
// much longer than quick a sync of a few bytes took.
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

// kept records when a sync began and ended.
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
