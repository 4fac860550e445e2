package answer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"headway/ask"
	"headway/job"
	"headway/limit"
	"headway/store"
	"headway/visit"
)

// States of hosts that are not wait reasons.
const (
	Fetching  = "fetching"   // a request is in flight
	OtherJobs = "other_jobs" // for a fleet job: the host works, or waits, for another job
)

// SlowFacts is the input of [ExplainSlow].
type SlowFacts struct {
	Fleet   bool // a job of a fleet
	Running bool
	State   string        // state of the crawl
	Reason  string        // why, for people
	Elapsed time.Duration // of all runs, if known
	Workers int           // 0 is not known
	Waiting int64         // URLs
	Limits  []ask.Limit
	Layers  []ask.Layer
	Hosts   []Host // with work, or known
	Spent   []ask.Share
	Lately  []ask.Share // the same for the last moment; nil if the crawl does not run
	Tail    time.Duration
	// Forbidden has, for the hosts that take longest, the pending URLs that robots.txt
	// disallows.
	Forbidden map[string]Forbidden
}

// Slow is where the time of a crawl went, and what would help.
type Slow struct {
	Running  bool        `json:"running"`
	State    string      `json:"state"`
	Elapsed  ask.Seconds `json:"elapsed_seconds"` // running time: of this run while it runs, else of all runs as far as known
	Sentence string      `json:"sentence"`        // the explanation in one sentence
	// These three are those of the verdict that applies: that of now, if it differs
	// from the one so far.
	MoreWorkers bool        `json:"more_workers_would_help"`
	Change      string      `json:"change"`            // the one thing that would help
	Setting     string      `json:"setting,omitempty"` // the setting to change for it
	SoFar       Verdict     `json:"so_far"`
	Now         *Verdict    `json:"now,omitempty"`
	Parts       []ask.Share `json:"parts"`             // shares of all host time, largest first
	Layers      []ask.Layer `json:"layers,omitempty"`  // the layers that work waited for
	Slowest     []Host      `json:"slowest,omitempty"` // the hosts with the longest pace
	Left        *Left       `json:"left,omitempty"`
	Paused      int         `json:"paused,omitempty"`       // number of inspected hosts with work that are paused by an operator
	Tail        ask.Seconds `json:"tail_seconds,omitempty"` // how long only one host was left at the end
	Notes       []string    `json:"notes,omitempty"`        // remarks that the numbers do not show
}

// Verdict is what took most of the time and what that means.
type Verdict struct {
	State       string  `json:"state"`           // fetching, or a wait reason
	Part        float64 `json:"part"`            // share of all host time, from 0 to 1
	Hosts       int     `json:"hosts,omitempty"` // number of hosts in this state now
	Meaning     string  `json:"meaning"`
	OwnLimit    bool    `json:"own_limit"` // true if the hosts set the limit, not the crawler
	MoreWorkers bool    `json:"more_workers_would_help"`
	Change      string  `json:"change"`
	Setting     string  `json:"setting,omitempty"`
}

// Left is the remaining work: the crawl cannot end before its slowest
// host is done.
type Left struct {
	Hosts     int         `json:"hosts"`               // number of hosts with pending URLs
	URLs      int64       `json:"urls"`                // number of pending URLs
	Host      string      `json:"host"`                // the host that takes longest
	Waiting   int64       `json:"waiting"`             // pending URLs of that host, without those known to be disallowed by robots.txt
	Forbidden int64       `json:"forbidden,omitempty"` // pending URLs of that host that robots.txt disallows; they take no time
	Unsure    bool        `json:"unsure,omitempty"`    // robots.txt may disallow more of them, so at_least_seconds is not a lower bound
	Pace      ask.Seconds `json:"pace_seconds"`        // pace of that host
	AtLeast   ask.Seconds `json:"at_least_seconds"`    // time for these URLs at that pace; an estimate if unsure is true
	Limit     string      `json:"limit,omitempty"`     // the limit that will stop the crawl before that
	Rest      float64     `json:"rest,omitempty"`      // what is left of that limit: pages, requests or seconds
}

