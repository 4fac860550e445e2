package fleettest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"headway/client"
	"headway/output/s3/s3test"
)

// order requests files of a job.
func (c *tenant) order(id int64, formats ...string) *client.Export {
	c.Helper()
	e, err := c.OrderExport(c.Context(), id, client.ExportRequest{Formats: formats}, client.OrderExportParams{})
	if err != nil {
		c.Fatal(err)
	}
	return e
}

// export returns the status of an export.
func (c *tenant) export(id int64) *client.Export {
	c.Helper()
	e, err := c.GetExport(c.Context(), id)
	if err != nil {
		c.Fatal(err)
	}
	return e
}

// crawled is a tenant with a finished job.
func (s *service) crawled() (c *tenant, id, urls int64) {
	s.Helper()
	s.start()
	c = s.tenant("acme")
	id = c.create(s.crawl(0, s.lab.Seeds()...))
	j := s.await(id, s.long(), nil)
	for outcome, n := range j.Outcomes {
		if outcome != "skipped: out_of_scope" {
			urls += n
		}
	}
	return c, id, urls
}

// TestExportKilled kills the server while it writes an export: the next server writes
// the complete file, and a part of it was never visible.
func TestExportKilled(t *testing.T) {
	t.Parallel()
	f := newFleet(t, setup{hosts: 1, pages: 5, pace: 200 * time.Millisecond})
	dir := t.TempDir()
	s := f.service("--exports", dir)
	c, id, urls := s.crawled()
	in := filepath.Join(dir, "tenant-acme", fmt.Sprint("job-", id))
	names := func() (list []string) {
		files, err := os.ReadDir(in)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		for _, file := range files {
			list = append(list, file.Name())
		}
		return list
	}
	var ordered *client.Export
	f.sql(func(conn *pgx.Conn) error {
		// This lock blocks readers of visits: the export has begun and cannot end.
		tx, err := conn.Begin(t.Context())
		if err != nil {
			return err
		}
		defer tx.Rollback(t.Context()) // it changed nothing
		rows, err := tx.Query(t.Context(), "select format('outcome_%s', id) from shelf")
		if err != nil {
			return err
		}
		tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return err
		}
		if _, err := tx.Exec(t.Context(), "lock table "+strings.Join(tables, ", ")+" in access exclusive mode"); err != nil {
			return err
		}
		ordered = c.order(id, "jsonl")
		f.until("the file has begun", func() bool { return slices.Equal(names(), []string{"pages.jsonl.part"}) })
		if e := c.export(ordered.ID); e.State != "running" {
			t.Errorf("the export before the kill: %+v", e)
		}
		return s.now.cmd.Process.Kill()
	})
	<-s.now.exited
	if list := names(); slices.Contains(list, "pages.jsonl") {
		t.Errorf("after the kill there is %v", list)
	}
	s.again()
	var e *client.Export
	f.until("the export is done", func() bool {
		e = c.export(ordered.ID)
		return e.State == "done" || e.State == "failed"
	})
	text, err := os.ReadFile(filepath.Join(in, "pages.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	lines := int64(bytes.Count(text, []byte("\n")))
	if list := names(); e.State != "done" || e.Error != "" || e.URLs != urls || lines != urls || !bytes.HasSuffix(text, []byte("\n")) || !slices.Equal(list, []string{"pages.jsonl"}) {
		t.Errorf("%d lines of %d URLs in %v: %+v", lines, urls, list, e)
	}
}

// TestExportToS3 writes an export to a bucket.
func TestExportToS3(t *testing.T) {
	bucket := s3test.Start(t)
	bucket.Setenv(t)
	f := newFleet(t, setup{hosts: 1, pages: 3, pace: 200 * time.Millisecond})
	s := f.service("--exports", "s3://"+s3test.Bucket+"/out", "--exports-private", bucket.Range(t).String())
	c, id, urls := s.crawled()
	ordered := c.order(id, "csv", "parquet")
	var e *client.Export
	f.until("the export is done", func() bool {
		e = c.export(ordered.ID)
		return e.State == "done" || e.State == "failed"
	})
	var want, there []string
	objects := bucket.Objects(t)
	for _, name := range []string{"pages.csv", "pages.parquet", "links.parquet"} {
		key := fmt.Sprintf("out/tenant-acme/job-%d/%s", id, name)
		want = append(want, "s3://"+s3test.Bucket+"/"+key)
		if objects[key] > 0 {
			there = append(there, "s3://"+s3test.Bucket+"/"+key)
		}
	}
	if e.State != "done" || e.URLs != urls || !slices.Equal(e.Files, want) || !slices.Equal(there, want) {
		t.Errorf("exported %+v, objects %v, want %v", e, objects, want)
	}
}
