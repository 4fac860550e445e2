package postgres

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"headway/job"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// batch is one Add or Commit in progress. Each retry makes a new one.
type batch struct {
	*change
	at       int64
	worker   store.WorkerID        // the worker that makes it; 0 for none
	owned    map[store.Slot]bool   // slots the worker certainly owns
	tables   map[job.ID]*jobTables // of all jobs of the batch
	refs     map[string]hostRef    // of all hosts of the batch
	limited  map[job.ID]bool       // jobs with a page limit and an account
	exists   map[job.ID]bool       // jobs that exist in this transaction
	tenants  map[job.ID]string     // their tenants; jobs without one are left out
	tally    map[tallyKey]int64    // changes of the counts
	hostTime []store.HostTime
	arrived  map[arrivalKey]bool // queues that other workers may own
	notified []store.WorkerID    // workers to notify of them
	learned  map[factID]string   // facts stored with it
	receipt  store.Receipt
}

type tallyKey struct {
	job    int32
	ending int16
}

type arrivalKey struct {
	slot int16
	host int64
	job  int32
}

// The rows of table tally that are not endings.
const (
	tallyWaiting  = 0
	tallyAdmitted = -1
	tallyErrands  = -2 // waiting errands
)

func (b *batch) count(id job.ID, ending int16, n int64) { b.tally[tallyKey{int32(id), ending}] += n }

// admit counts a URL set to waiting, and records its queue.
func (b *batch) admit(id job.ID, ref hostRef) {
	b.count(id, tallyWaiting, 1)
	b.count(id, tallyAdmitted, 1)
	b.arrive(id, ref)
}

// arrive records a queue whose owner may have to be notified.
func (b *batch) arrive(id job.ID, ref hostRef) {
	if !b.owned[ref.slot] {
		b.arrived[arrivalKey{int16(ref.slot), ref.id, int32(id)}] = true
	}
}

// needs are the jobs and hosts of a batch, which are looked up before it begins.
type needs struct {
	jobs   map[job.ID]bool
	hosts  map[string]bool
	tables map[job.ID]*jobTables
	refs   map[string]hostRef
}

func newNeeds() *needs { return &needs{jobs: map[job.ID]bool{}, hosts: map[string]bool{}} }

// resolve looks the needs up. Unknown hosts are stored in a separate transaction: a host
// without URLs does no harm.
func (s *Store) resolve(ctx context.Context, n *needs) (err error) {
	if n.tables, err = s.tablesOfJobs(ctx, slices.Collect(maps.Keys(n.jobs))); err != nil {
		return err
	}
	n.refs, err = s.hostRefs(ctx, n.hosts, true)
	return err
}

// newBatch begins a batch within a transaction: it ensures that its jobs exist and are not
// moved or dropped meanwhile. If one was moved since the needs were looked up, sending fails
// with errMoved, and the change is run again with the tables that it has now.
func newBatch(c *change, at time.Time, w store.WorkerID, n *needs) *batch {
	b := &batch{
		change: c, at: milli(at), worker: w, owned: map[store.Slot]bool{}, tables: n.tables, refs: n.refs,
		limited: map[job.ID]bool{}, exists: map[job.ID]bool{}, tenants: map[job.ID]string{}, tally: map[tallyKey]int64{}, arrived: map[arrivalKey]bool{}, learned: map[factID]string{},
	}
	var ids []int32
	for id := range n.tables {
		ids = append(ids, int32(id))
	}
	slices.Sort(ids)
	c.lockJobs(ids)
	var id job.ID
	var limited, moved bool
	var tenant string
	var tables int32
	c.queue("select id, max_pages > 0 and state <> 'cancelled', tenant, shelf from job where id = any($1::int[])", ids).Query(func(r pgx.Rows) error {
		_, err := pgx.ForEachRow(r, []any{&id, &limited, &tenant, &tables}, func() error {
			b.exists[id], b.limited[id] = true, limited
			if tenant != "" {
				b.tenants[id] = tenant
			}
			if n.tables[id].id != tables {
				n.tables[id], moved = c.s.rememberTables(id, tables), true
			}
			return nil
		})
		if err == nil && moved {
			err = errMoved
		}
		return err
	})
	c.exec("select nextval('batch')")
	return b
}

