package fleettest

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"headway/client"
)

// TestServiceUsage meters tenants while workers and servers are killed: usage is what
// was recorded, to the page. One of them reaches its monthly quota, which ends its
// job, and gets one event before and one then.
func TestServiceUsage(t *testing.T) {
	t.Parallel()
	quota, kills, web := 40, 2, setup{hosts: 12, pages: 10, pace: pace / 2}
	if full {
		quota, kills, web = 1000, 20, setup{hosts: 40, pages: 240} // longer than the kills take
	}
	f := newFleet(t, web)
	for _, args := range [][]string{
		{"plan", "set", "trial", "--month-pages", fmt.Sprint(quota)},
		{"plan", "set", "large", "--max-pages", "100000"},
		{"tenant", "set", "acme", "--plan", "trial"},
		{"tenant", "set", "byte", "--plan", "large"},
	} {
		f.run(append([]string{"admin"}, args...)...)
	}
	in := newInbox(t)
	s := f.service("--allow-private", in.door())
	for range 3 {
		f.start()
	}
	f.awaitWorkers(3)
	acme, large := s.tenant("acme"), s.tenant("byte")
	in.endpoint(f, acme.Client)
	seeds := f.lab.Seeds()
	half := len(seeds) / 2
	trial := acme.create(f.crawl(100_000, seeds[:half]...))
	var others []int64
	for _, seed := range seeds[half:] {
		others = append(others, large.create(f.crawl(0, seed)))
	}
	f.awaitPages(trial, 1)
	done, next := 0, time.Now()
	disturb := func() {
		if done == kills || time.Now().Before(next) {
			return
		}
		victim, _ := f.victim()
		f.kill(victim)
		f.start()
		f.kill(s.now)
		s.again()
		done++
		next = time.Now().Add(lease + f.chance(lease))
	}
	j := f.await(trial, f.long(), disturb)
	if j.State != "partial" || j.Reason != "max_pages" || j.Pages != int64(quota) || f.recorded(trial) != int64(quota) || acme.used() != int64(quota) {
		t.Errorf("%s (%s) with %d pages, %d stored, %d used, want partial (max_pages) with %d", j.State, j.Reason, j.Pages, f.recorded(trial), acme.used(), quota)
	}
	recorded := int64(0)
	for _, id := range others {
		if j := f.await(id, f.long(), disturb); j.State != "complete" || j.Pages != int64(f.pages) {
			t.Errorf("job %d: %s (%s) with %d pages, want complete with %d", id, j.State, j.Reason, j.Pages, f.pages)
		}
		recorded += f.recorded(id)
	}
	if used := large.used(); used != recorded || recorded != int64(f.pages*len(others)) {
		t.Errorf("%d pages used, %d recorded, want %d", used, recorded, f.pages*len(others))
	}
	if done != kills {
		t.Errorf("%d of %d kills", done, kills)
	}

	told := map[string]int{}
	for _, e := range acme.events() {
		if e.Data.Percent != 0 {
			told[fmt.Sprintf("%s at %d %% of %s %.0f by %s", e.Kind, e.Data.Percent, e.Data.Limit, e.Data.Max, e.Data.Layer)]++
		}
	}
	want := map[string]int{}
	for percent, kind := range map[int]string{80: "limit.near", 95: "limit.near", 100: "limit.reached"} {
		want[fmt.Sprintf("%s at %d %% of max_pages %d by usage", kind, percent, quota)] = 1
	}
	if !maps.Equal(told, want) {
		t.Errorf("events are %v, want %v", told, want)
	}
	events := acme.events()
	in.await(f, events)
	marks := map[int64]int{}
	for _, e := range in.events() {
		if e.Data.Percent != 0 {
			marks[e.Data.Percent]++
		}
	}
	if got := slices.Sorted(maps.Keys(marks)); !slices.Equal(got, []int64{80, 95, 100}) {
		t.Errorf("webhooks sent %v", marks)
	}
	t.Logf("%d kills of a worker and the server; %d deliveries of %d events came again", done, in.again(), len(events))
	f.leave(s.now)
	f.leaveAll()
}

// used is how many pages the tenant used this month.
func (c *tenant) used() int64 {
	c.Helper()
	usage, err := c.GetUsage(c.Context(), client.GetUsageParams{})
	if err != nil {
		c.Fatal(err)
	}
	return usage.Pages
}
