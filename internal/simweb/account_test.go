package simweb_test

import (
	"fmt"
	"math"
	"time"

	"headway/frontier"
)

// life is one run of a process, for the account of its waits.
type life struct {
	end    time.Time
	moves  []move
	shares []frontier.Share        // final account; nil after a crash
	worked map[*host]time.Duration // how long each host had work, according to the store
}

// spent adds up the host time of a life, and reports errors in its account: every host with
// work is in exactly one state, from its first waiting URL to the end of its last, and the
// host times add up.
func (l *life) spent() (spent map[frontier.State]time.Duration, problems []string) {
	spent = map[frontier.State]time.Duration{}
	worked := map[*host]time.Duration{}
	last := map[*host]move{}
	hosts := map[frontier.State]int{}
	charge := func(m move, until time.Time) {
		if m.to != frontier.NoWork {
			spent[m.to] += until.Sub(m.at)
			worked[m.host] += until.Sub(m.at)
		}
	}
	for _, m := range l.moves {
		before := last[m.host] // of a new host: without work
		if before.to != m.from || m.from == m.to || m.at.Before(before.at) {
			problems = append(problems, fmt.Sprintf("%s goes from %s to %s, and was in %s", m.host.name, m.from, m.to, before.to))
		}
		charge(before, m.at)
		last[m.host] = m
	}
	for _, m := range last {
		charge(m, l.end)
		hosts[m.to]++
	}
	for h, d := range worked {
		if d != l.worked[h] {
			problems = append(problems, fmt.Sprintf("%s had work for %v, the account says %v", h.name, l.worked[h], d))
		}
	}
	for h, d := range l.worked {
		if _, ok := worked[h]; !ok && d > 0 {
			problems = append(problems, fmt.Sprintf("%s had work for %v, the account says nothing", h.name, d))
		}
	}
	if l.shares == nil {
		return spent, problems
	}
	parts, total := 0.0, time.Duration(0)
	said := map[frontier.State]bool{}
	for _, s := range l.shares {
		said[s.State] = true
		parts += s.Part
		total += s.Spent
		if s.Spent != spent[s.State] || s.Hosts != hosts[s.State] {
			problems = append(problems, fmt.Sprintf("%d hosts now and %v in all in state %s, the account says %d and %v",
				hosts[s.State], spent[s.State], s.State, s.Hosts, s.Spent))
		}
	}
	for state, d := range spent {
		if !said[state] && d > 0 {
			problems = append(problems, fmt.Sprintf("%v in state %s, which the account does not know", d, state))
		}
	}
	if total > 0 && math.Abs(parts-1) > 1e-9 {
		problems = append(problems, fmt.Sprintf("the shares add up to %v", parts))
	}
	return spent, problems
}