// must reports a job of the batch that does not exist. This is known after the first
// statements were sent.
func (b *batch) must(id job.ID) error {
	if !b.exists[id] {
		return fmt.Errorf("job %d: %w", id, store.ErrNotFound)
	}
	return nil
}

// byTables groups the indexes of a list by the tables of their job. Missing jobs have no
// tables.
func (b *batch) byTables(n int, jobOf func(i int) job.ID) map[*jobTables][]int {
	groups := map[*jobTables][]int{}
	for i := range n {
		if jt := b.tables[jobOf(i)]; jt != nil {
			groups[jt] = append(groups[jt], i)
		}
	}
	return groups
}

// finish writes facts, notices and counts, in an order that is the same for all batches, to
// avoid deadlocks.
func (b *batch) finish() {
	b.storeFacts()
	b.storeArrivals()
	b.storeTally()
	b.storeHostTime()
}

func (b *batch) storeFacts() {
	b.s.cacheMu.Lock()
	maps.DeleteFunc(b.learned, func(id factID, _ string) bool { return b.s.facts[id] })
	b.s.cacheMu.Unlock()
	if len(b.learned) == 0 {
		return
	}
	ids := slices.SortedFunc(maps.Keys(b.learned), func(x, y factID) int { return slices.Compare(x[:], y[:]) })
	keys, texts := make([][16]byte, len(ids)), make([]string, len(ids))
	for i, id := range ids {
		keys[i], texts[i] = id, b.learned[id]
	}
	b.exec("insert into evidence (id, fact) select * from unnest($1::uuid[], $2::text[]) on conflict do nothing", keys, texts)
}

// storeArrivals writes arrival notices for the owners of queues. A slot without an owner
// gets them, too: its next owner may read the hosts before this is visible. A cancelled job
// gets none.
func (b *batch) storeArrivals() {
	if len(b.arrived) == 0 {
		return
	}
	keys := slices.SortedFunc(maps.Keys(b.arrived), func(x, y arrivalKey) int {
		return cmp.Or(cmp.Compare(x.slot, y.slot), cmp.Compare(x.host, y.host), cmp.Compare(x.job, y.job))
	})
	slots, hosts, jobs := make([]int16, len(keys)), make([]int64, len(keys)), make([]int32, len(keys))
	for i, k := range keys {
		slots[i], hosts[i], jobs[i] = k.slot, k.host, k.job
	}
	var owner store.WorkerID
	b.queue(`with a as (insert into arrival (slot, host, job) select w.slot, w.host, w.job from unnest($2::smallint[], $3::bigint[], $4::int[]) as w (slot, host, job)
			join slot s on s.id = w.slot join job j on j.id = w.job where s.owner <> $1 and j.state <> 'cancelled' on conflict do nothing returning slot)
		select distinct s.owner from a join slot s on s.id = a.slot where s.owner <> 0`, b.worker, slots, hosts, jobs).Query(rows([]any{&owner}, func() error {
		b.notified = append(b.notified, owner)
		return nil
	}))
}

func (b *batch) storeTally() {
	maps.DeleteFunc(b.tally, func(_ tallyKey, n int64) bool { return n == 0 })
	if len(b.tally) == 0 {
		return
	}
	keys := slices.SortedFunc(maps.Keys(b.tally), func(x, y tallyKey) int {
		return cmp.Or(cmp.Compare(x.job, y.job), cmp.Compare(x.ending, y.ending))
	})
	jobs, endings, numbers := make([]int32, len(keys)), make([]int16, len(keys)), make([]int64, len(keys))
	for i, k := range keys {
		jobs[i], endings[i], numbers[i] = k.job, k.ending, b.tally[k]
	}
	b.exec(`insert into tally (job, shard, ending, n) select w.job, $1, w.ending, w.n from unnest($2::int[], $3::smallint[], $4::bigint[]) as w (job, ending, n)
		on conflict (job, shard, ending) do update set n = tally.n + excluded.n`, b.shard(), jobs, endings, numbers)
}

// shard is the part of the counts that this batch adds to.
func (b *batch) shard() int16 {
	if b.worker != 0 {
		return int16(b.worker % shards)
	}
	return b.s.shard
}

