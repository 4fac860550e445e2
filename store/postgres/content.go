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

// texts are stored in a table of their own. They are compressed already.
var texts = sideTable{"content_{s}", `create table if not exists content_{s} (url bigint primary key, texts bytea not null);
	alter table content_{s} alter column texts set storage external`}

// queueTexts stores the texts of those visits that have some.
func (b *batch) queueTexts(visits []visit.Visit, encoded [][]byte) {
	for jt, places := range b.byTables(len(visits), func(i int) job.ID { return visits[i].Item.Job }) {
		var hosts []int64
		var fps [][16]byte
		var jobs []int32
		var slots []int16
		var list [][]byte
		for _, i := range places {
			if encoded[i] == nil {
				continue
			}
			k := b.keyOf(&visits[i].Item)
			hosts, fps, jobs, slots, list = append(hosts, k.host), append(fps, k.fp), append(jobs, k.job), append(slots, k.slot), append(list, encoded[i])
		}
		if len(list) > 0 {
			b.exec(jt.addTexts, hosts, fps, jobs, slots, list)
		}
	}
}

// readTexts reads the texts of pages into their visits; see readSideTable.
func (s *Store) readTexts(ctx context.Context, q querier, jt *jobTables, rows []entryRow, entries []store.Entry) (int, error) {
	return s.readSideTable(ctx, q, jt, texts, jt.texts, rows, entries, func(v *visit.Visit) bool { return v.Page.Content != nil }, record.ReadTexts)
}

// Content implements [store.URLs].
func (s *Store) Content(ctx context.Context, id job.ID, u weburl.URL) (*visit.Content, error) {
	var is *visit.Content
	err := s.readURL(ctx, id, u, func(tx pgx.Tx, jt *jobTables, row *entryRow, e *store.Entry) error {
		if e.Visit == nil {
			return nil
		}
		_, err := s.readTexts(ctx, tx, jt, []entryRow{*row}, []store.Entry{*e})
		is = e.Visit.Page.Content
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the content of %s in job %d: %w", u, id, s.goneJob(ctx, id, err))
	}
	return is, nil
}
