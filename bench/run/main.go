//go:build linux

// Command run compares Headway with its yardsticks: the same lab and machine, in turn,
// with medians, and what the web servers counted.
//
// A rate says more about the machine than about a crawler; a ratio to a yardstick that
// ran just before and after does not. bare is a minimal Go crawler and the denominator of
// S1 and S2; in S3 and S4 the denominator is the ideal schedule, which does not depend on
// the machine. reference is a minimal polite scheduler, colly a peer.
//
//	go run ./bench/run -scenarios S1,S3 -rounds 3
//
// Everything it starts runs on loopback and ends with it.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

func main() {
	// Children die with the thread that started them, so that thread has to live
	// as long as we do.
	runtime.LockOSThread()
	var b bench
	flag.StringVar(&b.headway, "headway", "bin/headway", "the `binary` that crawls and serves the lab")
	flag.StringVar(&b.before, "before", "", "another `binary` of headway, to run beside it in turns")
	flag.IntVar(&b.rounds, "rounds", 3, "how often each crawler runs; medians are printed")
	only := flag.String("scenarios", "", "run only these, such as S1,S3")
	crawlers := flag.String("crawlers", "", "run only these, such as bare,headway")
	flag.BoolVar(&b.wide, "wide", false, "run the scenarios of many hosts instead")
	flag.BoolVar(&b.peers, "peers", false, "also run crawlers that others wrote, once each, which takes many minutes")
	write := flag.String("write", "", "also write the results to this `file`, in place of the last ones")
	flag.BoolVar(&b.verbose, "v", false, "show what the crawlers print")
	flag.Parse()
	b.err = os.Stderr
	b.scenarios, b.crawlers = split(*only), split(*crawlers)
	if *write != "" && (*only != "" || *crawlers != "") {
		fmt.Fprintln(os.Stderr, "bench: -write replaces all results: run all scenarios and crawlers")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	var results bytes.Buffer
	b.out = io.MultiWriter(os.Stdout, &results)
	err := b.run(ctx)
	stop()
	if err == nil && *write != "" {
		err = b.write(*write, results.Bytes())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func split(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' })
}

// bench is one run of all scenarios.
type bench struct {
	headway   string
	before    string // "" for none
	rounds    int
	scenarios []string
	crawlers  []string
	wide      bool
	peers     bool
	verbose   bool
	out, err  io.Writer

	temp string // folder for binaries, crawls and seeds
}

func (b *bench) run(ctx context.Context) (err error) {
	if b.headway, err = filepath.Abs(b.headway); err != nil {
		return err
	}
	if b.before != "" {
		if b.before, err = filepath.Abs(b.before); err != nil {
			return err
		}
	}
	if b.rounds < 1 {
		return errors.New("-rounds must be at least 1")
	}
	if b.temp, err = os.MkdirTemp("", "headway-bench"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.temp)) }()
	if err := b.build(ctx); err != nil {
		return err
	}
	list, err := b.selected()
	if err != nil {
		return err
	}
	for _, s := range list {
		if err := b.measure(ctx, b.withBefore(&s)); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

// selected are the scenarios to run: those that were named, or all of one kind.
func (b *bench) selected() ([]scenario, error) {
	if b.wide && len(b.scenarios) == 0 {
		return wideScenarios, nil
	}
	if len(b.scenarios) == 0 {
		return scenarios, nil
	}
	var list []scenario
	for _, name := range b.scenarios {
		all := slices.Concat(scenarios, wideScenarios)
		i := slices.IndexFunc(all, func(s scenario) bool { return s.name == name })
		if i < 0 {
			return nil, fmt.Errorf("no scenario is named %q", name)
		}
		list = append(list, all[i])
	}
	return list, nil
}

// build builds the yardsticks and peers from their own modules.
func (b *bench) build(ctx context.Context) error {
	for name, module := range map[string]string{"bare": "bare", "reference": "reference", "colly": "peers"} {
		pkg := "."
		if module == "peers" {
			pkg = "./" + name
		}
		cmd := exec.CommandContext(ctx, "go", "build", "-o", b.binary(name), pkg)
		cmd.Dir = filepath.Join("bench", module)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w\n%s", name, err, out)
		}
	}
	return nil
}

// binary returns the path of a crawler's program.
func (b *bench) binary(crawler string) string {
	switch {
	case strings.HasPrefix(crawler, before):
		return b.before
	case strings.HasPrefix(crawler, "headway"):
		return b.headway
	case crawler == "scrapy" || crawler == "wget":
		return crawler // installed
	}
	return filepath.Join(b.temp, crawler)
}

// before is the name prefix of crawlers run with the other binary.
const before = "before: "

// withBefore returns the scenario with each Headway crawl also run with the other binary, if
// there is one.
func (b *bench) withBefore(s *scenario) *scenario {
	if b.before == "" {
		return s
	}
	both := *s
	both.crawlers = nil
	for _, c := range s.crawlers {
		both.crawlers = append(both.crawlers, c)
		if strings.HasPrefix(c.name, "headway") {
			c.name = before + c.name
			both.crawlers = append(both.crawlers, c)
		}
	}
	return &both
}

// wants reports whether a crawler was selected.
func (b *bench) wants(c crawler) bool {
	if len(b.crawlers) > 0 {
		return slices.Contains(b.crawlers, strings.TrimPrefix(c.name, before))
	}
	return b.peers || !c.peer
}

// measure runs the crawlers of a scenario in turn and prints the table.
func (b *bench) measure(ctx context.Context, s *scenario) (err error) {
	lab, err := startLab(ctx, b.headway, filepath.Join(b.temp, "ca.pem"), s.lab, b.err)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lab.stop()) }()
	seeds := filepath.Join(b.temp, s.name+".seeds")
	if err := lab.writeSeeds(ctx, seeds); err != nil {
		return err
	}
	spider, err := filepath.Abs("bench/peers/scrapy/spider.py")
	if err != nil {
		return err
	}
	results := map[string][]result{}
	for round := range b.rounds {
		state := filepath.Join(b.temp, fmt.Sprintf("%s-%d", s.name, round))
		for _, c := range s.crawlers {
			if !b.wants(c) || c.peer && round > 0 {
				continue
			}
			args := c.args(place{seeds: seeds, spider: spider, port: lab.port, dir: filepath.Join(state, strings.NewReplacer(" ", "-", ":", "").Replace(c.name))})
			learned := state
			if strings.HasPrefix(c.name, before) {
				learned += "-before" // each binary has its own
			}
			r, err := b.crawl(ctx, lab, c, learned, s.limit(), args)
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			fmt.Fprintf(b.err, "%s round %d %-14s %6.2f s, %d pages %s\n", s.name, round+1, c.name, r.wall.Seconds(), r.stats.Total.UniquePages, r.fault)
			results[c.name] = append(results[c.name], r)
		}
	}
	return printTable(b.out, s, results)
}
