package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"headway"
	"headway/frontier"
	"headway/internal/humanize"
	"headway/limit"
)

// slowPace is the pace from which on a line names the slowest host.
const slowPace = 2 * time.Second

// Line is one line about the state of a crawl, for logs and pipes. If nothing was sent
// for a while it says why.
func Line(m Model) string {
	p := m.Progress
	if p == nil {
		return humanize.Clock(m.Now.Sub(m.Began)) + "  opening the crawl folder"
	}
	if m.Idle >= IdleAfter && p.Stopping == "" {
		return humanize.Clock(p.Elapsed) + "  " + idleLine(p, m.Idle, m.Now.Location())
	}
	parts := []string{
		fmt.Sprintf("%s  %d pages", humanize.Clock(p.Elapsed), p.Spent.Pages),
		fmt.Sprintf("%.1f/s", p.Rate),
		fmt.Sprintf("%d waiting", p.Counts.Waiting),
		fmt.Sprintf("%d in flight", p.Frontier.InFlight),
		humanize.Plural(int64(p.Frontier.Working), "host"),
	}
	if on := waitingOn(p); on != "" {
		parts = append(parts, "waiting on "+on)
	}
	if len(p.Slowest) > 0 && p.Slowest[0].Pace.Duration() >= slowPace {
		h := &p.Slowest[0]
		parts = append(parts, fmt.Sprintf("slowest %s, %s %s", hostName(h.Host), seconds(h.Pace.Duration()), h.Source))
	}
	for _, name := range limit.Counted {
		if c, used := ceiling(p, name); c.Limited() && percent(used, c.Max) >= nearing {
			parts = append(parts, fmt.Sprintf("%s %d %%", name, percent(used, c.Max)))
		}
	}
	if p.LastCommit > slowCommit {
		parts = append(parts, fmt.Sprintf("slow storage: last commit took %s", p.LastCommit.Round(10*time.Millisecond)))
	}
	if p.Stopping != "" {
		parts = append(parts, "stopping: "+clean(p.Stopping))
	}
	return strings.Join(parts, "  ")
}

// mostShares is how many reasons a line names.
const mostShares = 3

// waitingOn names what hosts wait for now.
func waitingOn(p *headway.Progress) string {
	now := slices.DeleteFunc(waits(p), func(c waitCount) bool { return c.name == frontier.Fetching.String() })
	var words []string
	for _, c := range now[:min(len(now), mostShares)] {
		words = append(words, fmt.Sprintf("%s %d", c.name, c.hosts))
	}
	return strings.Join(words, ", ")
}

// short is a line for a screen with room for only one.
func short(m Model) string {
	p := m.Progress
	if p == nil {
		return mark + " " + humanize.Clock(m.Now.Sub(m.Began)) + " starting"
	}
	text := fmt.Sprintf("%s %s %s done %s %s waiting", mark, humanize.Clock(p.Elapsed), humanize.Count(p.Counts.Finished()), rate(p.Rate), humanize.Count(p.Counts.Waiting))
	if p.Stopping != "" {
		text += " stopping"
	} else if m.Idle >= IdleAfter {
		text += " idle"
	}
	return text
}
