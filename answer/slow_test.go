package answer

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"headway/ask"
	"headway/job"
	"headway/store"
	"headway/visit"
)

const slowSecond = ask.Seconds(time.Second)

// TestSlowRules checks that each state has a rule, and that more workers help in only
// one of them.
func TestSlowRules(t *testing.T) {
	states := []string{Fetching, OtherJobs}
	for _, w := range visit.Waits {
		states = append(states, string(w))
	}
	if len(slowRules) != len(states) {
		t.Errorf("%d rules, %d states", len(slowRules), len(states))
	}
	for _, s := range states {
		slow := ExplainSlow(SlowFacts{Spent: []ask.Share{{State: s, Spent: 8 * slowSecond}, {State: "other", Spent: 2 * slowSecond}}})
		v := slow.SoFar
		if v.State != s || v.Part != 0.8 || v.Meaning == "" || v.Change == "" {
			t.Errorf("%s: %+v", s, v)
		}
		if slow.MoreWorkers != (s == string(visit.WaitWorkers)) {
			t.Errorf("%s: more workers would help: %v", s, slow.MoreWorkers)
		}
		if !strings.Contains(slow.Sentence, "80 % of host time") || !strings.Contains(slow.Sentence, "("+s+")") {
			t.Errorf("%s: %q", s, slow.Sentence)
		}
	}
}

func slowHost(name, source string, pace ask.Seconds, waiting int64) Host {
	return Host{Host: ask.Host{Host: name, Source: source, Pace: pace}, Waiting: waiting}
}

