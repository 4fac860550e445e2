package discovery

import (
	"time"

	"headway/frontier"
	"headway/scope"
	"headway/visit"
)

// Brakes are what a job holds found URLs against, as it stands. They belong to the loop.
type Brakes struct {
	Seen  *frontier.Seen
	Traps *scope.Traps
	// Enough says that discovery was stopped: only redirects are followed.
	Enough bool
	// Out tells whether a host is left out because there are enough.
	Out func(host string) bool
	// Room is how many more URLs may wait; negative for any number.
	Room int64
}

// Fresh leaves out the links that are known to be stored, and puts off those that are
// not wanted now. What it returns is in place of links.
func (b *Brakes) Fresh(now time.Time, links []Link) []Link {
	kept := links[:0]
	for i := range links {
		l := &links[i]
		if b.Seen.Has(l.Mark) {
			continue
		}
		// A leaf leads nowhere, so it is no part of an endless space.
		if l.Outcome == "" && l.Item.Found == visit.FoundLink && !l.Leaf {
			if d := b.Traps.Look(l.Item.URL, now); !d.In {
				l.Outcome, l.Reason = visit.Skipped, visit.Reason(d.Reason)
			}
		}
		if l.Outcome == "" && b.puts(l, len(kept)) {
			l.Outcome = visit.Deferred // extending the job admits it
		}
		kept = append(kept, *l)
	}
	return kept
}

// puts tells whether a link is put off, behind so many others.
func (b *Brakes) puts(l *Link, before int) bool {
	return b.Enough && l.Item.Found != visit.FoundRedirect || b.Out(l.Item.URL.Host()) || b.Room >= 0 && int64(before) >= b.Room
}
