package sqlite

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"headway/store"
	"headway/visit"
)

// TestAttemptsOfHost expects all attempts of one host, in order, page by page.
func TestAttemptsOfHost(t *testing.T) {
	dir := t.TempDir()
	s := openTest(t, dir, nil)
	o := newOwner(t, s, 0)
	var want []string
	for _, host := range []string{"a", "b"} {
		for page := range 3 {
			raw := fmt.Sprintf("http://%s.example/%d", host, page)
			o.add(raw)
			for n := range 4 {
				v := o.visits(raw)[0]
				v.Outcome, v.Wait = visit.Pending, visit.WaitHold
				v.Answer.Status, v.Answer.RetryAfter = 429, "5"
				v.Timing = visit.Timing{Sent: o.now.Add(time.Duration(n) * time.Second), Total: time.Millisecond}
				if _, err := o.commit(store.Commit{Retries: []store.Retry{{Visit: v, Attempt: n}}}); err != nil {
					t.Fatal(err)
				}
				if host == "b" {
					want = append(want, fmt.Sprintf("%s %s", raw, v.Timing.Sent.Format(time.StampMilli)))
				}
			}
		}
	}
	v := openView(t, dir)
	for _, size := range []int{1, 5, 12, 100} {
		var got []string
		for q := (store.AttemptQuery{Job: o.job, Host: "http://b.example", Max: size}); ; {
			page, err := v.Attempts(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range page.Attempts {
				if a.Answer.Status != 429 || a.Answer.RetryAfter != "5" || a.Outcome != visit.Pending {
					t.Errorf("attempt %+v", a)
				}
				got = append(got, fmt.Sprintf("%s %s", a.Item.URL, a.Timing.Sent.Format(time.StampMilli)))
			}
			if page.Next == "" {
				break
			}
			q.After = page.Next
		}
		if !slices.Equal(got, want) {
			t.Errorf("pages of %d:\n got %q\nwant %q", size, got, want)
		}
	}
	if page, err := v.Attempts(t.Context(), store.AttemptQuery{Job: o.job, Host: "http://c.example", Max: 1}); err != nil || len(page.Attempts) != 0 {
		t.Errorf("of a host nobody met: %v, %v", page, err)
	}
	if _, err := v.Attempts(t.Context(), store.AttemptQuery{Job: o.job, Host: "http://b.example", After: "nonsense"}); err == nil {
		t.Error("a cursor of nothing is taken")
	}
}

// TestHostListCountsIncidents counts only pace changes caused by incidents.
func TestHostListCountsIncidents(t *testing.T) {
	dir := t.TempDir()
	s := openTest(t, dir, nil)
	o := newOwner(t, s, 0)
	o.add("http://a.example/")
	o.add("http://b.example/")
	var changes []store.PaceChange
	for _, cause := range []string{"incident", "probe", "probe_failed", "incident", "probe"} {
		changes = append(changes, store.PaceChange{Host: "http://b.example", At: o.now, From: time.Second, To: 2 * time.Second, Cause: cause})
	}
	if _, err := o.commit(store.Commit{Paces: changes}); err != nil {
		t.Fatal(err)
	}
	page, err := openView(t, dir).HostList(t.Context(), store.HostListQuery{Job: o.job, Max: 10})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for _, h := range page.Hosts {
		got[h.Host.Host] = h.Incidents
	}
	if want := map[string]int64{"http://a.example": 0, "http://b.example": 3}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