// maxSlowest is how many hosts an answer lists.
const maxSlowest = 5

// ExplainSlow builds the answer.
func ExplainSlow(f SlowFacts) Slow {
	s := Slow{Running: f.Running, State: f.State, Elapsed: ask.Seconds(f.Elapsed), Tail: ask.Seconds(f.Tail), Parts: parts(f.Spent)}
	s.SoFar = f.verdict(s.Parts)
	counts := s.SoFar
	if f.Running {
		now := f.verdict(parts(f.Lately))
		s.Now = &now
		if now.Part >= 0.5 || now.State == string(visit.WaitIdle) {
			counts = now
		}
	}
	s.MoreWorkers, s.Change, s.Setting = counts.MoreWorkers, counts.Change, counts.Setting
	for _, l := range f.Layers {
		if l.Waited > 0 || l.Waiting > 0 {
			s.Layers = append(s.Layers, l)
		}
	}
	for i := range f.Hosts {
		if f.Hosts[i].Paused {
			s.Paused++
		}
	}
	s.Left = f.left()
	s.Slowest = f.slowest()
	s.Sentence = s.sentence(counts)
	if f.Fleet && len(s.Parts) == 0 {
		s.Sentence, s.Change, s.Setting = "No host time was recorded for this job.", "", ""
		if f.State == string(job.Running) {
			s.Sentence = "No worker has reported on this job's hosts yet; try again in a moment."
		}
	}
	return s
}

// SlowRunning returns the facts of a running crawl. With an earlier status of the same
// run, the last moment is distinguished from the whole.
func SlowRunning(before, now *ask.Status, hosts []Host) SlowFacts {
	f := SlowFacts{
		Running: true, State: "running", Reason: now.Stopping, Elapsed: now.Elapsed.Duration(), Workers: now.Workers, Waiting: now.Waiting,
		Limits: now.Limits, Layers: now.Layers, Hosts: hosts, Spent: now.Shares, Lately: slices.Clone(now.Shares),
	}
	if now.Stopping != "" {
		f.State = "stopping"
	}
	for i := range f.Lately {
		l := &f.Lately[i]
		if before == nil {
			l.Spent = ask.Seconds(time.Duration(l.Hosts) * time.Second) // the hosts that are in this state now
			continue
		}
		for _, b := range before.Shares {
			if b.State == l.State {
				l.Spent -= b.Spent
			}
		}
	}
	return f
}

// SlowStored returns the facts from the stored series of a crawl that has ended or was
// interrupted.
func SlowStored(j store.Job, waiting int64, points []store.Point, hosts []Host) SlowFacts {
	f := SlowFacts{State: string(j.State), Reason: j.Reason, Waiting: waiting, Hosts: hosts}
	var whole store.Point
	for _, p := range points {
		whole = whole.Then(p)
	}
	f.Elapsed = whole.Ran
	f.Spent = append(f.Spent, ask.Share{State: Fetching, Spent: ask.Seconds(whole.Fetching)})
	for _, w := range visit.Waits {
		f.Spent = append(f.Spent, ask.Share{State: string(w), Spent: ask.Seconds(whole.Waits[w])})
	}
	f.Tail = tail(points)
	return f
}

// oneHost is the maximum host time per second of a crawl with a single host: slightly
// more than one, because points do not end when hosts do.
const oneHost = 1.2

// tail is how long a crawl of several hosts had only one left at its end.
func tail(points []store.Point) time.Duration {
	var sum time.Duration
	for _, p := range slices.Backward(points) {
		worked := p.Fetching
		for _, d := range p.Waits {
			worked += d
		}
		if float64(worked) > oneHost*float64(p.Ran) {
			return sum
		}
		sum += p.Ran
	}
	return 0 // it never had more than one
}

