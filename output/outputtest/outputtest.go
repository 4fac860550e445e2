// Package outputtest is the test suite for output formats that write files.
//
// A format that passes fulfils the contract of package output: a finished file contains each
// URL that ended exactly once, however the crawl was interrupted, truncated, killed, extended
// or resumed, and there is no file before it is complete.
package outputtest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"headway/internal/atomicfile"
	"headway/internal/race"
	"headway/output"
	"headway/visit"
	"headway/weburl"
)

// Writer is the interface of a format's writer.
type Writer interface {
	output.Writer
	output.Flusher
	output.Finisher
}

// Format is a format under test.
type Format struct {
	Create func(path string) (Writer, error)
	Resume func(path string) (Writer, error)
	// Part returns the path of the unfinished file. A format that is written at the
	// end has none.
	Part func(path string) string
	// Keeps reports which URLs a finished file contains; nil means all.
	Keeps func(*visit.Visit) bool
	// Read reads the rows of a finished file in order.
	Read func(path string) ([]Row, error)
}

// Drafts returns the format of a draft, which is written at the end.
func Drafts[D output.Draft](draft func(path string) D, read func(path string) ([]Row, error)) Format {
	open := func(resumed bool) func(string) (Writer, error) {
		return func(path string) (Writer, error) { return output.NewAtEnd(resumed, draft(path)), nil }
	}
	return Format{Create: open(false), Resume: open(true), Part: func(path string) string { return path + atomicfile.PartSuffix }, Read: read}
}

// Row is the part of a file's row that the suite checks.
type Row struct {
	URL    string
	Ending output.Ending
}

// Run runs the suite, except [Kill].
func Run(t *testing.T, f Format) {
	for _, part := range []struct {
		name string
		test func(*suite)
	}{
		{"Appears", (*suite).appears},
		{"StartOver", (*suite).startOver},
		{"Resumed", (*suite).resumed},
		{"Torn", (*suite).torn},
		{"Zeros", (*suite).zeros},
		{"Lost", (*suite).lost},
		{"Extended", (*suite).extended},
		{"Untouched", (*suite).untouched},
		{"Waiting", (*suite).waiting},
		{"Foreign", (*suite).foreign},
		{"Interrupted", (*suite).interrupted},
		{"Contradiction", (*suite).contradiction},
		{"Closed", (*suite).closed},
		{"Random", (*suite).random},
	} {
		t.Run(part.name, func(t *testing.T) {
			part.test(&suite{T: t, format: f, path: filepath.Join(t.TempDir(), "pages")})
		})
	}
}

type suite struct {
	*testing.T
	format Format
	path   string
}

// Visit is how URL number n of the suite's web ended: all kinds of endings alternate.
func Visit(n int) *visit.Visit {
	at := time.Date(2026, 11, 15, 10, 0, n%60, 123456789, time.UTC)
	v := &visit.Visit{
		Item:    visit.Item{Job: 1, URL: address(n), Via: address(max(n-1, 0)), Found: visit.FoundLink, Depth: n % 5},
		Outcome: visit.Fetched,
		Answer:  visit.Answer{Status: 200, ContentType: "text/html", WireBytes: 100, DecodedBytes: 300},
		Timing:  visit.Timing{Sent: at, FirstByte: time.Millisecond, Total: 2 * time.Millisecond},
		Page:    visit.Page{Title: fmt.Sprintf("Page %d, \"quoted\"\n\u2028= 1+1", n)},
	}
	switch n % 10 {
	case 1:
		v.Outcome, v.Answer = visit.Redirected, visit.Answer{Status: 301, Location: address(n + 1)}
	case 2:
		v.Outcome, v.Answer.Status = visit.Dead, 404
	case 3:
		v.Outcome, v.Reason, v.Answer, v.Detail = visit.Failed, visit.Timeout, visit.Answer{}, "no answer within 10s"
	case 4:
		v = &visit.Visit{Item: v.Item, Outcome: visit.Skipped, Reason: visit.RobotsDisallow}
	case 5:
		v = &visit.Visit{Item: v.Item, Outcome: visit.Deferred}
	case 6:
		v = &visit.Visit{Item: v.Item, Outcome: visit.Skipped, Reason: visit.Depth}
	}
	return v
}

