// Command contentbench compares package content with go-readability on the public
// article extraction benchmark of Zyte: F1 of the extracted text, and CPU time.
//
// The benchmark is a folder given by -dir, a clone of
// github.com/scrapinghub/article-extraction-benchmark. The pages are split in two halves
// by their ids. Constants of package content are chosen on one half (-half tuning); the
// figures that count are those of the other (-half held-out, the default).
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"time"
)

func main() {
	dir := flag.String("dir", "", "folder of the benchmark")
	half := flag.String("half", "held-out", "held-out or tuning")
	rounds := flag.Int("rounds", 5, "rounds of which the median CPU time counts")
	each := flag.Bool("each", false, "print the score of each page of the tuning half")
	flag.Parse()
	if err := run(*dir, *half == "held-out", *rounds, *each); err != nil {
		fmt.Fprintln(os.Stderr, "contentbench:", err)
		os.Exit(1)
	}
}

func run(dir string, heldOut bool, rounds int, each bool) error {
	pages, err := load(dir, heldOut)
	if err != nil {
		return err
	}
	size := 0
	for i := range pages {
		size += len(pages[i].html)
	}
	out := os.Stdout
	fmt.Fprintf(out, "%d pages, %d bytes on average\n", len(pages), size/max(1, len(pages)))
	fmt.Fprintf(out, "%-16s %6s %9s %6s %12s\n", "", "F1", "precision", "recall", "CPU per page")
	var cpu []time.Duration
	for _, e := range extractors {
		var scores []score
		var times []time.Duration
		for round := range rounds {
			start := cpuTime()
			texts := make([]string, len(pages))
			for i := range pages {
				texts[i] = e.extract(pages[i].html)
			}
			times = append(times, cpuTime()-start)
			if round > 0 {
				continue
			}
			for i := range pages {
				s := compare(pages[i].text, texts[i])
				scores = append(scores, s)
				if each && !heldOut {
					fmt.Fprintf(out, "%s %s precision %.3f recall %.3f\n", e.name, pages[i].id, s.precision(), s.recall())
				}
			}
		}
		slices.Sort(times)
		median := times[len(times)/2] / time.Duration(max(1, len(pages)))
		cpu = append(cpu, median)
		m := summarise(scores)
		fmt.Fprintf(out, "%-16s %6.3f %9.3f %6.3f %12s\n", e.name, m.f1, m.precision, m.recall, median.Round(time.Microsecond))
	}
	if len(cpu) == 2 {
		fmt.Fprintf(out, "CPU: 1/%.1f of %s\n", float64(cpu[1])/float64(cpu[0]), extractors[1].name)
	}
	return nil
}
