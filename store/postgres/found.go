package postgres

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"headway/job"
	"headway/store"
	"headway/store/internal/record"
	"headway/visit"
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
	n := needsOf(&store.Commit{Found: found})
	if err := s.resolve(ctx, n); err != nil {
		return store.Receipt{}, fmt.Errorf("add %d URLs: %w", len(found), err)
	}
	var b *batch
	err := s.change(ctx, func(ctx context.Context, c *change) error {
		b = newBatch(c, now, 0, n)
		return b.add(ctx, found)
	})
	if err != nil {
		return store.Receipt{}, fmt.Errorf("add %d URLs: %w", len(found), s.gone(ctx, n, err))
	}
	b.committed(ctx)
	return b.receipt, nil
}

// add stores found URLs and ends the batch.
func (b *batch) add(ctx context.Context, found []store.Found) error {
	groups, err := b.queueFound(found)
	if err != nil {
		return err
	}
	if err := b.send(ctx); err != nil {
		return err
	}
	for i := range found {
		if err := b.must(found[i].Item.Job); err != nil {
			return err
		}
	}
	if err := b.settleFound(ctx, found, groups); err != nil {
		return err
	}
	b.finish()
	return nil
}

// group is one URL of a batch of found URLs, however often it was found.
type group struct {
	key   urlKey
	ref   hostRef
	first int   // the index in the list where it was found first: URLs are queued in this order
	use   int   // the index that counts if the URL is new
	wait  int   // the first index that waits; -1 for none
	url   int64 // row id, if known
	isNew bool
}

// tableGroups are the URLs of one set of tables.
type tableGroups struct {
	jobTables *jobTables
	list      []group // sorted by key
}

// groupFound merges the entries of the same URL. If the run has not seen it, the first entry
// counts, except that a provisional skip yields to a later wait. They are sorted by key to
// avoid deadlocks.
func (b *batch) groupFound(found []store.Found) []tableGroups {
	var all []tableGroups
	for jt, places := range b.byTables(len(found), func(i int) job.ID { return found[i].Item.Job }) {
		list := make([]group, 0, len(places))
		byKey := make(map[urlKey]int, len(places))
		for _, i := range places {
			f := &found[i]
			if f.Aside() {
				continue
			}
			k := b.keyOf(&f.Item)
			at, ok := byKey[k]
			if !ok {
				at = len(list)
				byKey[k] = at
				list = append(list, group{key: k, ref: b.refs[f.Item.URL.Host()], first: i, use: i, wait: -1})
			}
			if g := &list[at]; f.Outcome == "" && g.wait < 0 {
				g.wait = i
				if found[g.use].Reason.Provisional() {
					g.use = i
				}
			}
		}
		slices.SortFunc(list, func(x, y group) int { return compareKeys(&x.key, &y.key) })
		all = append(all, tableGroups{jt, list})
	}
	slices.SortFunc(all, func(x, y tableGroups) int { return int(x.jobTables.id - y.jobTables.id) })
	return all
}

// foundLists are the arguments for foundColumns.
type foundLists struct {
	ord, job, rank, depth, priority []int32
	host                            []int64
	fp                              [][16]byte
	slot, hops, found               []int16
	path, via, extra                []string
}

// newFoundLists returns the columns of URLs, each as found at the given index.
func newFoundLists(found []store.Found, groups []*group, place func(g *group) int) (*foundLists, error) {
	n := len(groups)
	l := &foundLists{
		ord: make([]int32, n), job: make([]int32, n), rank: make([]int32, n), depth: make([]int32, n), priority: make([]int32, n), host: make([]int64, n),
		fp: make([][16]byte, n), slot: make([]int16, n), hops: make([]int16, n), found: make([]int16, n), path: make([]string, n), via: make([]string, n), extra: make([]string, n),
	}
	for i, g := range groups {
		at := place(g)
		it := &found[at].Item
		x, err := record.Extra(it)
		if err != nil {
			return nil, err
		}
		l.ord[i], l.job[i], l.rank[i], l.depth[i], l.priority[i] = int32(g.first), g.key.job, int32(store.Rank(it)), fits(it.Depth), fits(it.Priority)
		l.host[i], l.fp[i], l.slot[i], l.hops[i], l.found[i] = g.key.host, g.key.fp, g.key.slot, int16(it.Hops), int16(record.FoundNumber(it.Found))
		l.path[i], l.via[i], l.extra[i] = it.URL.PathQuery(), viaOf(it), x
	}
	return l, nil
}

