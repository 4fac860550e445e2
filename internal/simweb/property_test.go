package simweb_test

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"headway/internal/race"
)

// serversEnv sets how many random webs are crawled, for long test runs.
const (
	serversEnv     = "HEADWAY_SIMWEB_SERVERS"
	defaultServers = 50
	shortServers   = 10 // each is crawled twice
)

// TestRandomServers crawls webs of random hosts by random jobs through restarts, crashes
// and outages of our own network. The servers must never see a request that violates pace,
// hold, interval or cap; every URL must end; all host time must be accounted for; and the
// same web must see the same requests when it is crawled again.
//
// A failure prints the seed and a script that can be kept as a scenario.
func TestRandomServers(t *testing.T) {
	n := defaultServers
	if race.Short() {
		n = shortServers
	}
	if v := os.Getenv(serversEnv); v != "" {
		var err error
		if n, err = strconv.Atoi(v); err != nil {
			t.Fatalf("%s: %v", serversEnv, err)
		}
	}
	if err := flag.Set("rapid.checks", strconv.Itoa(n)); err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		text := drawScript(rt)
		first, problems := replay(t, rt, text)
		if len(problems) > 0 {
			rt.Fatalf("%s\n%s", strings.Join(problems, "\n"), text)
		}
		if second, _ := replay(t, rt, text); second != first {
			rt.Fatalf("a second crawl went another way:\n%s\n%s", firstDifference(first, second), text)
		}
	})
}

// replay runs a script and records everything that the servers saw and politeness decided.
func replay(t *testing.T, rt *rapid.T, text string) (record string, problems []string) {
	s, err := parseScript(text, "")
	if err != nil {
		rt.Fatalf("%v\n%s", err, text)
	}
	synctest.Test(t, func(*testing.T) {
		var r *report
		if r, problems, err = s.run(); err != nil {
			return
		}
		var b strings.Builder
		for _, h := range r.hosts {
			for _, q := range r.log[h.name] {
				fmt.Fprintln(&b, q.Start.Sub(r.begin), q.Answer.Sub(r.begin), q.Host, q.Target, q.Status)
			}
		}
		for _, e := range r.events {
			fmt.Fprintln(&b, e.at.Sub(r.begin), e.host.name, e.effect)
		}
		record = b.String() + strings.Join(r.lines, "\n")
	})
	if err != nil {
		rt.Fatalf("%v\n%s", err, text)
	}
	return record, problems
}

func firstDifference(a, b string) string {
	as, bs := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(as), len(bs)) {
		if as[i] != bs[i] {
			return "- " + as[i] + "\n+ " + bs[i]
		}
	}
	return fmt.Sprintf("%d lines and %d lines", len(as), len(bs))
}

// Helpers to draw parts of a script: one chooses a word, num a number.
func one(t *rapid.T, what string, choices ...string) string {
	return rapid.SampledFrom(choices).Draw(t, what)
}

func num(t *rapid.T, what string, low, high int) int { return rapid.IntRange(low, high).Draw(t, what) }

// often is true in n of 4 cases.
func often(t *rapid.T, what string, n int) bool { return num(t, what, 1, 4) <= n }

// drawScript generates a web, jobs for it, and events.
func drawScript(t *rapid.T) string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d\n", num(t, "seed", 0, 1000))
	hosts := num(t, "hosts", 1, 4)
	for i := range hosts {
		drawHost(t, &b, i)
	}
	jobs := 1
	if often(t, "shared", 2) {
		jobs = num(t, "jobs", 2, 3)
	}
	for range jobs {
		drawJob(t, &b, jobs)
	}
	if often(t, "network", 1) {
		fmt.Fprintf(&b, "network %s from=%ds for=%ds\n", one(t, "how", "silent", "no-route"), num(t, "from", 0, 60), num(t, "for", 1, 120))
	}
	// A request that times out at the very instant of its response may end either way; no
	// response of these hosts takes a fraction of a millisecond.
	workers, timeout := num(t, "workers", 1, 16), fmt.Sprintf("%d.0001s", num(t, "timeout", 3, 40))
	ends := 0
	if jobs == 1 {
		ends = num(t, "ends", 0, 2) // jobs that share hosts run once
	}
	for range ends {
		fmt.Fprintf(&b, "run for=%dms workers=%d timeout=%s\n", num(t, "run", 1, 90_000), workers, timeout)
		fmt.Fprintf(&b, "%s pause=%dms\n", one(t, "end", "restart", "crash"), num(t, "pause", 0, 10_000))
	}
	fmt.Fprintf(&b, "run workers=%d timeout=%s\n", workers, timeout)
	return b.String()
}

