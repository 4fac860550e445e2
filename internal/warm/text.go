package warm

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"headway/visit"
)

// shownBars is how many headers that prevent caching are printed.
const shownBars = 5

// Print writes the results of two passes for people. after is nil if there was only
// one.
func Print(w io.Writer, before, after *Reading) error {
	var b strings.Builder
	b.WriteString(table(before, after))
	b.WriteString(secondPass(before, after))
	b.WriteString(neverCached(before))
	if n := before.Row(Unknown).Pages; n > 0 {
		fmt.Fprintf(&b, "no cache information for %s\n", pages(n))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// table is the pages by verdict, before and after.
func table(before, after *Reading) string {
	if before.Pages == 0 {
		return "no page was fetched\n"
	}
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	line := func(cells ...string) { fmt.Fprintln(t, strings.Join(cells, "\t")+"\t") }
	head, second := []string{"cache", "pages", "share", "median", "p95"}, []string{"after", "share", "median", "p95"}
	if after != nil {
		head = append(head, second...)
	}
	line(head...)
	for _, v := range append(slices.Clone(visit.CacheVerdicts), Unknown) {
		cells := before.Row(v).cells()
		if after == nil {
			if before.Row(v).Pages > 0 {
				line(append([]string{string(v)}, cells...)...)
			}
			continue
		}
		if before.Row(v).Pages+after.Row(v).Pages > 0 {
			line(append(append([]string{string(v)}, cells...), after.Row(v).cells()...)...)
		}
	}
	sum := append([]string{"all"}, Row{Share: 1, Latency: before.Latency}.cells()...)
	if after != nil {
		sum = append(sum, Row{Share: 1, Latency: after.Latency}.cells()...)
	}
	line(sum...)
	_ = t.Flush() // into memory
	return b.String()
}

// cells are the cells of a printed row.
func (r Row) cells() []string {
	if r.Pages == 0 {
		return []string{"0", "", "", ""}
	}
	return []string{fmt.Sprint(r.Pages), fmt.Sprintf("%.0f %%", 100*r.Share), millis(r.Median), millis(r.P95)}
}

// secondPass describes what the second pass changed.
func secondPass(before, after *Reading) string {
	if after == nil || after.Again.Pages == 0 {
		return ""
	}
	return fmt.Sprintf("requested twice: %s; median %s, then %s; p95 %s, then %s\n",
		pages(after.Again.Pages), millis(before.Cold.Median), millis(after.Again.Median), millis(before.Cold.P95), millis(after.Again.P95))
}

// neverCached lists the headers that prevent caching.
func neverCached(before *Reading) string {
	var n int64
	for _, bar := range before.Barred {
		n += bar.Pages
	}
	if n == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "requested once, because shared caches may not store them: %s\n", pages(n))
	for _, bar := range before.Barred[:min(len(before.Barred), shownBars)] {
		fmt.Fprintf(&b, "  %6d  %s, for example %s\n", bar.Pages, clean(bar.Header), clean(bar.Example))
	}
	if more := len(before.Barred) - shownBars; more > 0 {
		fmt.Fprintf(&b, "          and %d more headers (--json lists them)\n", more)
	}
	return b.String()
}

// millis formats a time.
func millis(ms int64) string {
	if ms == 0 {
		return "<1 ms"
	}
	return fmt.Sprintf("%d ms", ms)
}

func pages(n int64) string {
	if n == 1 {
		return "1 page"
	}
	return fmt.Sprintf("%d pages", n)
}

// clean removes control characters from a text of a server.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, s)
}
