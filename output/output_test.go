package output

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"headway/visit"
	"headway/weburl"
)

// recorder is a writer that records its calls and their times.
type recorder struct {
	began time.Time
	log   []string
	fail  error
}

func (r *recorder) note(what string) {
	r.log = append(r.log, time.Since(r.began).String()+" "+what)
}

func (r *recorder) Write(_ context.Context, v *visit.Visit) error {
	r.note(v.Item.URL.PathQuery())
	return r.fail
}
func (r *recorder) Flush() error { r.note("flush"); return nil }
func (r *recorder) Close() error { return nil }

func visits(t testing.TB, paths ...string) []visit.Visit {
	var list []visit.Visit
	for _, p := range paths {
		u, err := weburl.Parse("https://example.com" + p)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, visit.Visit{Item: visit.Item{URL: u}, Outcome: visit.Fetched})
	}
	return list
}

// TestRun checks the order, and that it flushes every second, even when idle.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{began: time.Now()}
		in := make(chan []visit.Visit)
		done := make(chan error)
		go func() { done <- Run(t.Context(), in, r) }()
		in <- visits(t, "/a", "/b")
		time.Sleep(2500 * time.Millisecond)
		in <- visits(t, "/c")
		close(in)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		want := []string{"0s /a", "0s /b", "1s flush", "2s flush", "2.5s /c", "2.5s flush"}
		if !slices.Equal(r.log, want) {
			t.Errorf("got %q, want %q", r.log, want)
		}
	})
}

func TestRunStops(t *testing.T) {
	full := errors.New("disk full")
	in := make(chan []visit.Visit, 1)
	in <- visits(t, "/a", "/b")
	if err := Run(t.Context(), in, &recorder{fail: full}); !errors.Is(err, full) {
		t.Errorf("got %v, want the writer's error", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(full)
	if err := Run(ctx, nil); !errors.Is(err, full) {
		t.Errorf("got %v, want the cause", err)
	}
}

// TestSettled pins what may be written while the crawl runs.
func TestSettled(t *testing.T) {
	for _, o := range visit.Outcomes {
		reasons := visit.Reasons[o]
		if reasons == nil {
			reasons = []visit.Reason{""}
		}
		for _, r := range reasons {
			want := o != visit.Pending && o != visit.Deferred && r != visit.Nofollow && r != visit.Depth
			if got := (Ending{o, r}).Settled(); got != want {
				t.Errorf("%s %s: settled %v", o, r, got)
			}
		}
	}
}
