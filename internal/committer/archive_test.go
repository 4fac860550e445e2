package committer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"headway/gauge"
	"headway/internal/committer"
	"headway/job"
	"headway/store"
)

// archive is an archive in memory. The commits of the harness must refer only to what it has.
type archive struct {
	mu       sync.Mutex
	segments map[string][]byte
	answers  []error // of the next calls of Put
	puts     int
	took     time.Duration
}

func (a *archive) Begin(key string, _ time.Time) ([]byte, error) {
	return []byte("head of " + key), nil
}

func (a *archive) Put(_ context.Context, key string, segment []byte) error {
	time.Sleep(a.took) // virtual time
	a.mu.Lock()
	defer a.mu.Unlock()
	a.puts++
	if len(a.answers) > 0 {
		err := a.answers[0]
		if a.answers = a.answers[1:]; err != nil {
			return err
		}
	}
	a.segments[key] = bytes.Clone(segment)
	return nil
}

// newArchivingDesk returns a harness with an archive.
func newArchivingDesk(t *testing.T) (*harness, *archive) {
	a := &archive{segments: map[string][]byte{}}
	return newDeskFor(t, gap, a), a
}

// rawPage returns a visit with an archived exchange of this size.
func (d *harness) rawPage(i int, id job.ID, size int) committer.Entry {
	e := d.page(i, 0)
	e.Visit.Item.Job = id
	e.Raw = fmt.Appendf(nil, "response %d and more %s", i, strings.Repeat("x", size))
	e.RawLen = int64(len(fmt.Sprintf("response %d", i)))
	return e
}

// readable checks that every commit refers to segments that are in the archive, with the
// response of each page where it says, and returns the numbers of segments.
func (d *harness) readable(a *archive) (segments []int) {
	d.Helper()
	for _, c := range d.commits {
		if err := c.Check(); err != nil {
			d.Fatal(err)
		}
		segments = append(segments, len(c.Segments))
		for _, s := range c.Segments {
			if int64(len(a.segments[s.Key])) != s.Bytes {
				d.Errorf("segment %s has %d of %d bytes", s.Key, len(a.segments[s.Key]), s.Bytes)
			}
		}
		for i := range c.Visits {
			at := c.Visits[i].Answer.Archived
			if at.IsZero() {
				continue
			}
			want := "response " + strings.TrimPrefix(c.Visits[i].Item.URL.Path(), "/")
			if got := string(a.segments[at.Segment][at.Offset : at.Offset+at.Length]); got != want {
				d.Errorf("%s: %q", c.Visits[i].Item.URL, got)
			}
		}
	}
	return segments
}

// TestArchive writes one segment for each job and commit, before the commit, and none for
// entries without an exchange.
func TestArchive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, a := newArchivingDesk(t)
		for i := range 10 {
			d.Add(d.rawPage(i, job.ID(1+i%2), 100))
			d.Add(d.page(100+i, 0))
			d.Touch("http://a.example")
		}
		d.AddLowPriority(d.page(200, 0))
		if d.Archiving() < 1000 {
			t.Errorf("%d bytes wait", d.Archiving())
		}
		d.run(10 * time.Second)
		if n := d.readable(a); len(n) != 1 || n[0] != 2 || len(a.segments) != 2 {
			t.Errorf("%v segments in commits, %d in the archive", n, len(a.segments))
		}
		archived := 0
		for i := range d.commits[0].Visits {
			if !d.commits[0].Visits[i].Answer.Archived.IsZero() {
				archived++
			}
		}
		if archived != 10 || d.Archiving() != 0 {
			t.Errorf("%d visits are archived, %d bytes left in memory", archived, d.Archiving())
		}
	})
}

// TestArchiveGap commits archived exchanges less often, unless they are many.
func TestArchiveGap(t *testing.T) {
	for size, want := range map[int]time.Duration{100: 2 * time.Second, 5 << 20: 200 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			d, a := newArchivingDesk(t)
			d.Add(d.rawPage(0, 1, 100))
			d.run(200 * time.Millisecond)
			d.Add(d.rawPage(1, 1, size))
			d.run(3 * time.Second)
			d.readable(a)
			if len(d.commits) != 2 || d.commits[1].At.Sub(d.commits[0].At) != want {
				t.Errorf("%d bytes: %d commits, %v apart", size, len(d.commits), d.commits[len(d.commits)-1].At.Sub(d.commits[0].At))
			}
		})
	}
}

// TestArchiveBound splits what is too much for one commit, and takes one page of any size.
func TestArchiveBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, a := newArchivingDesk(t)
		for i, size := range []int{20 << 20, 10 << 20, 10 << 20, 100} {
			d.Add(d.rawPage(i, 1, size))
		}
		d.run(10 * time.Second)
		d.readable(a)
		var pages []int
		for _, c := range d.commits {
			pages = append(pages, len(c.Visits))
		}
		if fmt.Sprint(pages) != "[1 1 2]" {
			t.Errorf("commits of %v pages", pages)
		}
	})
}

// TestArchiveFails does not commit what was not archived: an archive that fails is retried
// as long as the store would be, and then the commit fails with it.
func TestArchiveFails(t *testing.T) {
	down := errors.New("no room")
	synctest.Test(t, func(t *testing.T) {
		d, a := newArchivingDesk(t)
		d.retryable, a.answers, a.took = true, []error{down, down, nil}, time.Second
		d.Add(d.rawPage(0, 1, 100))
		d.run(time.Minute)
		if n := d.readable(a); len(n) != 1 || a.puts != 3 || len(a.segments) != 1 || d.loop.Err() != nil {
			t.Errorf("%d commits after %d attempts, %v", len(n), a.puts, d.loop.Err())
		}
		if want := (gauge.Segments{Written: 1, Bytes: d.commits[0].Segments[0].Bytes, Failed: 2, Took: 3 * time.Second}); d.segments != want || d.failed != 0 {
			t.Errorf("counted %+v, want %+v; %d failed queries", d.segments, want, d.failed)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		d, a := newArchivingDesk(t)
		a.answers = []error{nil, down}
		d.Add(d.rawPage(0, 1, 100))
		d.Add(d.rawPage(1, 2, 100))
		d.run(time.Minute)
		if len(d.commits) != 0 || len(d.done) != 0 || !errors.Is(d.loop.Err(), down) {
			t.Errorf("%d commits, %v", len(d.commits), d.loop.Err())
		}
		d.stop()
		d.loop.End(func() {})
	})
	synctest.Test(t, func(t *testing.T) { // killed between the two, or fenced: nothing refers to the segment
		d, a := newArchivingDesk(t)
		d.answers = []error{store.ErrFenced}
		d.Add(d.rawPage(0, 1, 100))
		d.run(time.Minute)
		if len(d.commits) != 0 || len(a.segments) != 1 || !errors.Is(d.loop.Err(), store.ErrFenced) {
			t.Errorf("%d commits, %d segments, %v", len(d.commits), len(a.segments), d.loop.Err())
		}
		d.stop()
		d.loop.End(func() {})
	})
	synctest.Test(t, func(t *testing.T) { // a commit that is retried refers to the same segment
		d, a := newArchivingDesk(t)
		d.answers = []error{store.ErrInUse, store.ErrInUse, nil}
		d.Add(d.rawPage(0, 1, 100))
		d.run(time.Minute)
		if n := d.readable(a); len(n) != 1 || a.puts != 1 {
			t.Errorf("%d commits, %d segments written", len(n), a.puts)
		}
	})
}