// parts completes the shares and sorts the largest first.
func parts(shares []ask.Share) []ask.Share {
	var total ask.Seconds
	for _, s := range shares {
		total += s.Spent
	}
	list := make([]ask.Share, 0, len(shares))
	for _, s := range shares {
		s.Part = 0
		if total > 0 {
			s.Part = float64(s.Spent) / float64(total)
		}
		if s.Spent > 0 || s.Hosts > 0 {
			list = append(list, s)
		}
	}
	slices.SortStableFunc(list, func(a, b ask.Share) int { return cmp.Compare(b.Spent, a.Spent) })
	return list
}

// verdict describes the largest share.
func (f *SlowFacts) verdict(list []ask.Share) Verdict {
	top := ask.Share{State: string(visit.WaitIdle)}
	if len(list) > 0 && list[0].Spent > 0 {
		top = list[0]
	}
	v := Verdict{State: top.State, Part: top.Part, Hosts: top.Hosts}
	rule, ok := slowRules[top.State]
	if !ok {
		v.Meaning = top.State // unknown: from a newer version of the store
		return v
	}
	v.Meaning, v.OwnLimit, v.Setting = rule.meaning, rule.own, rule.setting
	v.MoreWorkers = top.State == string(visit.WaitWorkers)
	v.Change = rule.change
	if !f.Running { // nothing goes on
		v.Change = strings.TrimSuffix(v.Change, "; the crawl continues automatically")
	}
	if rule.look != nil {
		if change, setting, own := rule.look(f); change != "" {
			v.Change, v.Setting, v.OwnLimit = change, setting, own
		}
	}
	return v
}

// slowRule says what a state of hosts means for the speed of the crawl.
type slowRule struct {
	meaning string // after "host time:"
	own     bool   // the hosts set the limit
	setting string // to change
	change  string // the one change that would help
	// look refines the advice from the facts; "" keeps the one above.
	look func(f *SlowFacts) (change, setting string, own bool)
}

// slowRules has all states. Only in one of them more workers help.
var slowRules = map[string]slowRule{
	Fetching: {
		meaning: "waiting for responses", own: true,
		change: "nothing: the hosts' own response time",
	},
	string(visit.WaitPace): {
		meaning: "the interval between requests to one host", own: true, setting: "pace.delay",
		change: shorterDelay, look: paceSource,
	},
	string(visit.WaitCrawlDelay): {
		meaning: "the Crawl-delay in robots.txt", own: true,
		change: "ask the site owner for a shorter Crawl-delay, or change it if you own the host",
	},
	string(visit.WaitHold): {
		meaning: "hosts on hold (Retry-After or backoff) or paused", own: true,
		change: "nothing: the hosts' own limit; the crawl continues automatically", look: pausedHosts,
	},
	string(visit.WaitInFlight): {
		meaning: "hosts at their limit of requests in flight", own: true, setting: "pace.in_flight",
		change: "a higher --in-flight, if you own the hosts",
	},
	string(visit.WaitDomainInterval): {
		meaning: "hosts of the same domain taking turns", own: true, setting: "pace.delay",
		change: "a shorter --delay, if you own the domain",
	},
	string(visit.WaitAddressInterval): {
		meaning: "hosts at the same IP address taking turns", own: true, setting: "pace.address_ranges",
		change: "setting pace.address_ranges to blocks without the address, if you own the server",
	},
	string(visit.WaitRobots): {
		meaning: "robots.txt not fetched yet", own: true,
		change: "nothing: no page is requested before robots.txt is known", look: robotsQueue,
	},
	string(visit.WaitDNS): {
		meaning: "DNS lookups", setting: "resolver",
		change: "a faster DNS resolver: --resolver IP:PORT", look: lookupQueue,
	},
	string(visit.WaitWorkers): {
		meaning: "hosts ready but waiting for a free worker", setting: "workers",
		change: "more --workers", look: workersNow,
	},
	string(visit.WaitParse): {
		meaning: "parsing, or memory for pages", setting: "parse.workers",
		change: "more CPU cores or memory",
	},
	string(visit.WaitCPU): {
		meaning: "computing, or waiting for a CPU",
		change:  "more or faster CPU cores, or fewer other programs on this machine",
	},
	string(visit.WaitDisk): {
		meaning: "writing to the disk", setting: "dir",
		change: "a faster disk for --dir",
	},
	string(visit.WaitDatabase): {
		meaning: "the database",
		change:  "a faster database, or a shorter way to it",
	},
	string(visit.WaitStorage): {
		meaning: "the next commit, the outputs, or free disk space",
		change:  "faster outputs: a pipe, an archive or a program that reads pages slows the crawl", look: storageNeeds,
	},
	string(visit.WaitBudget): {
		meaning: "a limit of the crawl", setting: "limits",
		change: "a higher limit", look: nearestLimit,
	},
	string(visit.WaitNetwork): {
		meaning: "our own network was down",
		change:  "check this machine's network and DNS, since the hosts are not at fault; the crawl continues automatically",
	},
	string(visit.WaitLease): {
		meaning: "another crawl on this machine is using the same domains",
		change:  "let the other crawl finish, or crawl both in one; the two take turns so that each host sees one pace",
	},
	OtherJobs: {
		meaning: "hosts busy with other jobs",
		change:  "nothing: jobs take turns at a host, so that it sees one pace",
	},
	string(visit.WaitIdle): {
		meaning: "no host has URLs waiting",
		change:  "nothing: no host is waiting",
	},
}

