// Package humanize formats the numbers of a crawl for people.
//
// The live view, the final summary and the report show the same counts, durations and
// sums; each is formatted here, so that they never differ. The package formats and adds
// up, and knows nothing of terminals or pages.
package humanize

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"headway/store"
	"headway/visit"
)

// Count formats a number: 1,930.
func Count(n int64) string {
	digits := strconv.FormatInt(n, 10)
	first := 0
	if n < 0 {
		first = 1
	}
	for i := len(digits) - 3; i > first; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// Plural formats a count of things: 1 host, 2 hosts.
func Plural(n int64, what string) string {
	if n != 1 {
		what += "s"
	}
	return Count(n) + " " + what
}

// Clock formats a duration in minutes and seconds, with hours if needed: 00:42, 3:00:42.
func Clock(d time.Duration) string {
	s := int(max(d, 0).Seconds())
	if s < 3600 {
		return fmt.Sprintf("%02d:%02d", s/60, s%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}

// Size formats a number of bytes: 3.4 MB.
func Size(bytes int64) string {
	units := []string{"B", "kB", "MB", "GB", "TB"}
	v, u := float64(bytes), 0
	for v >= 1000 && u < len(units)-1 {
		v, u = v/1000, u+1
	}
	if u == 0 {
		return fmt.Sprintf("%d B", bytes)
	}
	return fmt.Sprintf("%.1f %s", v, units[u])
}

// Sum is the number of URLs with an outcome, by reason.
type Sum struct {
	Outcome visit.Outcome
	N       int64
	Reasons []ReasonSum // the most frequent first; none for outcomes without reasons
}

// ReasonSum is the number of URLs of an outcome with one reason.
type ReasonSum struct {
	Reason visit.Reason
	N      int64
}

// Sums adds up how URLs ended, with waiting ones as pending, in the order of
// [visit.Outcomes]. Zero counts are omitted; the rest adds up to [store.Counts.Seen].
func Sums(c store.Counts) []Sum {
	all := map[visit.Outcome]int64{visit.Pending: c.Waiting}
	reasons := map[visit.Outcome]map[visit.Reason]int64{}
	for e, n := range c.Ended {
		all[e.Outcome] += n
		if e.Reason == "" || n <= 0 {
			continue
		}
		if reasons[e.Outcome] == nil {
			reasons[e.Outcome] = map[visit.Reason]int64{}
		}
		reasons[e.Outcome][e.Reason] += n
	}
	var list []Sum
	for _, o := range visit.Outcomes {
		if all[o] <= 0 {
			continue
		}
		sum := Sum{Outcome: o, N: all[o]}
		names := slices.SortedFunc(maps.Keys(reasons[o]), func(a, b visit.Reason) int {
			return cmp.Or(cmp.Compare(reasons[o][b], reasons[o][a]), cmp.Compare(a, b))
		})
		for _, r := range names {
			sum.Reasons = append(sum.Reasons, ReasonSum{r, reasons[o][r]})
		}
		list = append(list, sum)
	}
	return list
}
