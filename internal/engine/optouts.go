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

// optOuts is who asked a fleet not to be crawled, as the store says. Workers are
// told of changes.
type optOuts struct {
	chore
	news   bool                        // we were told of a change since we began to read
	mark   string                      // of the list as it was read
	listed atomic.Pointer[store.Names] // read by many
}

// beside is a rule that also lets out whom the list of the fleet names.
func (o *optOuts) beside(local func(weburl.URL) bool) func(weburl.URL) bool {
	return func(u weburl.URL) bool {
		if names := o.listed.Load(); names != nil && names.Covering(u.Hostname()) != "" {
			return true
		}
		return local(u)
	}
}

// told notes that the list changed.
func (o *optOuts) told(now time.Time) { o.news, o.at = true, now }

// take keeps a list.
func (o *optOuts) take(names []string, mark string) {
	set := store.NewNames(names)
	o.listed.Store(&set)
	o.mark = mark
}

// firstOptOuts reads the list before anybody is asked for anything.
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

// followOptOuts reads the list when we were told that it changed, and now and then.
func (m *member) followOptOuts(work context.Context, now time.Time) {
	list, ok := m.st.(store.OptOuts)
	o := &m.optOuts
	if !ok || !o.due(now) {
		return
	}
	o.news = false
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
		if o.news {
			o.at = now
		}
		switch {
		case err != nil:
			o.at = now.Add(loop.RetryLast)
			m.lostStore(work, fmt.Errorf("follow opt-outs: %w", err))
		case l.mark != had:
			o.take(l.names, l.mark)
			for host := range m.sites {
				m.hosts.shun(now, host)
			}
		}
	})
}
