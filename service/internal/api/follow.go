package api

import (
	"context"
	"reflect"
	"sync"
	"time"

	"headway/store"
)

// listenAgain is how long to wait before listening again on a new connection.
const listenAgain = time.Second

// follower is an event stream that waits for events of its tenant.
type follower struct {
	tenant string
	news   chan struct{} // buffered for one: there are new events
}

// followers are the event streams of a server. One connection listens for all of
// them, and only the streams of tenants with new events are woken.
type followers struct {
	stopped chan struct{} // closed when the server stops

	mu     sync.Mutex
	byName map[string]map[*follower]bool // by tenant
	count  int
}

func newFollowers() *followers {
	return &followers{stopped: make(chan struct{}), byName: map[string]map[*follower]bool{}}
}

// join adds a stream, or returns nil where there is no room.
func (f *followers) join(tenant string) *follower {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.count == maxEventStreams {
		return nil
	}
	f.count++
	one := &follower{tenant: tenant, news: make(chan struct{}, 1)}
	if f.byName[tenant] == nil {
		f.byName[tenant] = map[*follower]bool{}
	}
	f.byName[tenant][one] = true
	return one
}

// leave removes a stream.
func (f *followers) leave(one *follower) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count--
	delete(f.byName[one.tenant], one)
	if len(f.byName[one.tenant]) == 0 {
		delete(f.byName, one.tenant)
	}
}

// wake notifies the streams of tenants that there are new events.
func (f *followers) wake(tenants map[string]bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for tenant := range tenants {
		for one := range f.byName[tenant] {
			select {
			case one.news <- struct{}{}:
			default:
			}
		}
	}
}

// follow wakes streams until ctx ends.
func (a *API) follow(ctx context.Context) error {
	defer close(a.followers.stopped)
	looks := make(chan struct{}, 1)
	look := func() {
		select {
		case looks <- struct{}{}:
		default:
		}
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		for ctx.Err() == nil {
			err := a.store.AwaitEvents(ctx, look)
			if ctx.Err() != nil {
				return
			}
			a.log.WarnContext(ctx, "event listener lost, polling instead", "err", err)
			select {
			case <-ctx.Done():
			case <-time.After(listenAgain):
			}
		}
	})
	poll := time.NewTicker(store.PollEvery)
	defer poll.Stop()
	var after store.EventNumber
	for first := true; ; first = false {
		select {
		case <-ctx.Done():
			return nil
		case <-looks:
		case <-poll.C:
		}
		var err error
		if first {
			// Streams that are open already started before this.
			if after, err = a.store.LastEvent(ctx, time.Now()); err == nil {
				a.followers.wakeAll()
			}
		} else {
			after, err = a.wakeAfter(ctx, after)
		}
		if err != nil && ctx.Err() == nil {
			a.log.WarnContext(ctx, "cannot read events", "err", err)
		}
	}
}

// wakeAfter wakes the streams with events after a number, and returns the last.
func (a *API) wakeAfter(ctx context.Context, after store.EventNumber) (store.EventNumber, error) {
	for {
		list, err := a.store.Events(ctx, time.Now(), store.EventQuery{All: true, After: after, Max: store.MaxEvents})
		if err != nil {
			return after, err
		}
		tenants := map[string]bool{}
		for i := range list {
			tenants[list[i].Tenant], after = true, list[i].Number
		}
		a.followers.wake(tenants)
		if len(list) < store.MaxEvents {
			return after, nil
		}
	}
}

// wakeAll wakes every stream.
func (f *followers) wakeAll() {
	f.mu.Lock()
	tenants := map[string]bool{}
	for tenant := range f.byName {
		tenants[tenant] = true
	}
	f.mu.Unlock()
	f.wake(tenants)
}

func typeOf[T any]() reflect.Type { return reflect.TypeFor[T]() }
