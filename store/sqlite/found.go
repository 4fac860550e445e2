package sqlite

import (
	"cmp"
	"context"
	"database/sql/driver"
	"fmt"
	"slices"
	"time"

	"headway/job"
	"headway/store"
	"headway/store/internal/record"
	"headway/visit"
	"headway/weburl"
)

// Add implements [store.URLs].
func (s *Store) Add(ctx context.Context, now time.Time, found []store.Found) (store.Receipt, error) {
	if len(found) > store.MaxFound {
		return store.Receipt{}, fmt.Errorf("add %d URLs, at most %d", len(found), store.MaxFound)
	}
	for i := range found {
		if err := found[i].Check(); err != nil {
			return store.Receipt{}, err
		}
	}
	var receipt store.Receipt
	err := s.change(ctx, func(ctx context.Context) error {
		b := newBatch(s, now, 0)
		if err := b.add(ctx, found); err != nil {
			return err
		}
		if err := b.finish(ctx); err != nil {
			return err
		}
		receipt = b.receipt
		return nil
	})
	if err != nil {
		return store.Receipt{}, fmt.Errorf("add %d URLs: %w", len(found), err)
	}
	return receipt, nil
}

// batch is one change in progress.
type batch struct {
	*Store
	at      int64
	worker  store.WorkerID // the worker that makes it; 0 for none
	receipt store.Receipt
	refs    map[string]hostRef              // hosts of the batch
	pages   map[job.ID]map[weburl.URL]int64 // row ids of known URLs
	tally   map[job.ID]map[int64]int64      // changes of the counts
	arrived map[int64]map[job.ID]bool       // queues owned by other workers
}

func newBatch(s *Store, at time.Time, w store.WorkerID) *batch {
	return &batch{
		Store: s, at: milli(at), worker: w, refs: map[string]hostRef{}, pages: map[job.ID]map[weburl.URL]int64{},
		tally: map[job.ID]map[int64]int64{}, arrived: map[int64]map[job.ID]bool{},
	}
}

// The rows of table tally that are not endings.
const (
	tallyWaiting  = 0
	tallyAdmitted = -1
	tallyErrands  = -2 // waiting errands
)

func (b *batch) count(id job.ID, ending, n int64) {
	if b.tally[id] == nil {
		b.tally[id] = map[int64]int64{}
	}
	b.tally[id][ending] += n
}

// admit counts URLs set to waiting.
func (b *batch) admit(id job.ID, n int64) {
	b.count(id, tallyWaiting, n)
	b.count(id, tallyAdmitted, n)
}

// tables returns the statements of a job, or ErrNotFound. The caller must hold mu.
func (s *Store) tables(id job.ID) (*jobTables, error) {
	if t := s.jobs[id]; t != nil {
		return t, nil
	}
	return nil, fmt.Errorf("job %d: %w", id, store.ErrNotFound)
}

// group is one URL of a batch of found URLs, however often it was found.
type group struct {
	ref  hostRef
	fp   weburl.Fingerprint128
	use  int   // the index in the list that counts if the URL is new
	wait int   // the first index that waits; -1 for none
	url  int64 // row id
}

// urlKey is the unique key within a job.
type urlKey struct {
	host int64
	fp   weburl.Fingerprint128
}

// add stores checked found URLs.
func (b *batch) add(ctx context.Context, found []store.Found) error {
	byJob := map[job.ID][]int{}
	var aside []int
	for i := range found {
		f := &found[i]
		if f.Aside() {
			aside = append(aside, i)
			continue
		}
		b.refs[f.Item.URL.Host()] = hostRef{}
		byJob[f.Item.Job] = append(byJob[f.Item.Job], i)
	}
	for _, i := range aside {
		if _, err := b.tables(found[i].Item.Job); err != nil {
			return err
		}
	}
	if err := b.resolve(ctx, true); err != nil {
		return err
	}
	for id, places := range byJob {
		t, err := b.tables(id)
		if err != nil {
			return err
		}
		if err := b.addToJob(ctx, t, found, places); err != nil {
			return err
		}
	}
	slices.Sort(b.receipt.Fresh)
	return b.setAside(ctx, found, aside)
}