func TestExplainSlow(t *testing.T) {
	share := func(w visit.Wait, hosts int, spent ask.Seconds) ask.Share {
		return ask.Share{State: string(w), Hosts: hosts, Spent: spent}
	}
	for name, tc := range map[string]struct {
		facts    SlowFacts
		sentence []string // substrings
		change   string   // substring
		setting  string
		workers  bool
	}{
		"a base that could be shorter": {
			facts: SlowFacts{
				Spent: []ask.Share{share(visit.WaitPace, 0, 9*slowSecond), {State: Fetching, Spent: slowSecond}},
				Hosts: []Host{slowHost("https://a.example", "base", slowSecond, 0), slowHost("https://b.example", "learned", 2*slowSecond, 0), slowHost("https://c.example", "base", slowSecond, 0)},
			},
			sentence: []string{"90 % of host time: the interval", "More workers will not help."}, change: "--delay", setting: "pace.delay",
		},
		"a pace that hosts have taught": {
			facts: SlowFacts{
				Spent: []ask.Share{share(visit.WaitPace, 3, 9*slowSecond)}, Lately: []ask.Share{share(visit.WaitPace, 3, 3*slowSecond)}, Running: true, Waiting: 9,
				Hosts: []Host{slowHost("https://a.example", "learned", slowSecond, 4), slowHost("https://b.example", "learned", 2*slowSecond, 5)}, Forbidden: map[string]Forbidden{"https://b.example": {All: true}},
			},
			sentence: []string{"3 hosts are at their own limit.", "The last host to finish will be https://b.example, with 5 URLs at 2 s: at least 10 s more."}, change: "nothing: the hosts' own limit",
		},
		"a pace set by an operator": {
			facts: SlowFacts{
				Spent: []ask.Share{share(visit.WaitPace, 1, 9*slowSecond)}, Hosts: []Host{slowHost("https://a.example", "operator", 60*slowSecond, 0)},
			},
			change: "headway host slow HOST 0",
		},
		"a host that an operator paused": {
			facts: SlowFacts{
				Spent: []ask.Share{share(visit.WaitHold, 1, 9*slowSecond)}, Hosts: []Host{{Host: ask.Host{Host: "https://a.example", Paused: true}}},
			},
			change: "headway host resume https://a.example",
		},
		"one host left": {
			facts: SlowFacts{
				Spent: []ask.Share{share(visit.WaitPace, 1, 900*slowSecond)}, Lately: []ask.Share{share(visit.WaitPace, 1, slowSecond)}, Running: true, Waiting: 2311,
				Hosts: []Host{slowHost("https://a.example", "base", slowSecond, 2311)}, Forbidden: map[string]Forbidden{"https://a.example": {All: true}},
			},
			sentence: []string{"One host is left, with 2,311 URLs at 1 s: at least 39 min more."}, setting: "pace.delay", change: "--delay",
		},
		"one host left, a part of it forbidden": {
			facts: SlowFacts{
				Spent: []ask.Share{share(visit.WaitPace, 1, 900*slowSecond)}, Lately: []ask.Share{share(visit.WaitPace, 1, slowSecond)}, Running: true, Waiting: 2311,
				Hosts: []Host{slowHost("https://a.example", "base", slowSecond, 2311)}, Forbidden: map[string]Forbidden{"https://a.example": {URLs: 1111, All: true}},
			},
			sentence: []string{"One host is left, with 1,200 URLs at 1 s: at least 20 min more. 1,111 URLs more waiting there take no time, because robots.txt disallows them."}, setting: "pace.delay", change: "--delay",
		},
		"one host left, its robots.txt not known": {
			facts: SlowFacts{
				Spent: []ask.Share{share(visit.WaitPace, 1, 900*slowSecond)}, Lately: []ask.Share{share(visit.WaitPace, 1, slowSecond)}, Running: true, Waiting: 2311,
				Hosts: []Host{slowHost("https://a.example", "base", slowSecond, 2311)},
			},
			sentence: []string{"One host is left, with 2,311 URLs at 1 s: about 39 min more."}, setting: "pace.delay", change: "--delay",
		},
		"fast so far, stuck now": {
			facts: SlowFacts{
				Spent: []ask.Share{share(visit.WaitPace, 0, 900*slowSecond), share(visit.WaitStorage, 5, 50*slowSecond)}, Lately: []ask.Share{share(visit.WaitStorage, 5, 5*slowSecond)}, Running: true,
				Layers: []ask.Layer{{Setting: "store.min_free", Limit: 1 << 30, Use: 100 << 20}},
			},
			sentence: []string{"95 % of host time: the interval", "Right now: the next commit, the outputs, or free disk space (storage, 100 %)."}, change: "100 MB free, 1024 MB required", setting: "store.min_free",
		},
		"no CPU left": {
			facts:    SlowFacts{Spent: []ask.Share{share(visit.WaitCPU, 5, 9*slowSecond), share(visit.WaitWorkers, 5, slowSecond)}, Workers: 4},
			sentence: []string{"90 % of host time: computing, or waiting for a CPU (cpu).", "More workers will not help."}, change: "CPU cores",
		},
		"a slow disk": {
			facts:    SlowFacts{Spent: []ask.Share{share(visit.WaitDisk, 5, 9*slowSecond)}},
			sentence: []string{"writing to the disk (disk)", "More workers will not help."}, change: "a faster disk", setting: "dir",
		},
		"a slow database": {
			facts:    SlowFacts{Spent: []ask.Share{share(visit.WaitDatabase, 5, 9*slowSecond)}, Fleet: true},
			sentence: []string{"the database (database)", "More workers will not help."}, change: "a faster database",
		},
		"pages are collected": {
			facts:    SlowFacts{Spent: []ask.Share{share(visit.WaitStorage, 5, 9*slowSecond)}, Fleet: true},
			sentence: []string{"the next commit"}, change: "commit_gap", setting: "store.commit_gap",
		},
		"no workers left": {
			facts:    SlowFacts{Spent: []ask.Share{share(visit.WaitWorkers, 5, 9*slowSecond)}, Workers: 4},
			sentence: []string{"More workers would help."}, change: "than 4", setting: "workers", workers: true,
		},
		"the nearest limit": {
			facts: SlowFacts{
				Spent:  []ask.Share{share(visit.WaitBudget, 5, 9*slowSecond)},
				Limits: []ask.Limit{{Name: "max_requests", Max: 1000, Used: 10}, {Name: "max_pages", Max: 50, Used: 50}},
			},
			change: "a higher max_pages: 50 of 50 used", setting: "max_pages",
		},
		"the rate of the tenant": {
			facts: SlowFacts{
				Spent:  []ask.Share{share(visit.WaitBudget, 5, 9*slowSecond)},
				Limits: []ask.Limit{{Name: "max_pages", Max: 50, Used: 49}, {Name: "max_requests_per_second", Layer: "plan", Max: 5}},
			},
			change: "a higher max_requests_per_second: 5 per second for all jobs of the tenant (plan)", setting: "max_requests_per_second",
		},
		"lookups that wait for a place": {
			facts:  SlowFacts{Spent: []ask.Share{share(visit.WaitDNS, 5, 9*slowSecond)}, Layers: []ask.Layer{{Setting: "dns.lookups", Limit: 2, Use: 2, Waiting: 3}}},
			change: "a higher dns.lookups: all 2 are in use", setting: "dns.lookups",
		},
		"robots.txt that wait for a place": {
			facts:  SlowFacts{Spent: []ask.Share{share(visit.WaitRobots, 5, 9*slowSecond)}, Layers: []ask.Layer{{Setting: "robots.parallel", Limit: 2, Use: 2, Waiting: 5}}},
			change: "a higher robots.parallel: all 2 are in use", setting: "robots.parallel",
		},
		"nothing yet": {
			facts:    SlowFacts{Running: true},
			sentence: []string{"No host has had a URL to fetch yet."}, change: "nothing",
		},
		"a reason of a newer store": {
			facts:    SlowFacts{Spent: []ask.Share{share("moon", 1, slowSecond)}},
			sentence: []string{"100 % of host time: moon"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := ExplainSlow(tc.facts)
			for _, want := range tc.sentence {
				if !strings.Contains(s.Sentence, want) {
					t.Errorf("it says %q, want %q in it", s.Sentence, want)
				}
			}
			if !strings.Contains(s.Change, tc.change) || s.Setting != tc.setting || s.MoreWorkers != tc.workers {
				t.Errorf("change %q of %q, more workers %v; want %q of %q, %v", s.Change, s.Setting, s.MoreWorkers, tc.change, tc.setting, tc.workers)
			}
			if _, err := json.Marshal(s); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestSlowRunning distinguishes the last moment from the whole.
func TestSlowRunning(t *testing.T) {
	before := &ask.Status{Shares: []ask.Share{{State: "pace", Spent: 100 * slowSecond}, {State: Fetching, Spent: 5 * slowSecond}}}
	now := &ask.Status{Shares: []ask.Share{{State: "pace", Spent: 101 * slowSecond}, {State: Fetching, Spent: 5 * slowSecond}, {State: "dns", Spent: 3 * slowSecond}}}
	s := ExplainSlow(SlowRunning(before, now, nil))
	if s.SoFar.State != "pace" || s.Now.State != "dns" || s.Now.Part != 0.75 || s.Setting != "resolver" {
		t.Errorf("so far %+v, now %+v", s.SoFar, s.Now)
	}
	if now.Shares[0].Spent != 101*slowSecond {
		t.Error("the status was changed")
	}
	now.Shares[0].Hosts, now.Shares[1].Hosts = 1, 3 // without an earlier status, hosts are counted
	if s := ExplainSlow(SlowRunning(nil, now, nil)); s.Now.State != Fetching || s.Now.Part != 0.75 {
		t.Errorf("now %+v", s.Now)
	}
}

// TestSlowStored adds up the points of a series, and notices when a single host was
// left.
func TestSlowStored(t *testing.T) {
	span := func(hosts int, waits map[visit.Wait]time.Duration) store.Point {
		return store.Point{Ran: 10 * time.Second, Waits: waits, Fetching: time.Duration(hosts) * time.Second}
	}
	pace := func(n int) store.Point {
		return span(n, map[visit.Wait]time.Duration{visit.WaitPace: time.Duration(n) * 9 * time.Second})
	}
	points := []store.Point{pace(8), pace(8), pace(1), pace(1), pace(1)}
	s := ExplainSlow(SlowStored(store.Job{State: job.Complete}, 0, points, nil))
	if s.Elapsed != 50*slowSecond || s.Tail != 30*slowSecond || s.SoFar.State != "pace" || s.SoFar.Part != 0.9 || s.State != "complete" || s.Running {
		t.Errorf("%+v", s)
	}
	if !strings.Contains(s.Sentence, "For the last 30 s of 50 s only one host was left.") {
		t.Errorf("it says %q", s.Sentence)
	}
	if s := ExplainSlow(SlowStored(store.Job{}, 0, points[2:], nil)); s.Tail != 0 {
		t.Errorf("a crawl of one host has a tail of %v", s.Tail.Duration())
	}
}

// TestSlowCountsPaused distinguishes hosts paused by an operator from hosts on hold.
func TestSlowCountsPaused(t *testing.T) {
	s := ExplainSlow(SlowFacts{
		Spent: []ask.Share{{State: string(visit.WaitHold), Hosts: 3, Spent: 9 * slowSecond}},
		Hosts: []Host{{Host: ask.Host{Paused: true}}, {Host: ask.Host{}}, {Host: ask.Host{Paused: true}}},
	})
	if s.Paused != 2 {
		t.Errorf("%d paused", s.Paused)
	}
}

// TestSlowLimits checks that a limit cuts the remaining time.
func TestSlowLimits(t *testing.T) {
	host := func(name string, waiting int64) Host {
		h := Host{Waiting: waiting}
		h.Host.Host, h.Pace = name, ask.Seconds(time.Second)
		return h
	}
	pages := ask.Limit{Name: "max_pages", Layer: "job", Max: 200, Used: 190}
	span := ask.Limit{Name: "max_time", Layer: "job", Max: 3600, Used: 3540, Unit: "seconds"}
	for name, tc := range map[string]struct {
		limits []ask.Limit
		hosts  []Host
		want   string
		not    string
	}{
		"none":             {nil, []Host{host("http://a.example", 1000)}, "at least 17 min more", "stops it"},
		"pages":            {[]ask.Limit{pages}, []Host{host("http://a.example", 1000)}, "max_pages will stop the crawl after 10 more, in about 10 s; 1,000 URLs are waiting.", "at least"},
		"pages, two hosts": {[]ask.Limit{pages}, []Host{host("http://a.example", 999), host("http://b.example", 1)}, "max_pages will stop the crawl after 10 more; 1,000 URLs are waiting.", "at least"},
		"time":             {[]ask.Limit{span}, []Host{host("http://a.example", 1000)}, "max_time will stop the crawl in 60 s, with 1,000 URLs left.", "at least"},
		"far away":         {[]ask.Limit{{Name: "max_pages", Max: 5000}}, []Host{host("http://a.example", 1000)}, "at least 17 min more", "stops it"},
	} {
		forbidden := map[string]Forbidden{"http://a.example": {All: true}, "http://b.example": {All: true}}
		s := ExplainSlow(SlowFacts{Running: true, State: "running", Waiting: 1000, Limits: tc.limits, Hosts: tc.hosts, Forbidden: forbidden})
		if !strings.Contains(s.Sentence, tc.want) || strings.Contains(s.Sentence, tc.not) {
			t.Errorf("%s: %s", name, s.Sentence)
		}
	}
}
