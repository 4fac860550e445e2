package answer

import (
	"fmt"
	"testing"
	"time"

	"headway/politeness"
	"headway/store"
	"headway/visit"
)

// TestCountForbidden checks pending URLs against the stored robots.txt.
func TestCountForbidden(t *testing.T) {
	s := newShelf()
	s.learn(t, "http://a.example", "User-agent: *\nDisallow: /private/\n\nUser-agent: other\nDisallow: /\n", politeness.New("http://a.example"))
	s.learn(t, "http://open.example", "", politeness.New("http://open.example"))
	for i := range 5 {
		s.put(store.Entry{Item: link(t, fmt.Sprintf("http://a.example/private/%d", i), "", 0), Outcome: visit.Pending})
		s.put(store.Entry{Item: link(t, fmt.Sprintf("http://a.example/%d", i), "", 0), Outcome: visit.Pending})
	}
	s.put(store.Entry{Item: link(t, "http://a.example/private/done", "", 0), Outcome: visit.Skipped, Reason: visit.RobotsDisallow})
	s.put(store.Entry{Item: link(t, "http://open.example/private/", "", 0), Outcome: visit.Pending})
	for name, tc := range map[string]struct {
		host  string
		asked CrawlSpec
		now   time.Time
		want  Forbidden
	}{
		"a part of it":            {"http://a.example", CrawlSpec{}, whyNow, Forbidden{5, true}},
		"all, for another name":   {"http://a.example", CrawlSpec{Token: "other"}, whyNow, Forbidden{10, true}},
		"robots.txt is set aside": {"http://a.example", CrawlSpec{IgnoreRobots: true}, whyNow, Forbidden{0, true}},
		"a file without a rule":   {"http://open.example", CrawlSpec{}, whyNow, Forbidden{0, true}},
		"a host not seen yet":     {"http://b.example", CrawlSpec{}, whyNow, Forbidden{}},
	} {
		got, err := CountForbidden(t.Context(), s, 1, tc.host, &tc.asked, tc.now)
		if err != nil || got != tc.want {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, tc.want)
		}
	}
}
