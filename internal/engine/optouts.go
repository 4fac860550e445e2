package engine

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"headway/internal/loop"
	"headway/store"
	"headway/weburl"
)

// optOuts is the fleet's list of opt-outs, as stored. Workers are notified of changes.
type optOuts struct {
	chore
	changed bool                        // notified of a change since the read began
	mark    string                      // version of the list that was read
	listed  atomic.Pointer[store.Names] // read by many goroutines
}

// combine returns a predicate that covers the fleet's list and the local one.
func (o *optOuts) combine(local func(weburl.URL) bool) func(weburl.URL) bool {
	return func(u weburl.URL) bool {
		if names := o.listed.Load(); names != nil && names.Covering(u.Hostname()) != "" {
			return true
		}
		return local(u)
	}
}

// onChanged schedules a read of the changed list.
func (o *optOuts) onChanged(now time.Time) { o.changed, o.at = true, now }

// take stores a list that was read.
func (o *optOuts) take(names []string, mark string) {
	set := store.NewNames(names)
	o.listed.Store(&set)
	o.mark = mark
}

// firstOptOuts reads the list before the first request.
func (m *member) firstOptOuts(ctx context.Context) error {
	list, ok := m.st.(store.OptOuts)
	if !ok {
		return nil
	}
	names, mark, err := list.OptOutNames(ctx, "")
	if err != nil {
		return err
	}
	o := &m.optOuts
	o.take(names, mark)
	o.at = m.loop.Now().Add(optOutsEvery)
	return nil
}

// followOptOuts reads the list after a notification, and periodically.
func (m *member) followOptOuts(work context.Context, now time.Time) {
	list, ok := m.st.(store.OptOuts)
	o := &m.optOuts
	if !ok || !o.due(now) {
		return
	}
	o.changed = false
	had := o.mark
	type answer struct {
		names []string
		mark  string
	}
	loop.Once(work, m.loop, func(ctx context.Context) (l answer, err error) {
		l.names, l.mark, err = list.OptOutNames(ctx, had)
		return l, err
	}, func(now time.Time, l answer, err error) {
		o.done(now.Add(optOutsEvery))
		if o.changed {
			o.at = now
		}
		switch {
		case err != nil:
			o.at = now.Add(loop.RetryLast)
			m.onStoreError(work, fmt.Errorf("follow opt-outs: %w", err))
		case l.mark != had:
			o.take(l.names, l.mark)
			for host := range m.sites {
				m.hosts.dropOptedOut(now, host)
			}
		}
	})
}
