package view

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// count writes a number for people: 1,930.
func count(n int64) string {
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

// plural counts things: 1 host, 2 hosts.
func plural(n int64, what string) string {
	if n != 1 {
		what += "s"
	}
	return count(n) + " " + what
}

// clock is a span in minutes and seconds, or hours too: 00:42, 3:00:42.
func clock(d time.Duration) string {
	s := int(max(d, 0).Seconds())
	if s < 3600 {
		return fmt.Sprintf("%02d:%02d", s/60, s%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}

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

// rate is how many pages there are in a time that a person can picture.
func rate(perSecond float64) string {
	switch {
	case perSecond >= 10:
		return fmt.Sprintf("%s pages/s", count(int64(perSecond+0.5)))
	case perSecond >= 0.1 || perSecond == 0:
		return fmt.Sprintf("%.1f pages/s", perSecond)
	default:
		return fmt.Sprintf("%.1f pages/min", perSecond*60)
	}
}

// size is a number of bytes: 3.4 MB.
func size(bytes int64) string {
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

// whole turns parts into whole numbers that add up to total, each at most one
// away from its exact share: the largest remainders are rounded up. Parts that
// are all zero stay so.
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
