package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"

	"headway/job"
	"headway/store"
	"headway/store/internal/record"
	"headway/visit"
	"headway/weburl"
)

// linksSchema is created for a job with its first links. The number of a row of the index has
// its bucket in the upper bits; see bucketStart.
const linksSchema = `create table if not exists link_{j} (id integer primary key, links blob not null) strict;
	create table if not exists inlink_{j} (id integer primary key, pages blob not null) strict`

// bucketBits is how many bits of the number of a row count the rows of a bucket.
const bucketBits = 48

// bucketStart is below the numbers of the rows of a bucket.
func bucketStart(bucket int) int64 { return int64(bucket) << bucketBits }

// addLinks stores the links of pages that are kept, and adds them to the index.
func (b *batch) addLinks(ctx context.Context, t *jobTables, list []waiter) error {
	var ids []int64
	var links [][]byte
	var index record.Inlinks
	for i := range list {
		if data := record.Links(list[i].visit); data != nil {
			ids, links = append(ids, list[i].id), append(links, data)
			index.Add(list[i].id, list[i].visit.Kept(), b.key)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	if err := b.w.script(ctx, forJob(linksSchema, t.id)); err != nil {
		return err
	}
	_, err := b.w.bulk(ctx, &t.addLinks, len(ids), func(i int, args []driver.NamedValue) { args[0].Value, args[1].Value = ids[i], links[i] }, nil)
	if err != nil {
		return err
	}
	for bucket := range record.Buckets {
		if row := index.Row(bucket); row != nil {
			if _, err := b.w.exec(ctx, t.addInlinks, bucketStart(bucket), bucketStart(bucket+1), row); err != nil {
				return err
			}
		}
	}
	return nil
}

// dropLinks deletes the links of URLs that are about to wait again. The index still has them,
// which does no harm.
func (b *batch) dropLinks(ctx context.Context, t *jobTables, list []reopened) error {
	if there, err := hasLinks(ctx, b.w, t); err != nil || !there {
		return err
	}
	_, err := b.w.bulk(ctx, &t.dropLinks, len(list), func(i int, args []driver.NamedValue) { args[0].Value = list[i].id }, nil)
	return err
}

// hasLinks reports whether links of the job were ever stored.
func hasLinks(ctx context.Context, c *conn, t *jobTables) (bool, error) {
	return c.one(ctx, "select 1 from sqlite_schema where type = 'table' and name = ?", []driver.Value{forJob("link_{j}", t.id)})
}

// readLinks reads the links of a page into its visit.
func (s *reader) readLinks(ctx context.Context, c *conn, t *jobTables, v *visit.Visit) error {
	if v == nil || v.Page.Links == nil || v.Page.Links.Count == 0 {
		return nil
	}
	fp := v.Item.URL.Fingerprint128(s.key)
	var data []byte
	found, err := c.one(ctx, t.links, []driver.Value{v.Item.URL.Host(), fp[:]}, &data)
	if err != nil || !found {
		return err
	}
	v.Links, err = record.ReadLinks(data, v.Item.URL)
	return err
}

// Links implements [store.URLs].
func (s *reader) Links(ctx context.Context, id job.ID, u weburl.URL) ([]visit.Link, error) {
	var links []visit.Link
	err := s.askJob(ctx, id, func(c *conn, t *jobTables) error {
		return c.snapshot(ctx, func() error {
			e, _, err := s.entryOf(ctx, c, t, u)
			if err != nil || e.Visit == nil || e.Visit.Page.Links == nil {
				return err
			}
			if there, err := hasLinks(ctx, c, t); err != nil || !there {
				return err
			}
			err = s.readLinks(ctx, c, t, e.Visit)
			links = e.Visit.Links
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("read the links of %s in job %d: %w", u, id, err)
	}
	return links, nil
}

// KeepsLinks implements [store.URLs].
func (s *reader) KeepsLinks(ctx context.Context, id job.ID) (bool, error) {
	var kept bool
	err := s.askJob(ctx, id, func(c *conn, t *jobTables) (err error) {
		kept, err = hasLinks(ctx, c, t)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("look for links in job %d: %w", id, err)
	}
	return kept, nil
}

// Inlinks implements [store.URLs].
func (s *reader) Inlinks(ctx context.Context, q store.InlinkQuery) (store.InlinkPage, error) {
	var page store.InlinkPage
	err := s.askJob(ctx, q.Job, func(c *conn, t *jobTables) error {
		return c.snapshot(ctx, func() error {
			if there, err := hasLinks(ctx, c, t); err != nil || !there {
				return err
			}
			search, err := record.NewSearch(q, s.key)
			if err != nil {
				return err
			}
			for search.Next() {
				if err := searchLinks(ctx, c, t, search); err != nil {
					return err
				}
			}
			page = search.Page
			return nil
		})
	})
	if err != nil {
		return store.InlinkPage{}, fmt.Errorf("read the links to %s in job %d: %w", q.URL, q.Job, err)
	}
	return page, nil
}

// searchLinks reads the next pages that may have links to a URL.
func searchLinks(ctx context.Context, c *conn, t *jobTables, search *record.Search) error {
	bucket := search.Target.Bucket()
	err := c.query(ctx, t.inlinks, []driver.Value{bucketStart(bucket), bucketStart(bucket + 1)}, func(row []driver.Value) error { return search.Read(blob(row[0])) })
	if err != nil {
		return err
	}
	for _, id := range search.Candidates() {
		var raw string
		var data []byte
		found, err := c.one(ctx, t.linksOf, []driver.Value{id}, &raw, &data)
		if err != nil {
			return err
		}
		if !found {
			continue
		}
		if full, err := search.Check(id, raw, data); err != nil || full {
			return err
		}
	}
	return nil
}
