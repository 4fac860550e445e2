package discovery

import (
	"time"

	"headway/frontier"
	"headway/scope"
	"headway/visit"
)

// LinkFilter decides which found URLs of a job are stored, skipped or deferred. It belongs
// to the loop.
type LinkFilter struct {
	Seen  *frontier.Seen
	Traps *scope.Traps
	// DiscoveryStopped defers all but redirects.
	DiscoveryStopped bool
	// Out reports whether a host is excluded by the host limit.
	Out func(host string) bool
	// Room is how many more URLs may wait; negative for no limit.
	Room int64
}

// Apply drops links that are known to be stored, and skips or defers unwanted ones. The slice
// must not be used afterwards.
func (b *LinkFilter) Apply(now time.Time, links []Link) []Link {
	kept := links[:0]
	for i := range links {
		l := &links[i]
		if b.Seen.Has(l.Mark) {
			continue
		}
		// A leaf has no links, so it cannot be part of a spider trap.
		if l.Outcome == "" && l.Item.Found == visit.FoundLink && !l.Leaf {
			if d := b.Traps.Look(l.Item.URL, now); !d.In {
				l.Outcome, l.Reason = visit.Skipped, visit.Reason(d.Reason)
			}
		}
		if l.Outcome == "" && b.defers(l, len(kept)) {
			l.Outcome = visit.Deferred // extending the job admits it
		}
		kept = append(kept, *l)
	}
	return compact(links, len(kept))
}

// defers reports whether a link is deferred, given how many were kept before it.
func (b *LinkFilter) defers(l *Link, before int) bool {
	return b.DiscoveryStopped && l.Item.Found != visit.FoundRedirect || b.Out(l.Item.URL.Host()) || b.Room >= 0 && int64(before) >= b.Room
}
