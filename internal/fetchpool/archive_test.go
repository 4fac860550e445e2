package fetchpool_test

import (
	"context"
	"errors"
	"testing"

	"headway/fetch"
	"headway/frontier"
	"headway/internal/fetchpool"
	"headway/output"
	"headway/visit"
)

// archive is an output that records what it receives.
type archive struct {
	taken []output.Exchange
	err   error
}

func (a *archive) Exchange(_ context.Context, x *output.Exchange) error {
	a.taken = append(a.taken, *x)
	return a.err
}
func (a *archive) Sync(context.Context) error                { return a.err }
func (a *archive) Write(context.Context, *visit.Visit) error { return nil }
func (a *archive) Close() error                              { return nil }

// plain is an output that does not record exchanges.
type plain struct{ output.Writer }

// TestArchive passes on every exchange, and why a body is incomplete.
func TestArchive(t *testing.T) {
	a := &archive{}
	in(t, func(cfg *fetchpool.Config) { cfg.Archives = fetchpool.ArchivesOf([]output.Writer{plain{}, a}) }, func(r *rig) {
		wires := []fetch.Wire{
			{},
			{Cut: true},
			{Err: &fetch.Error{Reason: fetch.TooLarge}},
			{Err: &fetch.Error{Reason: fetch.Timeout}},
			{Err: &fetch.Error{Reason: fetch.Truncated}},
			{Err: errTest},
		}
		for _, w := range wires {
			r.replies[host+"/a"] = reply{header: html, wire: w}
			r.Start(r.work, r.task(frontier.Page, "/a"))
			r.settle()
		}
		cuts := []output.Cut{"", output.CutLength, output.CutLength, output.CutTime, output.CutDisconnect, output.CutOther}
		if len(a.taken) != len(cuts) {
			t.Fatalf("took %d exchanges", len(a.taken))
		}
		for i, x := range a.taken {
			if x.Cut != cuts[i] || x.Purpose != output.ForPage || x.Item.URL.String() != host+"/a" {
				t.Errorf("exchange %d: %+v", i, x)
			}
		}
		a.taken = nil
		r.Start(r.work, r.task(frontier.Robots, "/"))
		r.settle()
		r.Start(r.work, r.task(frontier.Sitemap, "/s.xml"))
		r.settle()
		if len(a.taken) != 2 || a.taken[0].Purpose != output.ForRobots || a.taken[0].Item.URL.Path() != "/robots.txt" || a.taken[1].Purpose != output.ForSitemap {
			t.Errorf("took %+v", a.taken)
		}
	})
}

// TestArchiveFails is a local error: the request does not count as done.
func TestArchiveFails(t *testing.T) {
	list := fetchpool.ArchivesOf([]output.Writer{&archive{err: errTest}})
	if err := list.Sync(t.Context()); !errors.Is(err, errTest) {
		t.Errorf("synced: %v", err)
	}
	in(t, func(cfg *fetchpool.Config) { cfg.Archives = list }, func(r *rig) {
		r.Start(r.work, r.task(frontier.Page, "/a"))
		r.settle()
		if l := r.page(); !errors.Is(l.LocalErr, errTest) || fetchpool.CalledOff(l.LocalErr) || l.Visit.Outcome != "" || l.Sent.IsZero() {
			t.Errorf("%+v with %+v", l, l.Visit)
		}
	})
}
