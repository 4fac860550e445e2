package api

import (
	"context"
	"fmt"
	"sync"
	"time"

	"headway/store"
)

// Bounds of lookups of keys.
const (
	keyTimeout    = 10 * time.Second
	maxKeyLookups = 1024 // that are shared, at once; beyond, each request does its own
)

// keys looks up API keys. Requests that arrive together share a lookup, and each gets a key
// that was read after it arrived, so that a revoked key is refused at once: while a lookup
// runs, later requests wait for the next one.
type keys struct {
	read func(ctx context.Context, id string) (store.APIKey, error)

	mu      sync.Mutex
	running map[string]*keyLookup // by the id of the key
}

// keyLookup is a lookup for one or more requests.
type keyLookup struct {
	next *keyLookup    // starts when this one has ended; nil if no request waits for it
	done chan struct{} // closed when the key or the error is known
	key  store.APIKey
	err  error
}

func newKeys(read func(context.Context, string) (store.APIKey, error)) *keys {
	return &keys{read: read, running: map[string]*keyLookup{}}
}

// find returns the key with this id.
func (k *keys) find(ctx context.Context, id string) (store.APIKey, error) {
	l := k.join(id)
	if l == nil {
		return k.read(ctx, id)
	}
	select {
	case <-l.done:
		return l.key, l.err
	case <-ctx.Done():
		return store.APIKey{}, ctx.Err()
	}
}

// join returns a lookup that has not started yet; nil if there are too many.
func (k *keys) join(id string) *keyLookup {
	k.mu.Lock()
	defer k.mu.Unlock()
	running := k.running[id]
	if running != nil && running.next != nil {
		return running.next
	}
	if running == nil && len(k.running) >= maxKeyLookups {
		return nil
	}
	l := &keyLookup{done: make(chan struct{})}
	if running != nil {
		running.next = l
	} else {
		k.running[id] = l
		go k.run(id, l)
	}
	return l
}

// run runs a lookup and those that follow. They do not end with the client of the first
// request, so their context is not that of the request.
func (k *keys) run(id string, l *keyLookup) {
	for l != nil {
		l.run(id, k.read)
		k.mu.Lock()
		if l.next != nil {
			k.running[id] = l.next
		} else {
			delete(k.running, id)
		}
		k.mu.Unlock()
		close(l.done)
		l = l.next
	}
}

// run reads the key. A panic is an error of all requests that wait.
func (l *keyLookup) run(id string, read func(context.Context, string) (store.APIKey, error)) {
	ctx, cancel := context.WithTimeout(context.Background(), keyTimeout)
	defer cancel()
	defer func() {
		if fault := recover(); fault != nil {
			l.key, l.err = store.APIKey{}, fmt.Errorf("lookup of key %q panicked: %v", id, fault)
		}
	}()
	l.key, l.err = read(ctx, id)
}
