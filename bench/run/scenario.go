//go:build linux

package main

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// scenario is one lab and the crawlers run against it, in turn.
type scenario struct {
	name     string
	about    string
	lab      []string      // flags of `headway lab up`
	ideal    time.Duration // the shortest time of any polite crawler; 0 means: compare with bare
	pace     time.Duration // of each of hosts: compare with what this pace and the cores allow
	hosts    int
	crawlers []crawler
}

// limit is how long one crawl may take. A wide one of 400,000 pages takes some five minutes
// on two idle cores.
func (s *scenario) limit() time.Duration {
	if s.pace > 0 {
		return 20 * time.Minute
	}
	return 5 * time.Minute
}

// crawler is one program and its arguments.
type crawler struct {
	name string
	peer bool
	args func(place) []string
}

// place is where a crawler finds its input and writes its results.
type place struct {
	seeds  string // file
	spider string // file, for Scrapy
	port   int    // of the lab
	dir    string // of the crawl
}

// farm is a lab of equal hosts. All page settings are explicit, so that results stay
// comparable when the lab's defaults change.
func farm(hosts, pages, minKB, maxKB int, more ...string) []string {
	return append([]string{
		"--hosts", strconv.Itoa(hosts), "--pages", strconv.Itoa(pages), "--min-kb", strconv.Itoa(minKB), "--max-kb", strconv.Itoa(maxKB),
		"--links", "60", "--cross-links", "6", "--query-links", "0", "--private-links", "2", "--nofollow-links", "2",
		"--robots", "rules", "--gzip",
	}, more...)
}

// yardstick is a crawler that takes a file of seeds and its own flags.
func yardstick(name string, flags ...string) crawler {
	return crawler{name: name, args: func(p place) []string { return append([]string{"-seeds", p.seeds}, flags...) }}
}

// peer is a third-party crawler. Some take many times longer than all yardsticks
// together, so they run only when selected.
func peer(name string, flags ...string) crawler {
	c := yardstick(name, flags...)
	c.peer = true
	return c
}

// scrapy crawls with Debian's Scrapy.
func scrapy(concurrent int, settings ...string) crawler {
	return crawler{name: "scrapy", peer: true, args: func(p place) []string {
		args := []string{"runspider", p.spider, "-a", "seeds=" + p.seeds, "-O", "scrapy.jl", "-s", "CONCURRENT_REQUESTS=" + strconv.Itoa(concurrent)}
		for _, s := range settings {
			args = append(args, "-s", s)
		}
		return args
	}}
}

// wget crawls one host after the other with Debian's GNU Wget, which has one connection.
func wget() crawler {
	return crawler{name: "wget", peer: true, args: func(p place) []string {
		return []string{"--recursive", "--level=inf", "--no-verbose", "--compression=gzip", "--directory-prefix=wget", "--input-file=" + p.seeds}
	}}
}

// headway crawls the seeds into its own folder. Headway crawls of one scenario share
// only what was learned about hosts.
func headway(name string, flags ...string) crawler {
	return crawler{name: name, args: func(p place) []string {
		return append([]string{
			"crawl", "--seeds", p.seeds, "--dir", p.dir, "--allow-private", fmt.Sprintf("127.0.0.0/8:%d", p.port),
			"--contact", "bench@example.com",
		}, flags...)
	}}
}

var scenarios = []scenario{
	{
		name: "S1", about: "one host, 20,000 pages, 64 workers",
		lab: farm(1, 20_000, 10, 60),
		crawlers: []crawler{
			yardstick("bare", "-workers", "64"),
			yardstick("reference", "-workers", "64", "-per-host", "64"),
			headway("headway", "--preset", "owned", "--workers", "64", "--sitemaps", "off"),
			headway("headway formats", "--preset", "owned", "--workers", "64", "--sitemaps", "off", "--format", "jsonl,csv,sitemap,parquet,warc"),
			peer("colly", "-workers", "64"),
			scrapy(64, "CONCURRENT_REQUESTS_PER_DOMAIN=64"),
			wget(),
		},
	},
	{
		name: "S2", about: "1,000 hosts of 50 pages, 2 ms, 512 workers, at most 2 per host",
		lab: farm(1000, 50, 10, 60, "--latency", "const:2ms"),
		crawlers: []crawler{
			yardstick("bare", "-workers", "512", "-idle", "2"), // with more it runs out of descriptors
			yardstick("reference", "-workers", "512", "-per-host", "2"),
			headway("headway", "--preset", "owned", "--in-flight", "2", "--workers", "512", "--sitemaps", "off"),
		},
	},
	{
		name: "S3", about: "200 hosts of 20 pages, Crawl-delay 0.1 s",
		lab:   farm(200, 20, 4, 12, "--crawl-delay", "100ms", "--latency", "const:5ms"),
		ideal: 1900 * time.Millisecond,
		crawlers: []crawler{
			yardstick("reference", "-workers", "512", "-delay", "100ms"),
			headway("headway", "--preset", "owned", "--jitter", "0", "--workers", "512", "--sitemaps", "off"),
			peer("colly", "-workers", "512", "-delay", "100ms"),
			scrapy(512, "CONCURRENT_REQUESTS_PER_DOMAIN=1", "DOWNLOAD_DELAY=0.1", "RANDOMIZE_DOWNLOAD_DELAY=False"),
		},
	},
	{
		name: "S4", about: "20 hosts of 20 pages that refuse above 2 a second",
		lab:   farm(20, 20, 4, 12, "--rate-limit", "2", "--rate-burst", "2", "--latency", "const:5ms"),
		ideal: 9 * time.Second,
		crawlers: []crawler{
			yardstick("reference", "-workers", "512", "-delay", "100ms"),
			headway("headway", "--preset", "polite", "--delay", "100ms", "--jitter", "0", "--sitemaps", "off"),
			headway("headway again", "--preset", "polite", "--delay", "100ms", "--jitter", "0", "--sitemaps", "off"),
		},
	},
}

// wideScenarios crawl a few pages of each of many hosts, each host at its pace.
var wideScenarios = []scenario{
	wide("W1", 1_000, time.Second),
	wide("W10", 10_000, time.Second),
	wide("W30", 30_000, time.Second),
	wide("W100", 100_000, time.Second),
	wide("T1", 1_000, time.Second, "--tls"),
	wide("T10", 10_000, time.Second, "--tls"),
	wide("P30", 30_000, 30*time.Second),
	{
		name: "S6", about: "5,000 https hosts of 4 pages of 240 kB, one page of a host every second, JSONL with text",
		lab: farm(5_000, widePages, 240, 240, "--tls"), hosts: 5_000, pace: time.Second,
		crawlers: []crawler{headway("headway", append(widePace(time.Second), "--content", "text")...)},
	},
}

// widePages is how many pages each host of a wide scenario has.
const widePages = 4

// wide is a scenario of many hosts at one pace.
func wide(name string, hosts int, pace time.Duration, labFlags ...string) scenario {
	about := fmt.Sprintf("%d hosts of %d pages, one page of a host every %v", hosts, widePages, pace)
	if slices.Contains(labFlags, "--tls") {
		about += ", https"
	}
	return scenario{
		name: name, about: about, lab: farm(hosts, widePages, 4, 12, labFlags...), hosts: hosts, pace: pace,
		crawlers: []crawler{headway("headway", widePace(pace)...)},
	}
}

// widePace are the flags of a crawl at a fixed pace.
func widePace(pace time.Duration) []string {
	return []string{"--preset", "owned", "--delay", pace.String(), "--in-flight", "1", "--jitter", "0", "--sitemaps", "off"}
}
