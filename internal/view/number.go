package view

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"headway/internal/humanize"
)

// seconds is an interval of a host: 0.52 s, 2 s, 45 s.
func seconds(d time.Duration) string {
	s := d.Seconds()
	switch {
	case s < 10:
		return strconv.FormatFloat(s, 'f', 2, 64) + " s"
	case s < 100:
		return strconv.FormatFloat(s, 'f', 1, 64) + " s"
	default:
		return strconv.FormatFloat(s, 'f', 0, 64) + " s"
	}
}

// rate formats a rate in pages per second, or per minute if it is low.
func rate(perSecond float64) string {
	switch {
	case perSecond >= 10:
		return fmt.Sprintf("%s pages/s", humanize.Count(int64(perSecond+0.5)))
	case perSecond >= 0.1 || perSecond == 0:
		return fmt.Sprintf("%.1f pages/s", perSecond)
	default:
		return fmt.Sprintf("%.1f pages/min", perSecond*60)
	}
}

// whole rounds parts to whole numbers that add up to total, each at most one away from
// its exact share: the largest remainders are rounded up. If all parts are zero, so
// are the numbers.
func whole(parts []float64, total int) []int {
	var sum float64
	for _, p := range parts {
		sum += p
	}
	list := make([]int, len(parts))
	if sum <= 0 {
		return list
	}
	rest := make([]float64, len(parts))
	left := total
	for i, p := range parts {
		exact := p / sum * float64(total)
		list[i] = int(exact)
		rest[i] = exact - float64(list[i])
		left -= list[i]
	}
	order := make([]int, len(parts))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rest[b], rest[a]) })
	for i := 0; left > 0; i, left = i+1, left-1 {
		list[order[i%len(order)]]++
	}
	return list
}