// committed caches what is stored now, notifies the workers concerned, and moves jobs that
// have become large.
func (b *batch) committed(ctx context.Context) {
	b.s.cacheMu.Lock()
	for id := range b.learned {
		if len(b.s.facts) >= factCache {
			clear(b.s.facts)
		}
		b.s.facts[id] = true
	}
	b.s.cacheMu.Unlock()
	b.s.notifier.notify(store.NewArrivals, b.notified...)
	if ids := b.grown(); len(ids) > 0 {
		afterCommit(ctx, func(ctx context.Context) { b.s.moveLarge(ctx, ids) })
	}
}

// gone turns the error of a batch whose job was dropped meanwhile into ErrNotFound.
func (s *Store) gone(ctx context.Context, n *needs, err error) error {
	if code(err) != codeNoTable {
		return err
	}
	for id := range n.jobs {
		s.forgetJob(id)
	}
	found, again := s.tablesOfJobs(ctx, slices.Collect(maps.Keys(n.jobs)))
	if again != nil || len(found) == len(n.jobs) {
		return err
	}
	return fmt.Errorf("a job was dropped: %w: %w", store.ErrNotFound, err)
}

// urlKey is the unique key: one URL of one job.
type urlKey struct {
	job  int32
	slot int16
	host int64
	fp   weburl.Fingerprint128
}

// compareKeys is the order of the index of a large job.
func compareKeys(x, y *urlKey) int {
	return cmp.Or(cmp.Compare(x.host, y.host), bytes.Compare(x.fp[:], y.fp[:]), cmp.Compare(x.job, y.job), cmp.Compare(x.slot, y.slot))
}

func (b *batch) keyOf(it *visit.Item) urlKey {
	ref := b.refs[it.URL.Host()]
	return urlKey{int32(it.Job), int16(ref.slot), ref.id, it.URL.Fingerprint128(b.s.key)}
}

// fits clamps a number to the range of a column.
func fits(n int) int32 { return int32(min(max(n, math.MinInt32), math.MaxInt32)) }

// hostRefs finds the row ids of hosts, and creates missing hosts if create is set.
// Otherwise these are left out.
func (s *Store) hostRefs(ctx context.Context, names map[string]bool, create bool) (map[string]hostRef, error) {
	refs := make(map[string]hostRef, len(names))
	var missing []string
	s.cacheMu.Lock()
	for name := range names {
		if ref, ok := s.hosts[name]; ok {
			refs[name] = ref
		} else {
			missing = append(missing, name)
		}
	}
	s.cacheMu.Unlock()
	if len(missing) == 0 {
		return refs, nil
	}
	slices.Sort(missing)
	find := func(sql string, args ...any) error {
		var name string
		var ref hostRef
		r, err := s.reading(ctx).Query(ctx, sql, args...)
		if err != nil {
			return err
		}
		_, err = pgx.ForEachRow(r, []any{&ref.id, &ref.slot, &name}, func() error {
			refs[name] = ref
			return nil
		})
		missing = slices.DeleteFunc(missing, func(name string) bool { return refs[name].id != 0 })
		return err
	}
	const findHosts = "select h.id, h.slot, h.name from unnest($1::text[]) as w (name) join host h on h.name = w.name"
	if err := find(findHosts, missing); err != nil {
		return nil, wrap(err)
	}
	if create && len(missing) > 0 {
		slots := make([]int16, len(missing))
		for i, name := range missing {
			u, err := store.ParseHost(name)
			if err != nil {
				return nil, err
			}
			slots[i] = int16(store.SlotOf(s.key, u.Domain()))
		}
		if err := s.fault.Stop("add hosts"); err != nil {
			return nil, err
		}
		err := find("insert into host (name, slot) select w.name, w.slot from unnest($1::text[], $2::smallint[]) as w (name, slot) on conflict (name) do nothing returning id, slot, name", missing, slots)
		if err == nil && len(missing) > 0 { // another process was faster
			err = find(findHosts, missing)
		}
		if err != nil {
			return nil, wrap(err)
		}
	}
	s.rememberHosts(refs)
	return refs, nil
}

func (s *Store) rememberHosts(refs map[string]hostRef) {
	s.cacheMu.Lock()
	defer s.cacheMu.Unlock()
	if len(s.hosts)+len(refs) > hostCache {
		clear(s.hosts)
	}
	maps.Copy(s.hosts, refs)
}