// args are the arguments $2 to $14.
func (l *foundLists) args(first any) []any {
	return []any{first, l.ord, l.host, l.fp, l.job, l.rank, l.depth, l.priority, l.slot, l.hops, l.found, l.path, l.via, l.extra}
}

// queueFound queues the statements that store found URLs which are new.
func (b *batch) queueFound(found []store.Found) ([]tableGroups, error) {
	groups := b.groupFound(found)
	for _, sg := range groups {
		var plain, other []*group
		byPlace := make(map[int32]*group, len(sg.list))
		for i := range sg.list {
			g := &sg.list[i]
			byPlace[int32(g.first)] = g
			if f := &found[g.use]; f.Outcome == "" && f.Item.Attempt == 0 && f.Item.NotBefore.IsZero() {
				plain = append(plain, g)
			} else {
				other = append(other, g)
			}
		}
		if err := b.queuePlain(sg.jobTables, found, plain, byPlace); err != nil {
			return nil, err
		}
		if err := b.queueOther(sg.jobTables, found, other, byPlace); err != nil {
			return nil, err
		}
	}
	return groups, b.queueAside(found)
}

func useOf(g *group) int  { return g.use }
func waitOf(g *group) int { return g.wait }

// queuePlain stores URLs that wait and were never tried.
func (b *batch) queuePlain(jt *jobTables, found []store.Found, groups []*group, byPlace map[int32]*group) error {
	if len(groups) == 0 {
		return nil
	}
	l, err := newFoundLists(found, groups, useOf)
	if err != nil {
		return err
	}
	var place int32
	b.queue(jt.addWaiting, l.args(b.at)...).Query(rows([]any{&place}, func() error {
		g := byPlace[place]
		g.isNew = true
		b.receipt.Seen++
		b.receipt.Fresh = append(b.receipt.Fresh, g.use)
		b.admit(job.ID(g.key.job), g.ref)
		return nil
	}))
	return nil
}

// queueOther stores URLs that end at once or are not plain. Their queue entries and outcomes
// are written once it is known which of them are new.
func (b *batch) queueOther(jt *jobTables, found []store.Found, groups []*group, byPlace map[int32]*group) error {
	if len(groups) == 0 {
		return nil
	}
	l, err := newFoundLists(found, groups, useOf)
	if err != nil {
		return err
	}
	var place int32
	var id int64
	b.queue(jt.addOther, l.args(b.at)...).Query(rows([]any{&place, &id}, func() error {
		g := byPlace[place]
		g.isNew, g.url = true, id
		b.receipt.Seen++
		return nil
	}))
	return nil
}

// queueAside stores out-of-scope URLs.
func (b *batch) queueAside(found []store.Found) error {
	ending := b.s.endings[store.Ending{Outcome: visit.Skipped, Reason: visit.OutOfScope}]
	for jt, places := range b.byTables(len(found), func(i int) job.ID { return found[i].Item.Job }) {
		type row struct {
			key urlKey // without the host
			it  *visit.Item
		}
		var list []row
		which := map[int32]bool{}
		for _, i := range places {
			if f := &found[i]; f.Aside() {
				list = append(list, row{urlKey{job: int32(f.Item.Job), slot: int16(f.FinderSlot(b.s.key)), fp: f.Item.URL.Fingerprint128(b.s.key)}, &f.Item})
				which[int32(f.Item.Job)] = true
			}
		}
		if len(list) == 0 {
			continue
		}
		slices.SortFunc(list, func(x, y row) int { return compareKeys(&x.key, &y.key) })
		n := len(list)
		fps, jobs, slots, urls, hosts, items := make([][16]byte, n), make([]int32, n), make([]int16, n), make([]string, n), make([]string, n), make([]string, n)
		for i := range list {
			r := &list[i]
			fps[i], jobs[i], slots[i], urls[i], hosts[i] = r.key.fp, r.key.job, r.key.slot, r.it.URL.String(), r.it.URL.Host()
			var err error
			if items[i], err = store.EncodeAside(r.it); err != nil {
				return err
			}
		}
		var id job.ID
		b.queue(jt.setAside, fps, jobs, slots, urls, hosts, slices.Collect(maps.Keys(which)), ending, store.MaxAside, items).Query(rows([]any{&id}, func() error {
			b.receipt.Seen++
			b.count(id, ending, 1)
			return nil
		}))
	}
	return nil
}

