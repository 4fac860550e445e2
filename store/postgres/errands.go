package postgres

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"headway/job"
	"headway/store"
	"headway/weburl"
)

// errandLists are the columns of errands in one set of tables, each errand once.
type errandLists struct {
	ord, job []int32
	host     []int64
	fp       [][16]byte
	nested   []int16
	path     []string
}

func (b *batch) errandLists(list []store.Errand, places []int) *errandLists {
	l := &errandLists{}
	known := make(map[urlKey]bool, len(places))
	for _, i := range places {
		e := &list[i]
		ref := b.refs[e.URL.Host()]
		k := urlKey{int32(e.Job), int16(ref.slot), ref.id, e.URL.Fingerprint128(b.s.key)}
		if known[k] {
			continue
		}
		known[k] = true
		l.ord, l.job, l.host, l.fp = append(l.ord, int32(i)), append(l.job, k.job), append(l.host, k.host), append(l.fp, k.fp)
		l.nested, l.path = append(l.nested, int16(e.Nested)), append(l.path, e.URL.PathQuery())
	}
	return l
}

// queueErrands adds new errands.
func (b *batch) queueErrands(list []store.Errand) {
	for jt, places := range b.byTables(len(list), func(i int) job.ID { return list[i].Job }) {
		l := b.errandLists(list, places)
		var place int32
		b.queue(jt.addErrands, l.ord, l.host, l.job, l.fp, l.nested, l.path).Query(rows([]any{&place}, func() error {
			e := &list[place]
			b.receipt.Errands = append(b.receipt.Errands, int(place))
			b.count(e.Job, tallyErrands, 1)
			b.count(e.Job, tallyAdmitted, 1)
			b.arrive(e.Job, b.refs[e.URL.Host()])
			return nil
		}))
	}
}

// queueRan ends errands. Those that do not wait are ignored.
func (b *batch) queueRan(list []store.Errand) {
	for jt, places := range b.byTables(len(list), func(i int) job.ID { return list[i].Job }) {
		l := b.errandLists(list, places)
		b.queue(jt.endErrands, l.host, l.job, l.fp).Query(b.endErrands())
	}
}

// endErrands counts errands that a statement has ended, by the job it returns.
func (b *batch) endErrands() func(pgx.Rows) error {
	var id job.ID
	return rows([]any{&id}, func() error {
		b.count(id, tallyErrands, -1)
		return nil
	})
}

// Errands implements [store.URLs].
func (s *Store) Errands(ctx context.Context, wants []store.Want) ([]store.Errand, error) {
	if len(wants) > store.MaxWants {
		return nil, fmt.Errorf("errands of %d queues, at most %d", len(wants), store.MaxWants)
	}
	groups, refs, err := s.wanted(ctx, wants)
	if err != nil {
		return nil, fmt.Errorf("errands of %d queues: %w", len(wants), err)
	}
	found := make([][]store.Errand, len(wants))
	for jt, places := range groups {
		var ords, jobs, most []int32
		var hosts []int64
		for _, i := range places {
			w := &wants[i]
			ords, jobs, most, hosts = append(ords, int32(i)), append(jobs, int32(w.Job)), append(most, fits(max(w.Max, 0))), append(hosts, refs[w.Host].id)
		}
		r, err := s.reading(ctx).Query(ctx, jt.errands, ords, hosts, jobs, most)
		if err == nil {
			var ord int32
			var path string
			var nested int
			_, err = pgx.ForEachRow(r, []any{&ord, &path, &nested}, func() error {
				w := &wants[ord]
				u, err := weburl.Parse(w.Host + path)
				if err != nil {
					return fmt.Errorf("stored URL: %w: %w", store.ErrCorrupt, err)
				}
				found[ord] = append(found[ord], store.Errand{Job: w.Job, URL: u, Nested: nested})
				return nil
			})
		}
		if err != nil && code(err) != codeNoTable { // the job was dropped
			return nil, fmt.Errorf("errands of %d queues: %w", len(wants), wrap(err))
		}
		places = slices.DeleteFunc(places, func(i int) bool { return len(found[i]) == max(wants[i].Max, 0) })
		if moved, err := s.findMoved(ctx, jt, wants, places); err != nil {
			return nil, fmt.Errorf("errands of %d queues: %w", len(wants), wrap(err))
		} else if moved {
			return s.Errands(ctx, wants)
		}
	}
	var list []store.Errand
	for _, part := range found {
		list = append(list, part...)
	}
	return list, nil
}
