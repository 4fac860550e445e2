package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"headway"
	"headway/ask"
	"headway/frontier"
	"headway/internal/humanize"
	"headway/visit"
)

// waitWords describe what one waiting host does, by wait reason.
var waitWords = map[visit.Wait]string{
	visit.WaitPace:            "keeping its pace",
	visit.WaitCrawlDelay:      "keeping its Crawl-delay",
	visit.WaitHold:            "held (Retry-After or backoff)",
	visit.WaitInFlight:        "at the limit of requests in flight",
	visit.WaitDomainInterval:  "waiting for another host of its domain",
	visit.WaitAddressInterval: "waiting for another host at its address",
	visit.WaitRobots:          "waiting for robots.txt",
	visit.WaitDNS:             "waiting for DNS",
	visit.WaitWorkers:         "waiting for a worker",
	visit.WaitParse:           "waiting for a parser",
	visit.WaitCPU:             "waiting for our CPU",
	visit.WaitDisk:            "waiting for the disk",
	visit.WaitDatabase:        "waiting for the database",
	visit.WaitStorage:         "waiting for storage or disk space",
	visit.WaitBudget:          "stopped by a limit",
	visit.WaitNetwork:         "waiting for our own network",
	visit.WaitLease:           "waiting for another crawl of the same domain",
	visit.WaitIdle:            "ready to be fetched",
}

// stateWords describe what hosts in a state do.
func stateWords(s frontier.State) string {
	if s == frontier.Fetching {
		return "waiting for a response"
	}
	return waitWords[visit.Wait(s.String())]
}

// paused counts the named hosts that an operator has paused.
func paused(hosts []ask.Host) int {
	n := 0
	for i := range hosts {
		if hosts[i].Paused {
			n++
		}
	}
	return n
}

// waits is what hosts wait for now and how many do, the most first. A pause by an
// operator is listed separately from other holds.
func waits(p *headway.Progress) []waitCount {
	var list []waitCount
	for _, s := range p.Shares {
		c := waitCount{s.State.String(), stateWords(s.State), s.Hosts}
		if s.State == frontier.Waiting(visit.WaitHold) {
			n := min(paused(p.Slowest), s.Hosts)
			c.hosts -= n
			list = append(list, waitCount{"paused", "paused by an operator", n})
		}
		list = append(list, c)
	}
	list = slices.DeleteFunc(list, func(c waitCount) bool { return c.hosts == 0 })
	slices.SortStableFunc(list, func(a, b waitCount) int { return cmp.Compare(b.hosts, a.hosts) })
	return list
}

// waitCount is how many hosts are in a state.
type waitCount struct {
	name, words string
	hosts       int
}

// idleNames is how many reasons an idle line names.
const idleNames = 3

// IdleAfter is how long nothing is sent before the reason is shown, and how often it
// is repeated.
const IdleAfter = 10 * time.Second

// idleLine says how long nothing was sent, and why.
func idleLine(p *headway.Progress, idle time.Duration, zone *time.Location) string {
	line := fmt.Sprintf("nothing sent for %d s: ", int(idle.Seconds()))
	if p == nil {
		return line + "opening the crawl"
	}
	if p.Frontier.Down {
		line += "our own network seems to be down; "
	}
	now := waits(p)
	var why []string
	for i, s := range now {
		if i == idleNames {
			rest := 0
			for _, s := range now[i:] {
				rest += s.hosts
			}
			why = append(why, humanize.Plural(int64(rest), "more host"))
			break
		}
		why = append(why, humanize.Plural(int64(s.hosts), "host")+" "+s.words)
	}
	if len(why) == 0 {
		why = []string{"no host in memory has URLs waiting"}
	}
	line += strings.Join(why, ", ")
	if next := nextAt(p); next.After(p.At) {
		line += "; next request at " + next.In(zone).Format(time.TimeOnly)
	}
	return line
}

// nextAt is when the next request may be sent, if all hosts are known and only time
// decides.
func nextAt(p *headway.Progress) time.Time {
	if p.Frontier.Working > len(p.Slowest) {
		return time.Time{}
	}
	var first time.Time
	for i := range p.Slowest {
		at := readyAt(&p.Slowest[i])
		if at.IsZero() {
			return time.Time{} // it does not wait for a time
		}
		if first.IsZero() || at.Before(first) {
			first = at
		}
	}
	return first
}

// readyAt is when the next request to a host may be sent, if only time decides.
func readyAt(h *ask.Host) time.Time {
	switch {
	case h.Paused:
		return time.Time{}
	case h.State == string(visit.WaitHold):
		return h.HeldUntil
	default:
		return h.Until
	}
}

// hostName is a host without its scheme.
func hostName(host string) string {
	return strings.TrimPrefix(strings.TrimPrefix(host, "https://"), "http://")
}

// clean removes control characters from text that comes from outside.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, s)
}

// resumed says what earlier runs did.
func resumed(p *headway.Progress) string {
	requests := humanize.Plural(p.Before.Requests, "request")
	if p.AtLeast {
		requests = "at least " + requests
	}
	return fmt.Sprintf("resumed: %s and %s done in earlier runs", humanize.Plural(p.Before.Pages, "page"), requests)
}