const shorterDelay = "a shorter --delay or --preset owned, if you own the hosts"

// paceSource returns what sets the pace of most hosts.
func paceSource(f *SlowFacts) (change, setting string, own bool) {
	sources := map[string]int{}
	for i := range f.Hosts {
		if h := &f.Hosts[i]; h.Pace > 0 {
			sources[h.Source]++
		}
	}
	operator, learned, base := sources["operator"], sources["learned"], sources["base"]
	switch {
	case operator > 0 && operator >= max(learned, base):
		return "headway host slow HOST 0, which removes the minimum interval set by an operator", "", false
	case learned > base:
		return "nothing: the hosts' own limit, learned from their refusals", "", true
	case base > 0:
		return shorterDelay, "pace.delay", false
	}
	return "", "", false
}

// pausedHosts finds hosts paused by an operator.
func pausedHosts(f *SlowFacts) (change, setting string, own bool) {
	for i := range f.Hosts {
		if h := &f.Hosts[i]; h.Paused {
			return "headway host resume " + h.Host.Host + ", which resumes a host paused by an operator", "", false
		}
	}
	return "", "", false
}

// layer finds a layer by its setting.
func (f *SlowFacts) layer(setting string) (ask.Layer, bool) {
	for _, l := range f.Layers {
		if l.Setting == setting {
			return l, true
		}
	}
	return ask.Layer{}, false
}

// robotsQueue reports whether hosts wait for a place to fetch robots.txt.
func robotsQueue(f *SlowFacts) (change, setting string, own bool) {
	if l, ok := f.layer("robots.parallel"); ok && l.Limit > 0 && l.Use >= l.Limit && l.Waiting > l.Limit {
		return fmt.Sprintf("a higher robots.parallel: all %d are in use", l.Limit), l.Setting, false
	}
	return "", "", false
}

// lookupQueue reports whether DNS lookups wait for a place.
func lookupQueue(f *SlowFacts) (change, setting string, own bool) {
	if l, ok := f.layer("dns.lookups"); ok && l.Limit > 0 && l.Use >= l.Limit {
		return fmt.Sprintf("a higher dns.lookups: all %d are in use; or a faster DNS resolver: --resolver IP:PORT", l.Limit), l.Setting, false
	}
	return "", "", false
}

// workersNow adds the current number of workers.
func workersNow(f *SlowFacts) (change, setting string, own bool) {
	if f.Workers > 0 {
		return fmt.Sprintf("more --workers than %d", f.Workers), "workers", false
	}
	return "", "", false
}

// storageNeeds distinguishes a full disk from slow outputs, and a fleet, which collects pages
// for a commit.
func storageNeeds(f *SlowFacts) (change, setting string, own bool) {
	if l, ok := f.layer("store.min_free"); ok && l.Limit > 0 && l.Use > 0 && l.Use < l.Limit {
		return fmt.Sprintf("free disk space: %d MB free, %d MB required (store.min_free)", l.Use>>20, l.Limit>>20), l.Setting, false
	}
	if f.Fleet {
		return "a shorter store.commit_gap: pages are collected for a commit", "store.commit_gap", false
	}
	return "", "", false
}