// addToJob stores the found URLs of one job.
func (b *batch) addToJob(ctx context.Context, t *jobTables, found []store.Found, places []int) error {
	groups, byKey := b.group(found, places)
	first := t.last + 1
	var isNew, again []*group
	see := func(list []*group, waits func(g *group) bool) error {
		_, err := b.w.bulk(ctx, &t.see, len(list), func(i int, args []driver.NamedValue) {
			g := list[i]
			f := &found[g.use]
			args[0].Value, args[1].Value, args[2].Value, args[3].Value, args[4].Value = g.ref.id, g.fp[:], g.url, nil, nil
			if waits(g) {
				args[3].Value = int64(store.Rank(&found[g.wait].Item))
			} else if f.Reason.Provisional() {
				args[4].Value = int64(1)
			}
		}, func(row []driver.Value) error {
			id := integer(row[0])
			g := byKey[urlKey{integer(row[1]), weburl.Fingerprint128(blob(row[2]))}]
			if id == g.url {
				isNew = append(isNew, g)
			} else {
				g.url = id
				again = append(again, g)
			}
			return nil
		})
		return err
	}
	// Row ids follow the order in which URLs were found; the inserts follow the order of
	// the table.
	for i := range groups {
		groups[i].url = first + int64(i)
	}
	sorted := make([]*group, len(groups))
	var late []*group // skipped URLs that wait further down the list: a known provisional skip may be taken back
	for i := range groups {
		g := &groups[i]
		sorted[i] = g
		if g.wait >= 0 && g.use != g.wait {
			late = append(late, g)
		}
	}
	slices.SortFunc(sorted, func(x, y *group) int {
		return cmp.Or(cmp.Compare(x.ref.id, y.ref.id), slices.Compare(x.fp[:], y.fp[:]))
	})
	if err := see(sorted, func(g *group) bool { return g.use == g.wait }); err != nil {
		return err
	}
	if err := see(late, func(*group) bool { return true }); err != nil {
		return err
	}
	for _, g := range isNew {
		t.last = max(t.last, g.url)
	}
	slices.SortFunc(isNew, func(x, y *group) int { return cmp.Compare(x.url, y.url) })
	if err := b.insert(ctx, t, found, isNew); err != nil {
		return err
	}
	return b.readmit(ctx, t, found, again)
}

// group merges the entries of the same URL. If the run has not seen it, the first entry
// counts, except that a provisional skip yields to a later wait.
func (b *batch) group(found []store.Found, places []int) ([]group, map[urlKey]*group) {
	groups := make([]group, 0, len(places))
	byKey := make(map[urlKey]*group, len(places))
	for _, i := range places {
		f := &found[i]
		ref := b.refs[f.Item.URL.Host()]
		k := urlKey{ref.id, f.Item.URL.Fingerprint128(b.key)}
		g := byKey[k]
		if g == nil {
			groups = append(groups, group{ref: ref, fp: k.fp, use: i, wait: -1}) // within its capacity: pointers stay valid
			g = &groups[len(groups)-1]
			byKey[k] = g
		}
		if f.Outcome == "" && g.wait < 0 {
			g.wait = i
			if found[g.use].Reason.Provisional() {
				g.use = i
			}
		}
	}
	return groups, byKey
}

// insert stores the rows of new URLs.
func (b *batch) insert(ctx context.Context, t *jobTables, found []store.Found, groups []*group) error {
	if len(groups) == 0 {
		return nil
	}
	vias, err := b.vias(ctx, t, found, groups)
	if err != nil {
		return err
	}
	var bad error
	_, err = b.w.bulk(ctx, &t.addURL, len(groups), func(i int, args []driver.NamedValue) {
		g := groups[i]
		it := &found[g.use].Item
		x, err := extraOf(it)
		bad = cmp.Or(bad, err)
		args[0].Value, args[1].Value, args[2].Value, args[3].Value, args[4].Value = g.url, g.ref.id, it.URL.PathQuery(), vias[i], record.FoundNumber(it.Found)
		args[5].Value, args[6].Value, args[7].Value, args[8].Value, args[9].Value = int64(it.Depth), int64(it.Hops), int64(it.Priority), b.at, x
	}, nil)
	if err != nil || bad != nil {
		return cmp.Or(err, bad)
	}
	b.receipt.Seen += len(groups)
	var waiting, ended []*group
	for _, g := range groups {
		if found[g.use].Outcome == "" {
			waiting = append(waiting, g)
		} else {
			ended = append(ended, g)
		}
	}
	_, err = b.w.bulk(ctx, &t.addOutcome, len(ended), func(i int, args []driver.NamedValue) {
		f := &found[ended[i].use]
		e := b.endings[store.Ending{Outcome: f.Outcome, Reason: f.Reason}]
		args[0].Value, args[1].Value, args[2].Value, args[3].Value = ended[i].url, e, b.at, int64(f.Item.Attempt)
		b.count(t.id, e, 1)
	}, nil)
	if err != nil {
		return err
	}
	return b.enqueue(ctx, t, found, waiting)
}

