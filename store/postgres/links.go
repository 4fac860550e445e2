package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"headway/job"
	"headway/store"
	"headway/store/internal/record"
	"headway/visit"
	"headway/weburl"
)

// links are stored with the URL of their page, next to the index of links to a URL.
var links = sideTable{"link_{s}", `create table if not exists link_{s} (url bigint primary key, page text not null, links bytea not null);
	alter table link_{s} alter column links set storage external;
	create table if not exists inlink_{s} (job int not null, bucket smallint not null, pages bytea not null);
	alter table inlink_{s} alter column pages set storage external;
	create index if not exists inlink_{s}_bucket on inlink_{s} (job, bucket)`}

// queueLinks stores the links of those visits whose links are kept. It returns where the
// row ids of their URLs will be, by visit.
func (b *batch) queueLinks(visits []visit.Visit, encoded [][]byte) map[int]int64 {
	ids := map[int]int64{}
	for jt, places := range b.byTables(len(visits), func(i int) job.ID { return visits[i].Item.Job }) {
		var ords []int32
		var hosts []int64
		var fps [][16]byte
		var jobs []int32
		var slots []int16
		var pages []string
		var list [][]byte
		for _, i := range places {
			if encoded[i] == nil {
				continue
			}
			k := b.keyOf(&visits[i].Item)
			ords, hosts, fps, jobs, slots = append(ords, int32(i)), append(hosts, k.host), append(fps, k.fp), append(jobs, k.job), append(slots, k.slot)
			pages, list = append(pages, visits[i].Item.URL.String()), append(list, encoded[i])
		}
		if len(list) == 0 {
			continue
		}
		var ord int32
		var id int64
		b.queue(jt.addLinks, ords, hosts, fps, jobs, slots, pages, list).Query(rows([]any{&ord, &id}, func() error {
			ids[int(ord)] = id
			return nil
		}))
	}
	return ids
}

// queueInlinks adds links to the index, once the row ids of their pages are known.
func (b *batch) queueInlinks(visits []visit.Visit, ids map[int]int64) {
	byJob := map[job.ID]*record.Inlinks{}
	for i, id := range ids {
		v := &visits[i]
		if byJob[v.Item.Job] == nil {
			byJob[v.Item.Job] = new(record.Inlinks)
		}
		byJob[v.Item.Job].Add(id, v.Kept(), b.s.key)
	}
	for id, index := range byJob {
		var buckets []int16
		var pages [][]byte
		for bucket := range record.Buckets {
			if row := index.Row(bucket); row != nil {
				buckets, pages = append(buckets, int16(bucket)), append(pages, row)
			}
		}
		b.exec(b.tables[id].addInlinks, int32(id), buckets, pages)
	}
}

// readLinks reads the links of pages into their visits, like readTexts.
func (s *Store) readLinks(ctx context.Context, q querier, jt *jobTables, rows []entryRow, entries []store.Entry) (int, error) {
	return s.readSideTable(ctx, q, jt, links, jt.links, rows, entries,
		func(v *visit.Visit) bool { return v.Page.Links != nil && v.Page.Links.Count > 0 },
		func(data []byte, v *visit.Visit) (err error) {
			v.Links, err = record.ReadLinks(data, v.Item.URL)
			return err
		})
}

// Links implements [store.URLs].
func (s *Store) Links(ctx context.Context, id job.ID, u weburl.URL) ([]visit.Link, error) {
	var list []visit.Link
	err := s.readURL(ctx, id, u, func(tx pgx.Tx, jt *jobTables, row *entryRow, e *store.Entry) error {
		if e.Visit == nil {
			return nil
		}
		_, err := s.readLinks(ctx, tx, jt, []entryRow{*row}, []store.Entry{*e})
		list = e.Visit.Links
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the links of %s in job %d: %w", u, id, s.goneJob(ctx, id, err))
	}
	return list, nil
}

// KeepsLinks implements [store.URLs].
func (s *Store) KeepsLinks(ctx context.Context, id job.ID) (bool, error) {
	kept := false
	err := s.readJob(ctx, id, func(tx pgx.Tx, jt *jobTables) error {
		if there, err := s.hasSideTable(ctx, tx, jt, links); err != nil || !there {
			return err
		}
		return tx.QueryRow(ctx, jt.hasLinks, int32(id)).Scan(&kept)
	})
	if err != nil {
		return false, fmt.Errorf("look for links in job %d: %w", id, s.goneJob(ctx, id, err))
	}
	return kept, nil
}

// Inlinks implements [store.URLs].
func (s *Store) Inlinks(ctx context.Context, q store.InlinkQuery) (store.InlinkPage, error) {
	var page store.InlinkPage
	err := s.readJob(ctx, q.Job, func(tx pgx.Tx, jt *jobTables) error {
		if there, err := s.hasSideTable(ctx, tx, jt, links); err != nil || !there {
			return err
		}
		search, err := record.NewSearch(q, s.key)
		if err != nil {
			return err
		}
		for search.Next() {
			if err := searchLinks(ctx, tx, jt, q.Job, search); err != nil {
				return err
			}
		}
		page = search.Page
		return nil
	})
	if err != nil {
		return store.InlinkPage{}, fmt.Errorf("read the links to %s in job %d: %w", q.URL, q.Job, s.goneJob(ctx, q.Job, err))
	}
	return page, nil
}

// searchLinks reads the next pages that may have links to a URL.
func searchLinks(ctx context.Context, tx pgx.Tx, jt *jobTables, id job.ID, search *record.Search) error {
	r, err := tx.Query(ctx, jt.inlinks, int32(id), int16(search.Target.Bucket()))
	if err != nil {
		return err
	}
	var row []byte
	if _, err := pgx.ForEachRow(r, []any{&row}, func() error { return search.Read(row) }); err != nil {
		return err
	}
	candidates := search.Candidates()
	for len(candidates) > 0 {
		n := min(len(candidates), textChunk)
		if r, err = tx.Query(ctx, jt.linksOf, candidates[:n]); err != nil {
			return err
		}
		candidates = candidates[n:]
		var url int64
		var page string
		full := false
		_, err = pgx.ForEachRow(r, []any{&url, &page, &row}, func() (err error) {
			if !full {
				full, err = search.Check(url, page, row)
			}
			return err
		})
		if err != nil || full {
			return err
		}
	}
	return nil
}
