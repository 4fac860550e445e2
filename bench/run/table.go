//go:build linux

package main

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
)

// printTable prints the medians of a scenario as Markdown.
func printTable(w io.Writer, s *scenario, results map[string][]result) error {
	fmt.Fprintf(w, "\n### %s: %s\n\n", s.name, s.about)
	fmt.Fprintf(w, "Lab: `%s`", flags(s.lab))
	if s.ideal > 0 {
		fmt.Fprintf(w, "; ideal %v", s.ideal)
	}
	fmt.Fprintf(w, "\n\n| crawler | %s | pages/s | wall s (all) | CPU s per 1,000 (all) | peak MB | files | pages missing | again | 429 | at once per host | gap p01 ms | rude |\n", ratioName(s))
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|---|---|---|---|---|")
	var bare float64
	for _, c := range s.crawlers {
		list := results[c.name]
		if len(list) == 0 {
			continue
		}
		rate := median(list, pagesPerSecond)
		ratio := "-"
		switch {
		case s.pace > 0:
			ratio = fmt.Sprintf("%.2f", median(list, func(r result) float64 { return ofBound(s, r, runtime.NumCPU()) }))
		case s.ideal > 0:
			ratio = fmt.Sprintf("%.2f", s.ideal.Seconds()/median(list, wall))
		case c.name == "bare":
			bare = rate
			ratio = "1"
		case bare > 0:
			ratio = fmt.Sprintf("%.2f", rate/bare)
		}
		_, err := fmt.Fprintf(w, "| %s | %s | %.0f | %.2f (%s) | %.2f (%s) | %.0f | %.0f | %.0f | %.0f | %.0f | %.0f | %.1f | %.0f |\n",
			c.name, ratio, rate, median(list, wall), all(list, wall),
			median(list, cpuPerPage), all(list, cpuPerPage),
			median(list, func(r result) float64 { return float64(r.rss) / (1 << 20) }),
			median(list, func(r result) float64 { return float64(r.files) }),
			median(list, func(r result) float64 { return float64(r.stats.Pages) - pages(r) }),
			median(list, func(r result) float64 { return float64(r.stats.Total.PageAnswers) - pages(r) }),
			median(list, func(r result) float64 { return float64(r.stats.Total.TooMany) }),
			median(list, func(r result) float64 { return float64(r.stats.Total.MaxConcurrent) }),
			median(list, func(r result) float64 { return r.stats.GapP01MS }),
			median(list, rudeness))
		if err != nil {
			return err
		}
	}
	return printFaults(w, s, results)
}

// printFaults lists the runs that failed: their numbers mean little.
func printFaults(w io.Writer, s *scenario, results map[string][]result) error {
	for _, c := range s.crawlers {
		for i, r := range results[c.name] {
			if r.fault == "" {
				continue
			}
			if _, err := fmt.Fprintf(w, "\n%s, round %d: %s\n", c.name, i+1, r.fault); err != nil {
				return err
			}
		}
	}
	return nil
}

// ratioName names the denominator of a scenario's ratio.
func ratioName(s *scenario) string {
	switch {
	case s.pace > 0:
		return "of pace or cores"
	case s.ideal > 0:
		return "of ideal"
	}
	return "of bare"
}

func flags(list []string) string {
	s := ""
	for _, f := range list {
		s += " " + f
	}
	return "headway lab up" + s
}

func pages(r result) float64 { return float64(r.stats.Total.UniquePages) }

func wall(r result) float64 { return r.wall.Seconds() }

func pagesPerSecond(r result) float64 { return pages(r) / r.wall.Seconds() }

// rudeness counts what a polite crawler would not have done.
func rudeness(r result) float64 {
	t := r.stats.Total
	return float64(t.RobotsViolations + t.BeforeRobots + t.Robots5xxIgnored + t.NofollowHits + t.InsideRetryAfter)
}

// ofBound is the rate of a wide crawl, from its first request to the last response, as a share of
// what is possible: one page of each host in every interval, or what the cores of this machine
// can fetch and serve at the cost of a page in this crawl.
func ofBound(s *scenario, r result, cores int) float64 {
	most := float64(s.hosts) / s.pace.Seconds()
	if each := (r.cpu.Seconds() + r.labCPU) / max(1, pages(r)); each > 0 {
		most = min(most, float64(cores)/each)
	}
	return pages(r) / max(r.stats.SpanSeconds, 1e-3) / most
}

// cpuPerPage returns CPU seconds per 1,000 pages.
func cpuPerPage(r result) float64 { return 1000 * r.cpu.Seconds() / max(1, pages(r)) }

// all lists the values of all results, to show the spread.
func all(list []result, of func(result) float64) string {
	values := make([]string, len(list))
	for i, r := range list {
		values[i] = fmt.Sprintf("%.2f", of(r))
	}
	return strings.Join(values, ", ")
}

// median returns the median of the values.
func median(list []result, of func(result) float64) float64 {
	values := make([]float64, len(list))
	for i, r := range list {
		values[i] = of(r)
	}
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}