func drawHost(t *rapid.T, b *strings.Builder, i int) {
	name := fmt.Sprintf("h%d.example", i)
	if often(t, "shares a domain", 1) {
		name = fmt.Sprintf("h%d.alder.example", i)
	}
	fmt.Fprintf(b, "host %s pages=%d", name, num(t, "pages", 1, 30))
	fmt.Fprintf(b, " latency=%s", one(t, "latency", "none", "const:100ms", "const:2s", "uniform:10ms-900ms", "lognormal:300ms,0.8", "lognormal:2s,1"))
	if often(t, "slope", 1) {
		fmt.Fprintf(b, " slope=%dms", num(t, "slope", 1, 2000))
	}
	if often(t, "queue", 1) {
		fmt.Fprintf(b, " queue=%dms longest=%ds", num(t, "service", 1, 3000), num(t, "longest", 1, 20))
	}
	if often(t, "crawl-delay", 1) {
		fmt.Fprintf(b, " crawl-delay=%dms", num(t, "delay", 1, 12_000))
	}
	if often(t, "errors", 1) {
		fmt.Fprintf(b, " errors=%d", num(t, "share", 1, 30))
	}
	b.WriteString("\n")
	retry := func() string { return one(t, "retry-after", "seconds", "none", "imf", "rfc850", "asctime") }
	for range num(t, "limits", 0, 2) {
		n, span := num(t, "n", 1, 10), num(t, "span", 100, 30_000)
		if often(t, "window", 2) {
			fmt.Fprintf(b, "  window %d/%dms", n, span)
		} else {
			fmt.Fprintf(b, "  limit %d/%dms burst=%d", n, span, num(t, "burst", 1, 20))
		}
		fmt.Fprintf(b, " status=%s retry-after=%s from=%ds\n", one(t, "status", "429", "503"), retry(), num(t, "from", 0, 60))
	}
	if often(t, "outage", 2) {
		fmt.Fprintf(b, "  outage from=%ds after-requests=%d status=%s retry-after=%s robots=%s", num(t, "from", 0, 60), num(t, "after", 0, 10),
			one(t, "status", "429", "503", "500", "502", "403"), retry(), one(t, "robots", "yes", "no"))
		switch num(t, "kind", 0, 2) {
		case 0:
			fmt.Fprintf(b, " for=%ds", num(t, "for", 1, 300))
		case 1:
			span := num(t, "for", 1, 60)
			fmt.Fprintf(b, " for=%ds every=%ds", span, span+num(t, "rest", 1, 60))
		}
		if often(t, "wait", 1) {
			fmt.Fprintf(b, " wait=%ds", num(t, "wait", 1, 1000))
		}
		b.WriteString("\n")
	}
	if often(t, "overload", 1) {
		fmt.Fprintf(b, "  overload rate=%d/%dms reset=%s\n", num(t, "rate", 1, 5), num(t, "within", 100, 8000), one(t, "reset", "yes", "no"))
	}
}

func drawJob(t *rapid.T, b *strings.Builder, jobs int) {
	patience := 600
	if jobs > 1 {
		patience = 60 // virtual hours are expensive: a worker supervises each of its jobs every second
	}
	fmt.Fprintf(b, "crawl all preset=%s jitter=%d in-flight=%d patience=%dm start=%dms", one(t, "preset", "polite", "audit", "warm", "map", "owned"),
		num(t, "jitter", 0, 10), num(t, "in-flight", 1, 12), num(t, "patience", 1, patience), num(t, "start", 0, 30_000))
	if often(t, "base", 2) {
		fmt.Fprintf(b, " base=%dms", num(t, "base", 0, 5000))
	}
	if jobs > 1 && often(t, "jobs", 1) {
		fmt.Fprintf(b, " jobs=%d pages=5", num(t, "copies", 2, 5))
	}
	b.WriteString("\n")
}
