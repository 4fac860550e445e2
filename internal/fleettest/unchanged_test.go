package fleettest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"headway/client"
)

// TestServiceUnchanged crawls a site twice by a schedule, and nothing has changed: the second
// run transfers next to nothing, and has what the first one kept of every page, even after the
// first one was deleted.
func TestServiceUnchanged(t *testing.T) {
	t.Parallel()
	at := setup{hosts: 12, pages: 5, pace: 200 * time.Millisecond}
	if full {
		at = setup{hosts: 20, pages: 50, pace: 200 * time.Millisecond}
	}
	pages := int64(at.hosts * at.pages)
	f := newFleet(t, at)
	dir := t.TempDir()
	s := f.service("--exports", dir)
	acme := s.tenant("acme")
	for range 2 {
		f.start()
	}
	f.awaitWorkers(2)
	request := f.crawl(0, f.lab.Seeds()...)
	request.Content, request.Links = []string{"text", "markdown"}, new(true)
	made, err := acme.CreateSchedule(t.Context(), client.ScheduleRequest{Job: request, Adaptive: &client.Adaptive{EverySeconds: 3600, LeastSeconds: 3600, MostSeconds: 7200}}, client.CreateScheduleParams{})
	if err != nil {
		t.Fatal(err)
	}
	run := func(n int64) job {
		var now *client.Schedule
		f.until(fmt.Sprintf("run %d of the schedule has begun", n), func() bool {
			if now, err = acme.GetSchedule(t.Context(), made.ID); err != nil {
				t.Fatal(err)
			}
			return now.Jobs == n
		})
		return f.await(now.LastJob, f.long(), nil)
	}
	first := run(1)
	before := f.lab.Stats().Total
	if n := first.Outcomes["fetched"]; n != pages {
		t.Fatalf("first run: %d pages fetched, want %d: %+v", n, pages, first)
	}
	f.sql(func(conn *pgx.Conn) error { // instead of waiting for an hour
		_, err := conn.Exec(t.Context(), "update schedule set due_at = 0")
		return err
	})
	second := run(2)
	after := f.lab.Stats().Total
	if got, outcomes := after.NotModified-before.NotModified, second.Outcomes["not_modified"]; got != pages || outcomes != pages || second.State != "complete" {
		t.Errorf("second run: %d responses 304 and %d outcomes not_modified, want %d: %+v", got, outcomes, pages, second)
	}
	sent := after.BytesOut - before.BytesOut
	t.Logf("%d bytes first, %d bytes then (%.2f %%)", before.BytesOut, sent, 100*float64(sent)/float64(before.BytesOut))
	if sent*20 > before.BytesOut {
		t.Errorf("%d bytes sent for the second run, over 5 %% of %d", sent, before.BytesOut)
	}
	was := acme.exported(dir, first.ID)
	// Nothing is read from the first run any longer.
	f.sql(func(conn *pgx.Conn) error {
		_, err := conn.Exec(t.Context(), "update job set ended_at = 1, layers = layers || '[{\"level\": \"safety\", \"limits\": {\"retention_ms\": 1000}}]' where id = $1", first.ID)
		return err
	})
	f.leave(s.now)
	s.again() // retention runs soon after a server starts
	f.until("the first run is deleted", func() bool {
		_, err := acme.GetJob(t.Context(), first.ID)
		return err != nil
	})
	is := acme.exported(dir, second.ID)
	texts := 0
	var page string
	for url, p := range is {
		if p.Text != "" { // a list of links has no main text
			texts++
			page = url
		}
	}
	if int64(len(is)) != pages || texts == 0 || !maps.Equal(is, was) {
		t.Fatalf("the second run has %d pages, %d with a text, want %d with the content of the first run", len(is), texts, pages)
	}
	t.Logf("%d of %d pages have a text", texts, pages)
	for as, want := range map[string]string{"text": was[page].Text, "markdown": was[page].Markdown} {
		if got := acme.content(second.ID, page, as); got == "" || got != want {
			t.Errorf("%s of %s: %q, want %q", as, page, got, want)
		}
	}
	if links := acme.content(second.ID, page, "links"); len(links) < 10 {
		t.Errorf("links of %s: %q", page, links)
	}
	f.paced()
	f.leave(s.now)
	f.leaveAll()
}

// exportedPage is what an export has of a page.
type exportedPage struct {
	URL      string `json:"url"`
	Outcome  string `json:"outcome"`
	Title    string `json:"title"`
	Digest   string `json:"digest"`
	Text     string `json:"text"`
	Markdown string `json:"markdown"`
}

// exported exports a job and reads its pages.
func (c *tenant) exported(dir string, id int64) map[string]exportedPage {
	c.Helper()
	ordered := c.order(id, "jsonl")
	var e *client.Export
	c.until("the export is done", func() bool {
		e = c.export(ordered.ID)
		return e.State == "done" || e.State == "failed"
	})
	text, err := os.ReadFile(filepath.Join(dir, "tenant-acme", fmt.Sprint("job-", id), "pages.jsonl"))
	if err != nil {
		c.Fatal(err)
	}
	pages := map[string]exportedPage{}
	for line := range bytes.Lines(text) {
		var p exportedPage
		if err := json.Unmarshal(line, &p); err != nil {
			c.Fatal(err)
		}
		if p.Outcome == "fetched" || p.Outcome == "not_modified" {
			p.Outcome = ""
			pages[p.URL] = p
		}
	}
	return pages
}

// content returns what a job kept of a page.
func (c *tenant) content(id int64, page, as string) string {
	c.Helper()
	body, err := c.GetContent(c.Context(), id, client.GetContentParams{URL: page, As: as})
	if err != nil {
		c.Fatal(err)
	}
	defer body.Close()
	text, err := io.ReadAll(body)
	if err != nil {
		c.Fatal(err)
	}
	return string(text)
}