// nearestLimit finds the limit that is used most, or the rate limit if there is one and
// no other is used up: only that one keeps hosts waiting indefinitely.
func nearestLimit(f *SlowFacts) (change, setting string, own bool) {
	var nearest, rate ask.Limit
	most := 0.0
	for _, l := range f.Limits {
		switch {
		case l.Max <= 0:
			continue
		case l.Name == string(limit.RequestsPerSecond):
			rate = l
			continue
		}
		if part := l.Used / l.Max; part > most {
			nearest, most = l, part
		}
	}
	switch {
	case rate.Name != "" && most < 1:
		return fmt.Sprintf("a higher %s: %.0f per second for all jobs of the tenant (%s)", rate.Name, rate.Max, rate.Layer), rate.Name, false
	case nearest.Name != "":
		return fmt.Sprintf("a higher %s: %s of %s used", nearest.Name, limitAmount(nearest.Used, nearest.Unit), limitAmount(nearest.Max, nearest.Unit)), nearest.Name, false
	case f.Reason != "":
		return "a higher limit: " + f.Reason, "", false
	}
	return "", "", false
}

// jitter is the average length of an interval relative to the pace.
const jitter = 1.025

// left finds the host that takes longest.
func (f *SlowFacts) left() *Left {
	if f.Waiting == 0 {
		return nil
	}
	l := &Left{URLs: f.Waiting}
	for i := range f.Hosts {
		h := &f.Hosts[i]
		if h.Waiting == 0 {
			continue
		}
		l.Hosts++
		forbidden := f.Forbidden[h.Host.Host]
		waiting := max(h.Waiting-forbidden.URLs, 0)
		if takes := ask.Seconds(float64(waiting) * float64(h.Pace) * jitter); takes > l.AtLeast || l.Host == "" {
			l.Host, l.Waiting, l.Pace, l.AtLeast, l.Forbidden, l.Unsure = h.Host.Host, waiting, h.Pace, takes, forbidden.URLs, !forbidden.All
		}
	}
	if l.Hosts == 0 {
		return nil
	}
	f.limited(l)
	return l
}

// limited finds the limit that stops the crawl before all pending URLs are requested.
func (f *SlowFacts) limited(l *Left) {
	for _, c := range f.Limits {
		rest := max(c.Max-c.Used, 0)
		switch {
		case c.Max <= 0:
		case c.Name == string(limit.Pages) && rest < float64(l.URLs), c.Name == string(limit.Requests) && rest < float64(l.URLs) && l.Limit == "":
			l.Limit, l.Rest = c.Name, rest
			if l.Hosts == 1 {
				l.AtLeast = min(l.AtLeast, ask.Seconds(rest*float64(l.Pace)*jitter))
			} else {
				l.AtLeast = 0 // it is not known which hosts these are
			}
		case c.Name == string(limit.Time) && ask.FromSeconds(rest) < l.AtLeast:
			l.Limit, l.Rest, l.AtLeast = c.Name, rest, ask.FromSeconds(rest)
		}
	}
}

// slowest returns the hosts with the longest pace.
func (f *SlowFacts) slowest() []Host {
	list := slices.Clone(f.Hosts)
	slices.SortStableFunc(list, func(a, b Host) int { return cmp.Or(cmp.Compare(b.Pace, a.Pace), cmp.Compare(b.Waiting, a.Waiting)) })
	list = slices.DeleteFunc(list, func(h Host) bool { return h.Pace == 0 && h.Waiting == 0 })
	return list[:min(len(list), maxSlowest)]
}

// ownLimit reports whether the state is a limit set by the hosts.
func ownLimit(state string) bool {
	rule, ok := slowRules[state]
	return ok && rule.own
}

