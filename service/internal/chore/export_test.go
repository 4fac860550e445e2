package chore

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"headway/fetch/guard"
	"headway/job"
	"headway/output/s3/s3test"
	"headway/service/internal/export"
	"headway/store"
)

// recorded is a job of a tenant with some pages.
func (b *bench) recorded(tenant string, pages int) job.ID {
	b.Helper()
	id, err := b.store.CreateJob(b.Context(), store.Job{Tenant: tenant, State: job.Queued, CreatedAt: time.Now()})
	fatal(b.TB, err)
	b.record(id, pages, 0)
	return id
}

// ended waits for the end of an export.
func (b *bench) ended(c *Runner, id int64) export.Export {
	b.Helper()
	var e export.Export
	b.until("the export has ended", func() bool {
		var err error
		e, err = c.ExportOf(b.Context(), id)
		fatal(b.TB, err)
		return !e.EndedAt.IsZero()
	})
	return e
}

// TestExport writes files of a job to a folder, once for concurrent requests, and
// again for a later one.
func TestExport(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ctx, dir := t.Context(), t.TempDir()
	id := b.recorded("../acme", 20)
	c := b.runner(Config{Export: export.Config{To: dir}})
	first, err := c.Export(ctx, id, []string{"jsonl", "csv"})
	fatal(t, err)
	again, err := c.Export(ctx, id, []string{"csv", "jsonl", "csv"})
	fatal(t, err)
	if first.ID != again.ID || first.State != export.Waiting {
		t.Errorf("requested twice: %+v and %+v", first, again)
	}
	b.run(c)
	e := b.ended(c, first.ID)
	in := filepath.Join(dir, "tenant-..%2Facme", fmt.Sprint("job-", id))
	want := []string{filepath.Join(in, "pages.csv"), filepath.Join(in, "pages.jsonl")}
	if e.State != export.Done || e.URLs != 20 || !slices.Equal(e.Files, want) || e.Job != id || e.Error != "" {
		t.Errorf("exported: %+v, want %v", e, want)
	}
	text, err := os.ReadFile(filepath.Join(in, "pages.jsonl"))
	fatal(t, err)
	if n := bytes.Count(text, []byte("\n")); n != 20 {
		t.Errorf("%d lines of JSON, want 20", n)
	}
	later, err := c.Export(ctx, id, []string{"jsonl", "csv"})
	fatal(t, err)
	if e := b.ended(c, later.ID); later.ID == first.ID || e.State != export.Done {
		t.Errorf("requested later: %+v", e)
	}
	fatal(t, b.store.Drop(ctx, id))
	if _, err := c.Export(ctx, id, []string{"csv"}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a job that is gone: %v", err)
	}
	if _, err := c.ExportOf(ctx, 1<<40); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an export that is not there: %v", err)
	}
}

// TestExportRefused rejects exports without a location, in unknown formats, and an S3
// location without a bucket.
func TestExportRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.recorded("acme", 1)
	nowhere := b.runner(Config{})
	if _, err := nowhere.Export(t.Context(), id, []string{"csv"}); !errors.Is(err, export.ErrNoPlace) {
		t.Errorf("without a place: %v", err)
	}
	c := b.runner(Config{Export: export.Config{To: t.TempDir()}})
	for _, formats := range [][]string{nil, {"warc"}, {"csv", "pdf"}} {
		if _, err := c.Export(t.Context(), id, formats); err == nil {
			t.Errorf("formats %q were accepted", formats)
		}
	}
	if _, err := Open(t.Context(), Config{Store: b.store, Export: export.Config{To: "s3://"}}); err == nil {
		t.Error("a place without a bucket was accepted")
	}
}

// TestExportToS3 copies files to a real S3 server, and reports what failed if it
// cannot.
func TestExportToS3(t *testing.T) {
	s := s3test.Start(t)
	s.Setenv(t)
	b := newBench(t)
	id := b.recorded("acme", 20)
	scratch := t.TempDir()
	c := b.runner(Config{Export: export.Config{To: "s3://" + s3test.Bucket + "/out", Scratch: scratch, Guard: guard.Config{AllowPrivate: []guard.Range{s.Range(t)}}}})
	b.run(c)
	asked, err := c.Export(t.Context(), id, []string{"csv", "parquet"})
	fatal(t, err)
	e := b.ended(c, asked.ID)
	at := fmt.Sprintf("s3://%s/out/tenant-acme/job-%d/", s3test.Bucket, id)
	if want := []string{at + "pages.csv", at + "pages.parquet", at + "links.parquet"}; e.State != export.Done || e.URLs != 20 || !slices.Equal(e.Files, want) {
		t.Errorf("exported: %+v, want %v", e, want)
	}
	objects := s.Objects(t)
	for _, name := range []string{"pages.csv", "pages.parquet", "links.parquet"} {
		if objects[fmt.Sprintf("out/tenant-acme/job-%d/%s", id, name)] == 0 {
			t.Errorf("%s is not there: %v", name, objects)
		}
	}
	if left, err := os.ReadDir(scratch); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}

	j, err := b.store.Job(t.Context(), id)
	fatal(t, err)
	want := s.Read(t, fmt.Sprintf("out/tenant-acme/job-%d/pages.csv", id))
	if names, sizes := e.Downloads(); !slices.Equal(names, []string{"pages.csv", "pages.parquet", "links.parquet"}) || sizes[0] != int64(len(want)) {
		t.Errorf("downloads %v of %v bytes, want %d bytes of pages.csv", names, sizes, len(want))
	}
	f, err := c.OpenExport(t.Context(), &j, "pages.csv")
	fatal(t, err)
	whole, err := io.ReadAll(f)
	if err != nil || !bytes.Equal(whole, want) || f.ETag == "" || f.ModifiedAt.IsZero() {
		t.Errorf("downloaded %d bytes of %d, %+v, %v", len(whole), len(want), f, err)
	}
	end, err := f.Seek(-100, io.SeekEnd)
	fatal(t, err)
	if part, err := io.ReadAll(f); err != nil || end != int64(len(want)-100) || !bytes.Equal(part, want[len(want)-100:]) {
		t.Errorf("the last 100 bytes: %q, %v", part, err)
	}
	fatal(t, f.Close())
	if _, err := c.OpenExport(t.Context(), &j, "pages.jsonl"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a file that is not there: %v", err)
	}
}
