package humanize_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"headway/internal/humanize"
	"headway/store"
	"headway/visit"
)

func TestNumbers(t *testing.T) {
	for _, c := range []struct{ name, got, want string }{
		{"no thousands", humanize.Count(999), "999"},
		{"thousands", humanize.Count(1930), "1,930"},
		{"millions", humanize.Count(1234567), "1,234,567"},
		{"below nothing", humanize.Count(-123456), "-123,456"},
		{"below nothing, short", humanize.Count(-123), "-123"},
		{"one", humanize.Plural(1, "host"), "1 host"},
		{"none", humanize.Plural(0, "host"), "0 hosts"},
		{"many", humanize.Plural(1200, "host"), "1,200 hosts"},
		{"seconds", humanize.Clock(42 * time.Second), "00:42"},
		{"hours", humanize.Clock(3*time.Hour + 42*time.Second), "3:00:42"},
		{"before the start", humanize.Clock(-time.Second), "00:00"},
		{"bytes", humanize.Size(999), "999 B"},
		{"megabytes", humanize.Size(3_400_000), "3.4 MB"},
		{"beyond units", humanize.Size(5e15), "5000.0 TB"},
	} {
		if c.got != c.want {
			t.Errorf("%s: %q, want %q", c.name, c.got, c.want)
		}
	}
}

func TestSums(t *testing.T) {
	counts := store.Counts{Waiting: 4, Ended: map[store.Ending]int64{
		{Outcome: visit.Fetched}:                                 10,
		{Outcome: visit.Skipped, Reason: visit.Nofollow}:         2,
		{Outcome: visit.Skipped, Reason: visit.RobotsDisallow}:   7,
		{Outcome: visit.Failed, Reason: visit.Timeout}:           3,
		{Outcome: visit.Failed, Reason: visit.Reason("connect")}: 3,
		{Outcome: visit.Dead}:                                    0,
	}}
	got := humanize.Sums(counts)
	want := []humanize.Sum{
		{Outcome: visit.Fetched, N: 10},
		{Outcome: visit.Skipped, N: 9, Reasons: []humanize.ReasonSum{{Reason: visit.RobotsDisallow, N: 7}, {Reason: visit.Nofollow, N: 2}}},
		{Outcome: visit.Failed, N: 6, Reasons: []humanize.ReasonSum{{Reason: "connect", N: 3}, {Reason: visit.Timeout, N: 3}}},
		{Outcome: visit.Pending, N: 4},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var sum int64
	for _, s := range got {
		sum += s.N
	}
	if sum != counts.Seen() {
		t.Errorf("%d in all, want %d", sum, counts.Seen())
	}
}
