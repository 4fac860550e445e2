// Package memory keeps a crawl's state in memory: for tests, for examples, and as the
// model with which the durable engines are compared.
//
// It implements the whole contract of package store except that nothing survives the
// process and that memory grows with what is stored. Every method holds one lock, so all
// of them are atomic and none blocks on anything else.
package memory

import (
	"cmp"
	"context"
	"crypto/rand"
	"slices"
	"sync"
	"time"

	"headway/job"
	"headway/store"
	"headway/store/internal/ledger"
	"headway/visit"
	"headway/weburl"
)

// Store is a store in memory. Make one with [Open].
type Store struct {
	key   weburl.Key
	fault store.Fault

	mu           sync.Mutex
	ledger       *ledger.Ledger
	jobs         map[job.ID]*run
	lastJob      job.ID
	hosts        map[string]store.Host
	paces        map[string][]store.PaceChange
	robots       map[[32]byte]store.RobotsVersion
	arrivals     map[store.Arrival]bool
	addressLoads map[store.WorkerID][]store.AddressLoad
	rates        store.Timeline
	queue        queue
	tenants      tenants
	optOuts      optOuts
	owned        owned
	suspects     suspects
	settings     settings

	messages    []*message // by age
	lastMessage store.MessageID
}

// run is a job and all its URLs.
type run struct {
	store.Job
	turn     int64 // when it was queued
	admitted int64
	urls     map[weburl.URL]*row
	order    []*row // by age
	aside    map[weburl.URL]visit.Item
	links    bool      // some were kept
	errands  []*errand // by age
	taken    map[string]bool
	points   []store.Point
	hostTime map[string]time.Duration
	segments map[string]bool
	notices  []store.Notice // oldest first
}

// errand is an errand of a run.
type errand struct {
	store.Errand
	ended bool
}

// row is one URL of a run.
type row struct {
	seq      int
	item     visit.Item
	outcome  visit.Outcome // Pending while it waits
	reason   visit.Reason
	seenAt   time.Time
	endedAt  time.Time
	visit    *visit.Visit
	attempts []visit.Visit
}

var (
	_ store.Store = (*Store)(nil)
	_ store.Queue = (*Store)(nil)
)

// Config configures a Store. The zero Config is valid.
type Config struct {
	Terms store.Terms // of leases; zero means store.DefaultTerms
	Key   weburl.Key  // the secret of the store; zero means a random one
	Fault store.Fault // for tests
}

// Open makes an empty store.
func Open(c Config) *Store {
	s := &Store{
		fault: c.Fault, ledger: ledger.New(c.Terms, 0), jobs: map[job.ID]*run{}, hosts: map[string]store.Host{},
		paces: map[string][]store.PaceChange{}, robots: map[[32]byte]store.RobotsVersion{}, arrivals: map[store.Arrival]bool{},
		queue: queue{served: map[string]int64{}}, tenants: tenants{map[string]store.Plan{}, map[string]store.Tenant{}, map[month]store.Usage{}},
		rates: store.Timeline{}, optOuts: optOuts{names: map[string]store.OptOut{}}, owned: owned{map[string]map[string]store.OwnedHost{}, map[string]time.Time{}},
		suspects: suspects{map[suspectKey]*suspect{}, map[store.Slot]time.Time{}},
		settings: newSettings(),
	}
	if s.key = c.Key; s.key == (weburl.Key{}) {
		// crypto/rand never returns an error: it crashes the process instead.
		_, _ = rand.Read(s.key[:])
	}
	return s
}

// Key returns the secret key of the store.
func (s *Store) Key() weburl.Key { return s.key }

// Close ends all leases uncleanly and keeps the data, as a file would.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.ledger.Workers() {
		s.ledger.End(w.ID, true)
	}
	return nil
}

// begin locks the store for a method. The caller unlocks.
func (s *Store) begin(ctx context.Context, statement string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.fault.Stop(statement); err != nil {
		return err
	}
	s.mu.Lock()
	return nil
}

// slotOf is the slot of a valid host.
func (s *Store) slotOf(host string) store.Slot {
	u, err := store.ParseHost(host)
	if err != nil {
		return 0
	}
	return store.SlotOf(s.key, u.Domain())
}

// byQueue is the order of waiting rows in a queue.
func byQueue(a, b *row) int {
	return cmp.Or(cmp.Compare(store.Rank(&a.item), store.Rank(&b.item)), cmp.Compare(a.seq, b.seq))
}

// waiting returns the waiting rows of a run on a host, in order; an empty host means all
// hosts.
func (r *run) waiting(host string) []*row {
	var rows []*row
	for _, x := range r.order {
		if x.outcome == visit.Pending && (host == "" || x.item.URL.Host() == host) {
			rows = append(rows, x)
		}
	}
	slices.SortFunc(rows, byQueue)
	return rows
}
