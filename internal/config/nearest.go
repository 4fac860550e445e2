package config

import (
	"slices"
	"strings"
)

// didYouMean suggests the nearest of the known names.
func didYouMean(name string, known []string) string {
	return "did you mean " + nearest(name, known) + "? headway config lists every setting"
}

// nearest returns the known name with the smallest edit distance. A name with a wrong
// or missing section counts as one edit.
func nearest(name string, known []string) string {
	known = slices.Sorted(slices.Values(known)) // the first by name wins a tie
	best, least := "", 0
	for _, k := range known {
		d := distance(strings.ToLower(name), strings.ToLower(k))
		if _, last, ok := strings.Cut(k, "."); ok && last == name {
			d = min(d, 1)
		}
		if best == "" || d < least {
			best, least = k, d
		}
	}
	return best
}

// Near returns the known name that was probably meant: one that begins or ends with
// what was typed, else one with a small edit distance. It is empty if none is near.
func Near(name string, known []string) string {
	best := nearest(name, known)
	if best == "" || name == "" {
		return ""
	}
	if distance(strings.ToLower(name), strings.ToLower(best)) <= max(1, min(len(name)/3, 3)) {
		return best
	}
	i := slices.IndexFunc(known, func(k string) bool { return strings.HasPrefix(k, name) || strings.HasSuffix(k, "-"+name) })
	if i < 0 {
		return ""
	}
	return known[i]
}

// distance is the edit distance between a and b: letters added, dropped, changed or
// swapped with their neighbour.
func distance(a, b string) int {
	const longest = 100 // longer input is not compared
	a, b = a[:min(len(a), longest)], b[:min(len(b), longest)]
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
