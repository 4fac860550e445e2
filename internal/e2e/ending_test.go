package e2e

import (
	"testing"
	"time"

	"headway/lab"
)

// endsWithin is how long after its last page a crawl may end. In the short form only a crawl
// that waits for something takes longer.
var endsWithin = map[bool]time.Duration{false: 5 * time.Second, true: 300 * time.Millisecond}[full]

// TestEndsWithLastPage has nearly as many forbidden URLs as pages, and as many behind nofollow
// links, which are only written when no other link can lead to them. It is not parallel: it
// measures how fast a process ends.
func TestEndsWithLastPage(t *testing.T) {
	hosts, pages := 4, 50
	if full {
		hosts, pages = 20, 500
	}
	w := newWorld(t, lab.Config{Hosts: lab.Uniform(hosts, site(pages, func(t *lab.Temper) { t.Site.PrivateLinks, t.Site.NofollowLinks = 2, 2 }))})
	w.run(w.crawl("run", "--preset", "owned", "--in-flight", "8", "--sitemaps", "off"), 0)
	ended := time.Now()
	w.complete()
	w.clean()
	var last time.Time
	for _, r := range w.lab.Log() {
		if r.Answer.After(last) {
			last = r.Answer
		}
	}
	after := ended.Sub(last)
	t.Logf("ended %v after the last page", after)
	if late := after - w.stalls.Between(last, ended); late > endsWithin {
		t.Errorf("ended %v after the last page, without stalls of the machine %v; want at most %v", after, late, endsWithin)
	}
}