// sentence summarises the answer in plain words.
func (s *Slow) sentence(counts Verdict) string {
	var words []string
	add := func(format string, args ...any) { words = append(words, fmt.Sprintf(format, args...)) }
	switch {
	case len(s.Parts) == 0:
		add("No host has had a URL to fetch yet.")
	case s.SoFar.Part > 0:
		add("%s of host time: %s (%s).", percent(s.SoFar.Part), s.SoFar.Meaning, s.SoFar.State)
	}
	switch now := s.Now; {
	case now == nil, now.State == s.SoFar.State && now.Part > 0:
	case now.Part == 0:
		add("Right now no host has URLs waiting.")
	default:
		add("Right now: %s (%s, %s).", now.Meaning, now.State, percent(now.Part))
	}
	if own := s.own(); own > 0.5 && counts.OwnLimit {
		if n := counts.Hosts; n > 0 {
			add("%s at %s own limit.", hostsAre(n), their(n))
		} else {
			add("The hosts' own limits took %s.", percent(own))
		}
	}
	if counts.MoreWorkers {
		add("More workers would help.")
	} else {
		add("More workers will not help.")
	}
	switch l := s.Left; {
	case l == nil || !s.Running:
	case l.Limit == string(limit.Time):
		add("%s will stop the crawl in %s, with %s left.", l.Limit, short(ask.FromSeconds(l.Rest).Duration()), urls(l.URLs))
	case l.Limit != "":
		after := fmt.Sprintf("after %.0f more", l.Rest)
		if l.AtLeast > 0 {
			after += fmt.Sprintf(", in about %s", short(l.AtLeast.Duration()))
		}
		add("%s will stop the crawl %s; %s are waiting.", l.Limit, after, urls(l.URLs))
	}
	if l := s.Left; l != nil && s.Running && l.AtLeast > 0 && l.Limit == "" {
		least := "at least"
		if l.Unsure {
			least = "about" // robots.txt is not known, or too many URLs are pending to check all
		}
		if l.Hosts == 1 {
			add("One host is left, with %s at %s: %s %s more.", urls(l.Waiting), short(l.Pace.Duration()), least, short(l.AtLeast.Duration()))
		} else {
			add("The last host to finish will be %s, with %s at %s: %s %s more.", l.Host, urls(l.Waiting), short(l.Pace.Duration()), least, short(l.AtLeast.Duration()))
		}
		if l.Forbidden > 0 {
			add("%s more waiting there take no time, because robots.txt disallows them.", urls(l.Forbidden))
		}
	}
	if s.Tail > 0 && float64(s.Tail) >= longTail*float64(s.Elapsed) {
		add("For the last %s of %s only one host was left.", short(s.Tail.Duration()), short(s.Elapsed.Duration()))
	}
	return strings.Join(words, " ")
}

// longTail is the share of a crawl with a single host that is worth mentioning.
const longTail = 0.2

// own is the share of host time spent at limits that hosts set.
func (s *Slow) own() float64 {
	var sum float64
	for _, p := range s.Parts {
		if ownLimit(p.State) {
			sum += p.Part
		}
	}
	return sum
}

func percent(part float64) string { return fmt.Sprintf("%.0f %%", 100*part) }

func hostsAre(n int) string {
	if n == 1 {
		return "1 host is"
	}
	return fmt.Sprintf("%d hosts are", n)
}

func their(n int) string {
	if n == 1 {
		return "its"
	}
	return "their"
}

// urls formats a count: 1 URL, 2,311 URLs.
func urls(n int64) string {
	if n == 1 {
		return "1 URL"
	}
	return thousands(n) + " URLs"
}

// thousands formats a number with commas.
func thousands(n int64) string {
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// short formats a duration with few digits.
func short(d time.Duration) string {
	switch {
	case d >= time.Hour:
		d = d.Round(time.Minute)
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	case d >= 10*time.Minute:
		return fmt.Sprintf("%.0f min", d.Minutes())
	case d >= 2*time.Minute:
		d = d.Round(time.Second)
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	case d >= 10*time.Second:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d >= time.Second:
		return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", d.Seconds()), "0"), ".") + " s"
	default:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
}
