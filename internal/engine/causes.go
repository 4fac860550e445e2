package engine

import (
	"time"

	"headway/frontier"
	"headway/store"
	"headway/visit"
)

// causes measures what hosts wait for where their state does not show it: our CPU, the disk or
// the database. See [frontier.Causes].
type causes struct {
	*base
	queues *queues

	observed time.Time     // when the number of requests in flight was last read
	flights  int           // that number
	flown    time.Duration // request-seconds since the last measurement

	measured time.Time
	stored   time.Duration // time of the store at the last measurement
	disk     time.Duration // the same of its disk
	changes  int64         // and the changes that waited for it
	last     frontier.Causes
}

// observe records in each round of the loop what is under way.
func (m *causes) observe(now time.Time) {
	_, committing := m.commits.Underway()
	m.f.StoreAtWork(now, committing || m.queues.refilling || m.queues.reading || m.queues.tokens > 0 || m.domains.Querying())
	m.addFlown(now)
	m.flights = m.pool.Busy() + m.pool.Stalled()
}

// addFlown counts the time of the requests in flight up to now.
func (m *causes) addFlown(now time.Time) {
	if passed := now.Sub(m.observed); !m.observed.IsZero() && passed > 0 {
		m.flown += time.Duration(m.flights) * passed
	}
	m.observed = now
}

// charge divides the host time since the last call by what was measured in it.
func (m *causes) charge(now time.Time) {
	m.addFlown(now)
	cpu := m.cfg.Demand()
	working := m.f.StoreTime(now) - m.stored
	m.stored += working
	computing := time.Duration(0) // of the store, which is charged to those that wait for it
	c := frontier.Causes{Store: m.last.Store, StoreShare: m.last.StoreShare}
	switch st := m.st.(type) {
	case store.DiskTimes:
		waited := min(m.diskTime(st, cpu.Latency), working)
		computing = working - waited
		if c.Store = visit.WaitDisk; working > 0 {
			c.StoreShare = float64(waited) / float64(working)
		}
	case store.Database:
		c.Store, c.StoreShare = visit.WaitDatabase, 1
	}
	if !m.measured.IsZero() && m.flown > 0 {
		passed := float64(now.Sub(m.measured))
		threads := max((cpu.Running+cpu.Waiting)*passed-float64(computing), 0)
		c.CPU = min((threads+cpu.Queued*passed)/float64(m.flown), 1)
		c.Queued = min(cpu.Queued*passed/float64(m.flown), 1)
	}
	m.measured, m.flown, m.last = now, 0, c
	m.f.Charge(now, c)
}

// diskTime is how long the store waited for its disk since the last call, without the time that
// it then waited for a CPU, once after each change.
func (m *causes) diskTime(st store.DiskTimes, latency time.Duration) time.Duration {
	total, changes := st.DiskTime()
	waited := total - m.disk - time.Duration(changes-m.changes)*latency
	m.disk, m.changes = total, changes
	return max(waited, 0)
}
