package headway_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"headway"
	"headway/internal/simweb"
	"headway/job"
	"headway/lab"
	"headway/output"
	"headway/store"
	"headway/store/memory"
	"headway/visit"
	"headway/weburl"
)

// archive is an output that records which exchanges it received, and which of them were
// synced.
type archive struct {
	t                 *testing.T
	failAt            int // at this exchange
	failSync          bool
	mu                sync.Mutex
	purposes          map[output.Purpose]int
	handed            map[weburl.URL]int
	synced            map[weburl.URL]bool
	written, unsynced int
}

var errArchive = errors.New("disk full")

func (a *archive) Exchange(_ context.Context, x *output.Exchange) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if x.Status == 0 || x.Timing.Sent.IsZero() || !x.Remote.IsValid() || !bytes.HasPrefix(x.Response, []byte("HTTP/1.1 ")) ||
		!strings.HasPrefix(string(x.Request), "GET "+x.Item.URL.PathQuery()+" ") || x.Cut != "" {
		a.t.Errorf("handed %+v", x)
	}
	a.purposes[x.Purpose]++
	if x.Purpose == output.ForPage {
		a.handed[x.Item.URL]++
	}
	if a.failAt > 0 && a.purposes[output.ForPage] == a.failAt {
		return errArchive
	}
	return nil
}

func (a *archive) Sync(context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for u := range a.handed {
		a.synced[u] = true
	}
	if a.failSync && len(a.handed) > 0 {
		return errArchive
	}
	return nil
}

// Write receives committed visits.
func (a *archive) Write(_ context.Context, v *visit.Visit) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if v.Answer.Status == 0 {
		return nil
	}
	a.written++
	if !a.synced[v.Item.URL] || a.handed[v.Item.URL] != 1 {
		a.unsynced++
	}
	return nil
}

func (a *archive) Close() error { return nil }

// TestArchive passes on every exchange, and syncs it before its visit is committed. If that
// fails, so does the crawl, and the URL does not count as done.
func TestArchive(t *testing.T) {
	tests := []struct {
		name     string
		failAt   int
		failSync bool
	}{{name: "works"}, {name: "no room", failAt: 5}, {name: "no sync", failSync: true}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, err := simweb.New(lab.Config{Hosts: []lab.HostSpec{{Name: "plain.example", Temper: small(30)}}})
				if err != nil {
					t.Fatal(err)
				}
				defer w.Close()
				a := &archive{
					t: t, failAt: tt.failAt, failSync: tt.failSync,
					purposes: map[output.Purpose]int{}, handed: map[weburl.URL]int{}, synced: map[weburl.URL]bool{},
				}
				st := memory.Open(memory.Config{})
				report, err := headway.Run(t.Context(), headway.Worker{Store: st, Fetcher: newFetcher(t, w), Outputs: []output.Writer{a}},
					headway.Job{Seeds: []weburl.URL{mustURL("http://plain.example/")}, Policy: preset("polite")})
				if tt.failAt > 0 || tt.failSync {
					if !errors.Is(err, errArchive) {
						t.Errorf("got %v, want the archive's error", err)
					}
					counts, err := st.Counts(t.Context(), 1)
					if pages := counts.Ended[store.Ending{Outcome: visit.Fetched}]; err != nil || pages > int64(max(tt.failAt-1, 0)) {
						t.Errorf("%d pages are done, %v", pages, err)
					}
					return
				}
				if err != nil || report.State != job.Complete {
					t.Fatalf("ended %s, %v", report.State, err)
				}
				if a.written < 30 || a.written != len(a.handed) || a.unsynced > 0 || a.purposes[output.ForRobots] != 1 || a.purposes[output.ForSitemap] == 0 {
					t.Errorf("%d visits, %d pages handed over, %d not in time, purposes %v", a.written, len(a.handed), a.unsynced, a.purposes)
				}
			})
		})
	}
}