// settleFound writes what depends on which URLs were new: outcomes of those that do not
// wait, and provisional skips that are taken back.
func (b *batch) settleFound(ctx context.Context, found []store.Found, groups []tableGroups) error {
	type back struct {
		g      *group
		ending int16
	}
	taken := map[*jobTables][]back{}
	for _, sg := range groups {
		var known []*group
		byPlace := map[int32]*group{}
		for i := range sg.list {
			if g := &sg.list[i]; !g.isNew && g.wait >= 0 {
				known = append(known, g)
				byPlace[int32(g.first)] = g
			}
		}
		if len(known) == 0 {
			continue
		}
		l, err := newFoundLists(found, known, waitOf)
		if err != nil {
			return err
		}
		var place int32
		var id int64
		var ending int16
		b.queue(sg.jobTables.readmit, l.ord, l.host, l.fp, l.job, l.slot).Query(rows([]any{&place, &id, &ending}, func() error {
			g := byPlace[place]
			g.url = id
			taken[sg.jobTables] = append(taken[sg.jobTables], back{g, ending})
			return nil
		}))
	}
	if err := b.send(ctx); err != nil {
		return err
	}
	for _, sg := range groups {
		var waiting, ended, again []*group
		for i := range sg.list {
			switch g := &sg.list[i]; {
			case !g.isNew || g.url == 0:
			case found[g.use].Outcome == "":
				waiting = append(waiting, g)
			default:
				ended = append(ended, g)
			}
		}
		for _, t := range taken[sg.jobTables] {
			b.count(job.ID(t.g.key.job), t.ending, -1)
			again = append(again, t.g)
		}
		b.endFound(sg.jobTables, found, ended)
		if len(again) > 0 {
			l, err := newFoundLists(found, again, waitOf)
			if err != nil {
				return err
			}
			b.exec(sg.jobTables.readmitURL, l.args(l.extra)[:13]...)
		}
		b.enqueue(sg.jobTables, found, append(waiting, again...))
	}
	slices.Sort(b.receipt.Fresh)
	return nil
}

// endFound writes the outcomes of URLs that end without a request.
func (b *batch) endFound(jt *jobTables, found []store.Found, groups []*group) {
	if len(groups) == 0 {
		return
	}
	n := len(groups)
	ids, hosts, fps, jobs := make([]int64, n), make([]int64, n), make([][16]byte, n), make([]int32, n)
	attempts, slots, endings := make([]int32, n), make([]int16, n), make([]int16, n)
	for i, g := range groups {
		f := &found[g.use]
		ids[i], hosts[i], fps[i], jobs[i] = g.url, g.key.host, g.key.fp, g.key.job
		attempts[i], slots[i], endings[i] = fits(f.Item.Attempt), g.key.slot, b.s.endings[store.Ending{Outcome: f.Outcome, Reason: f.Reason}]
		b.count(f.Item.Job, endings[i], 1)
	}
	b.exec(jt.addEnded, b.at, ids, hosts, fps, jobs, attempts, slots, endings)
}

// enqueue sets existing URLs to waiting.
func (b *batch) enqueue(jt *jobTables, found []store.Found, groups []*group) {
	if len(groups) == 0 {
		return
	}
	n := len(groups)
	ids, hosts, notBefore, fps, jobs := make([]int64, n), make([]int64, n), make([]int64, n), make([][16]byte, n), make([]int32, n)
	ranks, attempts, slots := make([]int32, n), make([]int32, n), make([]int16, n)
	for i, g := range groups {
		it := &found[g.wait].Item
		ids[i], hosts[i], notBefore[i], fps[i], jobs[i] = g.url, g.key.host, milli(it.NotBefore), g.key.fp, g.key.job
		ranks[i], attempts[i], slots[i] = int32(store.Rank(it)), fits(it.Attempt), g.key.slot
		b.receipt.Fresh = append(b.receipt.Fresh, g.wait)
		b.admit(it.Job, g.ref)
	}
	b.exec(jt.enqueue, ids, hosts, notBefore, fps, jobs, ranks, attempts, slots)
}