// enqueue sets URLs to waiting.
func (b *batch) enqueue(ctx context.Context, t *jobTables, found []store.Found, groups []*group) error {
	slices.SortFunc(groups, func(x, y *group) int { return cmp.Compare(x.ref.id, y.ref.id) })
	_, err := b.w.bulk(ctx, &t.enqueue, len(groups), func(i int, args []driver.NamedValue) {
		g := groups[i]
		it := &found[g.wait].Item
		args[0].Value, args[1].Value, args[2].Value, args[3].Value, args[4].Value = g.ref.id, int64(store.Rank(it)), g.url, int64(it.Attempt), milli(it.NotBefore)
		b.receipt.Fresh = append(b.receipt.Fresh, g.wait)
		b.arrive(t.id, g.ref)
	}, nil)
	b.admit(t.id, int64(len(groups)))
	return err
}

// arrive records a queue whose owner, another worker, must be notified.
func (b *batch) arrive(id job.ID, ref hostRef) {
	if owner := b.ledger.Slots[ref.slot].Owner; owner == 0 || owner == b.worker {
		return
	}
	if b.arrived[ref.id] == nil {
		b.arrived[ref.id] = map[job.ID]bool{}
	}
	b.arrived[ref.id][id] = true
}

// readmit turns provisional skips back to waiting.
func (b *batch) readmit(ctx context.Context, t *jobTables, found []store.Found, groups []*group) error {
	if len(groups) == 0 {
		return nil
	}
	for _, g := range groups {
		g.use = g.wait
	}
	_, err := b.w.bulk(ctx, &t.forgetOutcome, len(groups), func(i int, args []driver.NamedValue) {
		args[0].Value = groups[i].url
	}, func(row []driver.Value) error {
		b.count(t.id, integer(row[1]), -1)
		return nil
	})
	if err != nil {
		return err
	}
	vias, err := b.vias(ctx, t, found, groups)
	if err != nil {
		return err
	}
	var bad error
	_, err = b.w.bulk(ctx, &t.readmitURL, len(groups), func(i int, args []driver.NamedValue) {
		it := &found[groups[i].use].Item
		x, err := extraOf(it)
		bad = cmp.Or(bad, err)
		args[0].Value, args[1].Value, args[2].Value, args[3].Value = groups[i].url, vias[i], record.FoundNumber(it.Found), int64(it.Depth)
		args[4].Value, args[5].Value, args[6].Value = int64(it.Hops), int64(it.Priority), x
	}, nil)
	if err != nil || bad != nil {
		return cmp.Or(err, bad)
	}
	return b.enqueue(ctx, t, found, groups)
}

// vias returns the column via for each group: the row id of the page with the link, its
// address if the page is not a URL of the run, null for a seed.
func (b *batch) vias(ctx context.Context, t *jobTables, found []store.Found, groups []*group) ([]driver.Value, error) {
	known := b.pages[t.id]
	if known == nil {
		known = map[weburl.URL]int64{}
		b.pages[t.id] = known
	}
	var unknown []weburl.URL
	for _, g := range groups {
		via := found[g.use].Item.Via
		if _, ok := known[via]; !ok && !via.IsZero() {
			known[via] = 0
			unknown = append(unknown, via)
			if _, ok := b.refs[via.Host()]; !ok {
				b.refs[via.Host()] = hostRef{}
			}
		}
	}
	if err := b.resolve(ctx, false); err != nil {
		return nil, err
	}
	unknown = slices.DeleteFunc(unknown, func(u weburl.URL) bool { return b.refs[u.Host()].id == 0 })
	err := b.find(ctx, t, unknown, func(i int, id, _ int64) { known[unknown[i]] = id })
	vias := make([]driver.Value, len(groups))
	for i, g := range groups {
		switch via := found[g.use].Item.Via; {
		case via.IsZero():
		case known[via] != 0:
			vias[i] = known[via]
		default:
			vias[i] = via.String()
		}
	}
	return vias, err
}

// find looks up URLs whose hosts are resolved, and calls got with the row id and rank of
// those that exist.
func (b *batch) find(ctx context.Context, t *jobTables, urls []weburl.URL, got func(i int, id, rank int64)) error {
	_, err := b.w.bulk(ctx, &t.find, len(urls), func(i int, args []driver.NamedValue) {
		fp := urls[i].Fingerprint128(b.key)
		args[0].Value, args[1].Value, args[2].Value = b.refs[urls[i].Host()].id, fp[:], int64(i)
	}, func(row []driver.Value) error {
		got(int(integer(row[0])), integer(row[1]), integer(row[2]))
		return nil
	})
	return err
}

