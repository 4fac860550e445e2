//go:build linux

package sqlite

import (
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// The time to open a large file, and that memory does not grow with it:
//
//	go test ./store/sqlite -run TestScale -scale-hosts 1000000 -scale-urls 20000000 -v -timeout 2h
var (
	scaleHosts = flag.Int("scale-hosts", 0, "hosts of TestScale; 0 skips it")
	scaleURLs  = flag.Int("scale-urls", 0, "waiting URLs of TestScale")
)

func TestScale(t *testing.T) {
	if *scaleHosts == 0 {
		t.Skip("set -scale-hosts and -scale-urls")
	}
	dir := t.TempDir()
	s := openTest(t, dir, nil)
	o := newOwner(t, s, 0)
	begin := time.Now()
	var found []store.Found
	for i := range *scaleURLs {
		host := i % *scaleHosts
		u, err := weburl.Parse(fmt.Sprintf("https://www.host%06d.example/section/%08d/article-%010d.html", host, i/7, i))
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, store.Found{Item: visit.Item{Job: o.job, URL: u, Found: visit.FoundSitemap, Depth: 1}})
		if len(found) == 20_000 || i == *scaleURLs-1 {
			if _, err := s.Add(t.Context(), o.now, found); err != nil {
				t.Fatal(err)
			}
			found = found[:0]
		}
		if (i+1)%1_000_000 == 0 {
			t.Logf("%d M URLs after %s: %d MB resident", (i+1)/1_000_000, time.Since(begin).Round(time.Second), resident(t)>>20)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	begin = time.Now()
	s = openTest(t, dir, nil)
	t.Logf("open: %s", time.Since(begin).Round(time.Millisecond))
	slots := make([]store.Slot, store.SlotCount)
	for i := range slots {
		slots[i] = store.Slot(i)
	}
	hosts := 0
	for q := (store.HostQuery{Slots: slots, Max: 1000}); ; {
		page, err := s.Hosts(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if hosts == 0 {
			var wants []store.Want
			for _, h := range page.Hosts {
				wants = append(wants, store.Want{Host: h.Host.Host, Job: o.job, Max: 64})
			}
			items, err := s.Heads(t.Context(), o.now, wants)
			if err != nil || len(items) == 0 {
				t.Fatalf("%d items, %v", len(items), err)
			}
			t.Logf("something to fetch, %d URLs of %d hosts: %s after the start", len(items), len(page.Hosts), time.Since(begin).Round(time.Millisecond))
		}
		hosts += len(page.Hosts)
		if q.After = page.Next; q.After == "" || hosts >= 500_000 {
			break
		}
	}
	t.Logf("%d hosts read: %s after the start; %d MB resident", hosts, time.Since(begin).Round(time.Millisecond), resident(t)>>20)
}

// resident is the memory of this process.
func resident(t *testing.T) int64 {
	t.Helper()
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	var size, pages int64
	if _, err := fmt.Sscan(string(data), &size, &pages); err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}