func address(n int) weburl.URL {
	u, err := weburl.Parse(fmt.Sprintf(`https://example.com/%d?q=\%d`, n, n))
	if err != nil {
		panic(err)
	}
	return u
}

// Ledger is an in-memory ledger, in the order in which URLs ended.
type Ledger []*visit.Visit

// Ended counts the URLs by ending.
func (l Ledger) Ended(context.Context) (map[output.Ending]int64, error) {
	ended := map[output.Ending]int64{}
	for _, v := range l {
		ended[output.EndingOf(v)]++
	}
	return ended, nil
}

// Each yields the URLs of an ending, last ended first.
func (l Ledger) Each(ctx context.Context, e output.Ending, yield func(*visit.Visit) error) error {
	for _, v := range slices.Backward(l) {
		if output.EndingOf(v) != e {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := yield(v); err != nil {
			return err
		}
	}
	return nil
}

func (s *suite) check(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *suite) open(open func(string) (Writer, error)) Writer {
	s.Helper()
	w, err := open(s.path)
	s.check(err)
	s.Cleanup(func() { w.Close() })
	return w
}

// write ends the URLs from number a up to b, and writes their visits.
func (s *suite) write(w Writer, l *Ledger, a, b int) {
	s.Helper()
	for n := a; n < b; n++ {
		v := Visit(n)
		*l = append(*l, v)
		s.check(w.Write(s.Context(), v))
	}
}

func (s *suite) finish(w Writer, l Ledger) {
	s.Helper()
	s.check(w.Finish(s.Context(), l))
	s.check(w.Close())
	s.whole(l)
}

// absent checks that there is no file.
func (s *suite) absent() {
	s.Helper()
	if _, err := os.Lstat(s.path); !errors.Is(err, fs.ErrNotExist) {
		s.Fatalf("there is a file before it was finished: %v", err)
	}
}

// whole checks for a file with exactly the URLs of the ledger, and no unfinished one.
func (s *suite) whole(l Ledger) {
	s.Helper()
	rows, err := s.format.Read(s.path)
	s.check(err)
	var want []Row
	for _, v := range l {
		if s.format.Keeps == nil || s.format.Keeps(v) {
			want = append(want, Row{v.Item.URL.String(), output.EndingOf(v)})
		}
	}
	byURL := func(a, b Row) int { return strings.Compare(a.URL, b.URL) }
	slices.SortFunc(rows, byURL)
	slices.SortFunc(want, byURL)
	if diff := cmp.Diff(want, rows); diff != "" {
		s.Fatalf("the file is not the ledger (-ledger +file):\n%s", diff)
	}
	if _, err := os.Lstat(s.format.Part(s.path)); !errors.Is(err, fs.ErrNotExist) {
		s.Fatalf("a part is left beside the finished file: %v", err)
	}
}

func (s *suite) appears() {
	var l Ledger
	w := s.open(s.format.Create)
	s.write(w, &l, 0, 100)
	s.check(w.Flush())
	s.absent()
	s.finish(w, l)
	info, err := os.Stat(s.path)
	s.check(err)
	if info.Size() == 0 {
		s.Error("the file is empty")
	}
}

func (s *suite) startOver() {
	w := s.open(s.format.Create)
	s.finish(w, nil)
	var l Ledger
	w = s.open(s.format.Create)
	s.write(w, &l, 0, 30)
	s.check(w.Close())
	s.stays(nil) // the old one stays while the new one is written
	l = nil
	w = s.open(s.format.Create)
	s.write(w, &l, 50, 70)
	s.finish(w, l)
}

// stays checks that a file has the rows of the ledger while another is being written.
func (s *suite) stays(l Ledger) {
	s.Helper()
	rows, err := s.format.Read(s.path)
	s.check(err)
	if len(rows) != len(l) {
		s.Fatalf("%d rows, want %d", len(rows), len(l))
	}
}

func (s *suite) resumed() {
	var l Ledger
	w := s.open(s.format.Resume) // nothing exists yet
	for n := range 10 {
		s.write(w, &l, n*10, n*10+10)
		s.check(w.Close())
		s.absent()
		w = s.open(s.format.Resume)
	}
	s.finish(w, l)
}

// part reads the file of an unfinished writer, if there is one.
func (s *suite) part() (path string, text []byte) {
	s.Helper()
	path = s.format.Part(s.path)
	text, err := os.ReadFile(path)
	if !errors.Is(err, fs.ErrNotExist) {
		s.check(err)
	}
	return path, text
}

// every is the distance between two positions at which a file is damaged: n bytes, with
// -short 20 times as many, since a file is written and synced for each.
func (s *suite) every(n int) int {
	if race.Short() {
		return 20*n + 1 // odd positions, too
	}
	return n
}

// torn truncates the unfinished file at every byte, as a crash may.
func (s *suite) torn() {
	var l Ledger
	w := s.open(s.format.Create)
	s.write(w, &l, 0, 12)
	s.check(w.Close())
	part, text := s.part()
	for size := 0; size <= len(text); size += s.every(5) {
		again := slices.Clone(l)
		s.check(os.WriteFile(part, text[:size], 0o600))
		w := s.open(s.format.Resume)
		s.write(w, &again, 12, 15)
		s.finish(w, again)
		s.check(os.RemoveAll(s.path))
	}
}

// zeros are left by file systems for unsynced data after a power failure.
func (s *suite) zeros() {
	var l Ledger
	w := s.open(s.format.Create)
	s.write(w, &l, 0, 12)
	s.check(w.Close())
	part, text := s.part()
	for from := 0; from < len(text); from += s.every(7) {
		again := slices.Clone(text)
		clear(again[from:min(from+300, len(text))])
		s.check(os.WriteFile(part, again, 0o600))
		s.finish(s.open(s.format.Resume), l)
		s.check(os.RemoveAll(s.path))
	}
}

// lost are visits that were committed but never written.
func (s *suite) lost() {
	var l Ledger
	w := s.open(s.format.Create)
	for n := range 200 {
		v := Visit(n)
		l = append(l, v)
		if n%7 != 0 {
			s.check(w.Write(s.Context(), v))
		}
	}
	s.finish(w, l)
}

// extended continues after a file was finished: deferred URLs are fetched, and a skipped URL
// is found through another link.
func (s *suite) extended() {
	var l Ledger
	w := s.open(s.format.Create)
	s.write(w, &l, 0, 100)
	s.finish(w, l)
	w = s.open(s.format.Resume)
	var kept Ledger
	for _, v := range l {
		if output.EndingOf(v).Settled() {
			kept = append(kept, v)
			continue
		}
		again := *v
		again.Outcome, again.Reason, again.Answer.Status = visit.Fetched, "", 200
		kept = append(kept, &again)
		s.check(w.Write(s.Context(), &again))
	}
	s.write(w, &kept, 100, 200) // as many of each ending as before
	s.finish(w, kept)
}

// untouched resumes a finished file without adding anything: it stays as it is.
func (s *suite) untouched() {
	var l Ledger
	w := s.open(s.format.Create)
	s.write(w, &l, 0, 50)
	s.finish(w, l)
	w = s.open(s.format.Resume)
	s.check(w.Flush())
	s.whole(l)
	s.check(w.Close())
	s.whole(l)
	if w.Write(s.Context(), Visit(99)) == nil {
		s.Error("a closed writer takes more")
	}
	s.whole(l)
	w = s.open(s.format.Resume)
	s.check(w.Write(s.Context(), Visit(100)))
	s.absent()
	s.finish(w, append(l, Visit(100)))
}

// waiting is a finished file of a crawl that was extended and stopped again before it
// fetched its deferred URLs.
func (s *suite) waiting() {
	var l, kept Ledger
	w := s.open(s.format.Create)
	s.write(w, &l, 0, 100)
	s.finish(w, l)
	for _, v := range l {
		if output.EndingOf(v).Settled() {
			kept = append(kept, v)
		}
	}
	s.finish(s.open(s.format.Resume), kept)
}

// foreign is an unfinished file of something else.
func (s *suite) foreign() {
	var other, l Ledger
	w := s.open(s.format.Create)
	s.write(w, &other, 1000, 1100)
	s.check(w.Close())
	w = s.open(s.format.Resume)
	for n := range 20 {
		l = append(l, Visit(n))
	}
	s.finish(w, l)
}

// interrupted stops Finish at every row.
func (s *suite) interrupted() {
	var l Ledger
	for n := range 40 {
		l = append(l, Visit(n))
	}
	w := s.open(s.format.Create)
	for n := 0; n < 40; n += 3 {
		s.check(w.Write(s.Context(), l[n]))
	}
	// A writer may read the ledger several times, and then more rows than it has.
	for stop := 0; ; stop++ {
		if stop > 100*len(l) {
			s.Fatalf("not finished after %d rows", stop)
		}
		err := w.Finish(s.Context(), &stopping{Ledger: l, after: stop})
		if err == nil {
			s.check(w.Close())
			break
		}
		if !errors.Is(err, errStop) {
			s.Fatalf("stopped at row %d: %v", stop, err)
		}
		s.absent()
		if stop%2 == 0 { // the same writer may retry, or another one
			s.check(w.Close())
			w = s.open(s.format.Resume)
		}
	}
	s.whole(l)
}

var errStop = errors.New("stopped")

// stopping is a ledger that fails after some rows.
type stopping struct {
	Ledger
	after int
}

func (s *stopping) Each(ctx context.Context, e output.Ending, yield func(*visit.Visit) error) error {
	return s.Ledger.Each(ctx, e, func(v *visit.Visit) error {
		if s.after--; s.after < 0 {
			return errStop
		}
		return yield(v)
	})
}

// contradiction is a ledger that lists less than it counts: no file is better than a wrong
// one.
func (s *suite) contradiction() {
	w := s.open(s.format.Create)
	l := Ledger{Visit(0), Visit(7), Visit(8)}
	s.check(w.Write(s.Context(), l[0]))
	if err := w.Finish(s.Context(), short{l}); err == nil {
		s.Error("a file with a row missing was finished")
	}
	s.absent()
}

type short struct{ Ledger }

func (s short) Each(ctx context.Context, e output.Ending, yield func(*visit.Visit) error) error {
	return s.Ledger[:2].Each(ctx, e, yield)
}

func (s *suite) closed() {
	w := s.open(s.format.Create)
	s.check(w.Close())
	s.check(w.Close())
	if w.Write(s.Context(), Visit(0)) == nil || w.Flush() == nil || w.Finish(s.Context(), nil) == nil {
		s.Error("a closed writer takes more")
	}
	if w.Write(s.Context(), &visit.Visit{Outcome: visit.Fetched}) == nil {
		s.Error("a visit without a URL was written")
	}
	s.absent()
}

// random interrupts in all ways at random.
func (s *suite) random() {
	rng := rand.New(rand.NewPCG(1, 2))
	rounds := 20
	if race.Short() {
		rounds = 3 // each syncs dozens of files
	}
	for range rounds {
		s.check(errors.Join(os.RemoveAll(s.path), os.RemoveAll(s.format.Part(s.path))))
		var l Ledger
		w := s.open(s.format.Create)
		for next := 0; next < 300; {
			switch rng.IntN(6) {
			case 0: // killed: the end of the file is lost
				s.check(w.Close())
				if info, err := os.Stat(s.format.Part(s.path)); err == nil {
					s.check(os.Truncate(s.format.Part(s.path), rng.Int64N(info.Size()+1)))
				}
				w = s.open(s.format.Resume)
			case 1: // finished and extended
				s.finish(w, l)
				w = s.open(s.format.Resume)
			default:
				n := rng.IntN(20)
				s.write(w, &l, next, next+n)
				next += n
			}
		}
		s.finish(w, l)
	}
}
