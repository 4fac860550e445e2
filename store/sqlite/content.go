package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

	"headway/job"
	"headway/store/internal/record"
	"headway/visit"
	"headway/weburl"
)

// contentSchema is created for a job with its first text: few crawls keep texts.
const contentSchema = `create table if not exists content_{j} (id integer primary key, texts blob not null) strict`

// addTexts stores the texts of pages.
func (b *batch) addTexts(ctx context.Context, t *jobTables, list []waiter) error {
	var ids []int64
	var texts [][]byte
	for i := range list {
		if data := record.Texts(list[i].visit.Page.Content); data != nil {
			ids, texts = append(ids, list[i].id), append(texts, data)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	if err := b.w.script(ctx, forJob(contentSchema, t.id)); err != nil {
		return err
	}
	_, err := b.w.bulk(ctx, &t.addTexts, len(ids), func(i int, args []driver.NamedValue) { args[0].Value, args[1].Value = ids[i], texts[i] }, nil)
	return err
}

// dropTexts deletes the texts of URLs that are about to wait again.
func (b *batch) dropTexts(ctx context.Context, t *jobTables, list []reopened) error {
	if there, err := hasTexts(ctx, b.w, t); err != nil || !there {
		return err
	}
	_, err := b.w.bulk(ctx, &t.dropTexts, len(list), func(i int, args []driver.NamedValue) { args[0].Value = list[i].id }, nil)
	return err
}

// hasTexts reports whether texts of the job were ever stored.
func hasTexts(ctx context.Context, c *conn, t *jobTables) (bool, error) {
	return c.one(ctx, "select 1 from sqlite_schema where type = 'table' and name = ?", []driver.Value{forJob("content_{j}", t.id)})
}

// readTexts reads the texts of a page into its visit.
func (s *reader) readTexts(ctx context.Context, c *conn, t *jobTables, v *visit.Visit) error {
	if v == nil || v.Page.Content == nil {
		return nil
	}
	fp := v.Item.URL.Fingerprint128(s.key)
	var data []byte
	found, err := c.one(ctx, t.texts, []driver.Value{v.Item.URL.Host(), fp[:]}, &data)
	if err != nil || !found {
		return err
	}
	return record.ReadTexts(data, v)
}

// Content implements [store.URLs].
func (s *reader) Content(ctx context.Context, id job.ID, u weburl.URL) (*visit.Content, error) {
	var is *visit.Content
	err := s.askJob(ctx, id, func(c *conn, t *jobTables) error {
		return c.snapshot(ctx, func() error {
			e, _, err := s.entryOf(ctx, c, t, u)
			if err != nil || e.Visit == nil {
				return err
			}
			is = e.Visit.Page.Content // with its texts, once they are read
			if there, err := hasTexts(ctx, c, t); err != nil || !there {
				return err
			}
			return s.readTexts(ctx, c, t, e.Visit)
		})
	})
	if err != nil {
		return nil, fmt.Errorf("read the content of %s in job %d: %w", u, id, err)
	}
	return is, nil
}

// snapshot runs queries that all see the same commit.
func (c *conn) snapshot(ctx context.Context, do func() error) error {
	if err := c.script(ctx, "begin"); err != nil {
		return err
	}
	return errors.Join(do(), c.script(context.WithoutCancel(ctx), "rollback"))
}
