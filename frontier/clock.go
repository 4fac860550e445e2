package frontier

import (
	"math"
	"time"
)

// moment is a time in Unix milliseconds, rounded up; zero means none. It takes a
// third of the memory of a time.Time, and there are many hosts.
type moment int64

func at(t time.Time) moment {
	if t.IsZero() {
		return 0
	}
	return moment(t.Add(time.Millisecond - 1).UnixMilli())
}

func (m moment) time() time.Time {
	if m == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(m)).UTC()
}

// past reports whether the moment has come.
func (m moment) past(now time.Time) bool { return int64(m) <= now.UnixMilli() }

// tick is a time in Unix milliseconds, rounded up and wrapping every 49 days. It
// says how long ago something was; a wrong result for a host unused for weeks does
// no harm. Zero means none.
type tick uint32

func tickAt(t time.Time) tick { return max(tick(at(t)), 1) }

// since is the time from the tick until now.
func (k tick) since(now time.Time) time.Duration {
	const setBack = 60_000 // if the clock was set back by less, the result is 0
	ms := uint32(now.UnixMilli()) - uint32(k)
	switch {
	case k == 0:
		return math.MaxInt64
	case ms > math.MaxUint32-setBack:
		return 0
	default:
		return time.Duration(ms) * time.Millisecond
	}
}

// clock is a heap of hosts by the time they wait for, earliest first. Each host
// stores its index, so that it can be removed early.
type clock []*host

// next is the earliest time, or zero.
func (c clock) next() time.Time {
	if len(c) == 0 {
		return time.Time{}
	}
	return c[0].until.time()
}

// set inserts a host, or moves it after its time has changed.
func (c *clock) set(h *host) {
	if h.place < 0 {
		h.place = int32(len(*c))
		*c = append(*c, h)
	}
	c.down(c.up(int(h.place)))
}

// remove removes a host, if it is in the heap.
func (c *clock) remove(h *host) {
	i, last := int(h.place), len(*c)-1
	if i < 0 {
		return
	}
	h.place = -1
	moved := (*c)[last]
	(*c)[last] = nil
	*c = (*c)[:last]
	if i < last {
		(*c)[i] = moved
		moved.place = int32(i)
		c.down(c.up(i))
	}
}

// sooner orders hosts by time. Equal times, common among hosts that share an
// interval, are ordered by the last turn, oldest first.
func (c clock) sooner(i, j int) bool {
	a, b := c[i], c[j]
	return a.until < b.until || a.until == b.until && a.number < b.number
}

func (c clock) swap(i, j int) {
	c[i], c[j] = c[j], c[i]
	c[i].place, c[j].place = int32(i), int32(j)
}

func (c clock) up(i int) int {
	for i > 0 && c.sooner(i, (i-1)/2) {
		c.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
	return i
}

func (c clock) down(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(c); child++ {
			if c.sooner(child, least) {
				least = child
			}
		}
		if least == i {
			return
		}
		c.swap(i, least)
		i = least
	}
}

// later returns the later of two times.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// earlier returns the earlier of two times, where zero means none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