// setAside stores out-of-scope URLs.
func (b *batch) setAside(ctx context.Context, found []store.Found, places []int) error {
	ending := b.endings[store.Ending{Outcome: visit.Skipped, Reason: visit.OutOfScope}]
	byJob := map[job.ID][]int{}
	for _, i := range places {
		byJob[found[i].Item.Job] = append(byJob[found[i].Item.Job], i)
	}
	for id, places := range byJob {
		t, err := b.tables(id)
		if err != nil {
			return err
		}
		var kept int64
		if _, err := b.w.one(ctx, "select n from tally where job = ? and ending = ?", []driver.Value{int64(id), ending}, &kept); err != nil {
			return err
		}
		n, err := b.w.bulk(ctx, &t.setAside, len(places), func(i int, args []driver.NamedValue) {
			f := &found[places[i]]
			fp := f.Item.URL.Fingerprint128(b.key)
			args[0].Value, args[1].Value, args[2].Value = int64(asideSlot), fp[:], f.Item.URL.String()
			if kept+int64(i) >= store.MaxAside {
				args[2].Value = f.Item.URL.Host()
			}
		}, nil)
		if err != nil {
			return err
		}
		if err := b.keepAsideItems(ctx, t, found, places[:min(int64(len(places)), max(store.MaxAside-kept, 0))]); err != nil {
			return err
		}
		b.receipt.Seen += int(n)
		b.count(id, ending, n)
	}
	return nil
}

// Statements on hosts.
var (
	findHosts = newBulk(`with w (host) as (values `, `(?)`, `) select h.id, h.host, h.slot from w cross join host h on h.host = w.host`)
	addHosts  = newBulk(`insert into host (id, host, slot) values `, `(?,?,?)`, ``)
)

// resolve reads the row ids of the batch's hosts, and creates missing hosts if create is
// set.
func (b *batch) resolve(ctx context.Context, create bool) error {
	var missing []string
	for name, ref := range b.refs {
		if ref.id != 0 {
			continue
		}
		if ref, ok := b.hosts[name]; ok {
			b.refs[name] = ref
		} else {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing)
	_, err := b.w.bulk(ctx, &findHosts, len(missing), func(i int, args []driver.NamedValue) { args[0].Value = missing[i] }, func(row []driver.Value) error {
		b.remember(text(row[1]), hostRef{integer(row[0]), store.Slot(integer(row[2]))})
		return nil
	})
	if err != nil || !create {
		return err
	}
	missing = slices.DeleteFunc(missing, func(name string) bool { return b.refs[name].id != 0 })
	for _, name := range missing {
		u, err := store.ParseHost(name)
		if err != nil {
			return err
		}
		b.lastID.host++
		b.remember(name, hostRef{b.lastID.host, store.SlotOf(b.key, u.Domain())})
	}
	_, err = b.w.bulk(ctx, &addHosts, len(missing), func(i int, args []driver.NamedValue) {
		ref := b.refs[missing[i]]
		args[0].Value, args[1].Value, args[2].Value = ref.id, missing[i], int64(ref.slot)
	}, nil)
	return err
}

// remember caches the row id of a host for this batch and later ones.
func (b *batch) remember(name string, ref hostRef) {
	b.refs[name] = ref
	if len(b.hosts) >= hostCache {
		clear(b.hosts)
	}
	b.hosts[name] = ref
}

// Statements at the end of a batch.
var (
	addTally   = newBulk(`insert into tally (job, ending, n) values `, `(?,?,?)`, ` on conflict (job, ending) do update set n = n + excluded.n`)
	addArrival = newBulk(`insert into arrival (host, job) values `, `(?,?)`, ` on conflict do nothing`)
)

// finish writes the counts and arrival notices of a batch.
func (b *batch) finish(ctx context.Context) error {
	type entry struct{ job, ending, n int64 }
	var up, down []entry
	for id, m := range b.tally {
		for e, n := range m {
			switch {
			case n > 0:
				up = append(up, entry{int64(id), e, n})
			case n < 0:
				down = append(down, entry{int64(id), e, n})
			}
		}
	}
	_, err := b.w.bulk(ctx, &addTally, len(up), func(i int, args []driver.NamedValue) {
		args[0].Value, args[1].Value, args[2].Value = up[i].job, up[i].ending, up[i].n
	}, nil)
	if err != nil {
		return err
	}
	// A count that decreases has a row: inserting a negative number would fail the check
	// of the table before the conflict is found.
	for _, e := range down {
		if _, err := b.w.exec(ctx, "update tally set n = n + ? where job = ? and ending = ?", e.n, e.job, e.ending); err != nil {
			return err
		}
	}
	var arrived []entry
	for host, jobs := range b.arrived {
		for id := range jobs {
			arrived = append(arrived, entry{host, int64(id), 0})
		}
	}
	_, err = b.w.bulk(ctx, &addArrival, len(arrived), func(i int, args []driver.NamedValue) {
		args[0].Value, args[1].Value = arrived[i].job, arrived[i].ending
	}, nil)
	if err == nil && len(arrived) > 0 { // none for a cancelled job
		_, err = b.w.exec(ctx, "delete from arrival where job in (select id from job where state = 'cancelled')")
	}
	return err
}
