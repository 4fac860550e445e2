package crawl

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"headway"
	"headway/ask"
	"headway/frontier"
	"headway/internal/view"
	"headway/limit"
	"headway/store"
	"headway/visit"
)

// TestPrintLines watches the lines of a crawl that is opened, runs for a while
// and then waits for a host that said not now.
func TestPrintLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var out bytes.Buffer
		ctx, cancel := context.WithTimeout(t.Context(), 42*time.Second)
		defer cancel()
		printLines(ctx, &out, func() view.Model {
			now := time.Now()
			m := view.Model{Now: now.UTC(), Began: began}
			passed := now.Sub(began)
			if passed < 2*time.Second {
				return m
			}
			p := &headway.Progress{
				At: now, Elapsed: passed, Counts: store.Counts{Waiting: 7}, Frontier: frontier.Stats{Working: 1},
				Shares: []frontier.Share{{State: frontier.Waiting(visit.WaitPace), Hosts: 1, Part: 1}},
			}
			p.Spent = limit.Use{Pages: int64(min(passed, 13*time.Second) / time.Second), Requests: int64(min(passed, 13*time.Second) / time.Second)}
			if passed > 13*time.Second {
				p.Shares[0].State = frontier.Waiting(visit.WaitHold)
				p.Slowest = []ask.Host{{Host: "https://shop.example", Pace: ask.Seconds(4 * time.Second), Source: "learned", State: "hold", HeldUntil: began.Add(time.Minute)}}
			}
			m.Progress = p
			return m
		})
		want := []string{
			"00:01  opening the crawl folder",
			"00:06  6 pages  0.0/s  7 waiting  0 in flight  1 host  waiting on pace 1",
			"00:11  11 pages  0.0/s  7 waiting  0 in flight  1 host  waiting on pace 1",
			"00:16  13 pages  0.0/s  7 waiting  0 in flight  1 host  waiting on hold 1  slowest shop.example, 4.00 s learned",
			"00:21  13 pages  0.0/s  7 waiting  0 in flight  1 host  waiting on hold 1  slowest shop.example, 4.00 s learned",
			"00:31  nothing sent for 18 s: 1 host held (Retry-After or backoff); next request at 00:01:00",
			"00:41  nothing sent for 28 s: 1 host held (Retry-After or backoff); next request at 00:01:00",
		}
		if d := cmp.Diff(want, strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")); d != "" {
			t.Errorf("-want +got:\n%s", d)
		}
	})
}
