package sqlite

import (
	"runtime"
	"sync"
	"time"

	"headway/store"
)

var _ store.DiskTimes = (*Store)(nil)

// diskTime measures how long commits wait for the disk. All that a transaction changed is
// written and flushed by its last statement; what that statement computes does not count.
type diskTime struct {
	mu       sync.Mutex
	sum      time.Duration
	computed time.Duration // part of sum
	changes  int64
	underway int
	since    time.Time // when the first of those under way began
}

// measure counts the time of do. The goroutine stays on its thread meanwhile, whose CPU time
// tells computing from waiting.
func (d *diskTime) measure(do func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	used := threadTime()
	d.mu.Lock()
	if d.underway == 0 {
		d.since = time.Now()
	}
	d.underway++
	d.mu.Unlock()
	err := do()
	d.mu.Lock()
	if d.underway--; d.underway == 0 {
		d.sum += time.Since(d.since)
	}
	d.computed += threadTime() - used
	d.changes++
	d.mu.Unlock()
	return err
}

// DiskTime implements [store.DiskTimes].
func (s *Store) DiskTime() (total time.Duration, changes int64) {
	d := s.disk
	d.mu.Lock()
	defer d.mu.Unlock()
	total = d.sum - d.computed
	if d.underway > 0 {
		total += time.Since(d.since)
	}
	return max(total, 0), d.changes
}
