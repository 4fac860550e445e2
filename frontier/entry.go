package frontier

import (
	"slices"
	"time"

	"headway/job"
	"headway/politeness"
	"headway/visit"
	"headway/weburl"
)

// entry is one URL in the head of a queue. There are many, so it holds only what
// most items have, and points to what is rare or shared.
type entry struct {
	url      weburl.URL
	order    uint64  // place in the queue, smallest first
	beyond   *beyond // nil for most items
	depth    uint16
	tries    politeness.Tries
	again    uint8 // times it was put back, at most mostAgain
	attempt  uint8
	found    uint8 // index into foundBy
	priority int8
}

// beyond holds the fields of an item that do not fit its entry.
type beyond struct {
	via  weburl.URL
	item *visit.Item // the complete item, if an entry cannot represent it
}

// foundBy are the values of visit.FoundBy that an entry can represent.
var foundBy = [...]visit.FoundBy{"", visit.FoundSeed, visit.FoundLink, visit.FoundSitemap, visit.FoundRedirect}

// newEntry returns the entry of an item that comes last within its rank.
func (f *Frontier) newEntry(it *visit.Item, again int) *entry {
	e := &entry{again: uint8(min(again, mostAgain))}
	f.pack(e, it)
	f.number++
	e.order = order(it, e.again, f.number)
	return e
}

// pack stores an item in an entry. URLs found on one page arrive together and share
// their common fields.
func (f *Frontier) pack(e *entry, it *visit.Item) {
	found := slices.Index(foundBy[:], it.Found)
	e.url, e.beyond = it.URL, nil
	switch {
	case found < 0, it.Depth != int(uint16(it.Depth)), it.Attempt != int(uint8(it.Attempt)), it.Priority != int(int8(it.Priority)),
		it.Hops != 0, it.Chain != nil, !it.NotBefore.IsZero(), it.Validators != visit.Validators{}:
		whole := *it
		e.beyond = &beyond{item: &whole}
		return
	case it.Via.IsZero():
	case f.page != nil && f.page.via == it.Via:
		e.beyond = f.page
	default:
		f.page = &beyond{via: it.Via}
		e.beyond = f.page
	}
	e.found, e.depth, e.attempt, e.priority = uint8(found), uint16(it.Depth), uint8(it.Attempt), int8(it.Priority)
}

// item returns the item of the entry, which belongs to job id.
func (e *entry) item(id job.ID) visit.Item {
	it := visit.Item{Job: id, URL: e.url, Found: foundBy[e.found], Depth: int(e.depth), Priority: int(e.priority), Attempt: int(e.attempt)}
	if b := e.beyond; b != nil {
		if b.item != nil {
			return *b.item
		}
		it.Via = b.via
	}
	return it
}

// notBefore is the earliest time of the next attempt; zero means now.
func (e *entry) notBefore() time.Time {
	if b := e.beyond; b != nil && b.item != nil {
		return b.item.NotBefore
	}
	return time.Time{}
}

// recount sets the item's number of charged attempts and returns the item.
func (f *Frontier) recount(e *entry, id job.ID) visit.Item {
	it := e.item(id)
	it.Attempt = int(e.tries.Refusals) + int(e.tries.Failures)
	f.pack(e, &it)
	return it
}

// mostAgain is the maximum of entry.again.
const mostAgain = 31

// order is the sort key of a URL in its queue. URLs that were put back come last, so
// that another URL is tried next on a refusing host; then by rank, then by age.
func order(it *visit.Item, again uint8, number uint64) uint64 {
	const ageBits, rankBits = 34, 25
	return uint64(again)<<(ageBits+rankBits) | uint64(it.Rank())<<ageBits | number&(1<<ageBits-1)
}
