package crawl

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"headway"
	"headway/answer"
	"headway/internal/cli/command"
	"headway/job"
	"headway/limit"
	"headway/output/format"
	"headway/output/jsonl"
	"headway/store"
)

// resume looks at what the folder holds: a crawl to resume, one that has
// ended, or nothing. What was asked for differently last time is named.
func (c *crawlRun) resume(ctx context.Context, st store.Store, cfg *crawlConfig, asked *answer.CrawlSpec) (begun, ended bool, err error) {
	jobs, err := st.JobList(ctx, 0, store.MaxPage)
	if err != nil {
		return false, false, command.Failed(err, "")
	}
	startOver := false // by a purpose that starts over each time
	for _, j := range jobs {
		if j.Name != crawlName {
			continue
		}
		if c.Settings.Fresh {
			if err := forget(ctx, st, j); err != nil {
				return false, false, command.Failed(fmt.Errorf("discard the crawl in %s: %w", c.dir, err), "remove the folder")
			}
			continue
		}
		begun = true
		before, err := command.LastAsked(c.dir, j)
		if err != nil {
			return false, false, command.Failed(fmt.Errorf("read saved settings: %w", err), "start over with --fresh")
		}
		if before.Purpose != asked.Purpose {
			return false, false, c.purpose.other(c.dir, before.Purpose)
		}
		changed := changes(&before, asked)
		for _, change := range changed {
			fmt.Fprintf(c.Err, "headway: changed since the last run: %s\n", command.OneLine(change))
		}
		if pages := cfg.Limits.Max(limit.Pages); j.MaxPages == 0 && pages > 0 {
			return false, false, command.Usage(fmt.Errorf("cannot set a page limit of %d: this crawl was started without one", pages),
				"use --max-requests or --max-time, or start over with --fresh")
		}
		cfg.Continue = len(changed) > 0 || j.Reason == headway.DiscoveryStopped || j.Reason == headway.Disk
		cfg.Widened = otherScope(&before, asked)
		ended = j.State.Ended() && !(j.State == job.Partial && cfg.Continue)
		if ended && j.State != job.Cancelled && c.purpose.afresh == nil {
			if ended, err = c.renew(ctx, st, cfg, &j); err != nil {
				return false, false, command.Failed(err, "start over with --fresh")
			}
		}
		if j.State.Ended() && c.purpose.again != nil {
			again, err := c.purpose.again(ctx, st, j)
			if err != nil {
				return false, false, command.Failed(err, "start over with --fresh")
			}
			ended = !again
		}
		if ended && c.purpose.afresh != nil {
			if err := forget(ctx, st, j); err != nil {
				return false, false, command.Failed(fmt.Errorf("discard the crawl in %s: %w", c.dir, err), "remove the folder")
			}
			if err := c.purpose.afresh(cfg); err != nil {
				return false, false, command.Failed(err, "remove the folder")
			}
			begun, ended, cfg.Continue, startOver = false, false, false, true
			continue
		}
		if ended {
			if len(changed) > 0 {
				fmt.Fprintln(c.Err, "headway: warning: the crawl has already finished, so the change has no effect; --fresh starts over with it")
			}
			return begun, ended, nil
		}
	}
	if !begun && !startOver && !c.Settings.Fresh {
		if err := c.keepResults(); err != nil {
			return false, false, err
		}
	}
	if err := os.WriteFile(filepath.Join(c.dir, command.AskedFile), cfg.Spec, 0o644); err != nil {
		return false, false, command.Failed(fmt.Errorf("save settings: %w", err), "check that "+c.dir+" is writable")
	}
	return begun, ended, nil
}

// keepResults refuses to write over results of a crawl that the folder does not know:
// its file was lost, or they were put there by somebody.
func (c *crawlRun) keepResults() error {
	patterns := format.Archives()
	for _, name := range format.Files(c.Settings.Format...) {
		patterns = append(patterns, name, name+jsonl.PartSuffix)
	}
	for _, pattern := range patterns {
		paths, err := filepath.Glob(filepath.Join(command.EscapeGlob(c.dir), pattern))
		if err != nil {
			return command.Failed(err, "")
		}
		for _, path := range paths {
			if n, err := command.SizeOf(path); err != nil || n == 0 {
				continue // nothing is lost with it
			}
			return command.Usage(fmt.Errorf("%s contains results, but %s contains no crawl", path, filepath.Join(c.dir, "crawl.db")),
				"choose another folder with --dir, or overwrite them with --fresh")
		}
	}
	return nil
}

// renew adds what is newly requested of a crawl that has ended, and reports whether it
// is still ended.
func (c *crawlRun) renew(ctx context.Context, st store.Store, cfg *crawlConfig, j *store.Job) (ended bool, err error) {
	more, err := headway.Renew(ctx, cfg.Worker, cfg.Job, j.ID)
	if err != nil {
		return true, err
	}
	if more.Lost > 0 {
		fmt.Fprintf(c.Err, "headway: warning: %d out-of-scope URLs cannot be added: only the first %d were stored; --fresh starts over\n", more.Lost, store.MaxAside)
	}
	if more.Seeds > 0 {
		fmt.Fprintf(c.Err, "headway: adding %s\n", oneOrMany(more.Seeds, "new seed", "new seeds"))
	}
	if more.Revived > 0 {
		fmt.Fprintf(c.Err, "headway: adding %s\n", oneOrMany(more.Revived, "URL that was skipped before", "URLs that were skipped before"))
	}
	if !more.Any() || c.purpose.again != nil { // which queues it
		return true, nil
	}
	if err := st.SetState(ctx, time.Now(), j.ID, j.State, job.Queued, ""); err != nil {
		return true, err
	}
	j.State = job.Queued
	return false, nil
}

// oneOrMany counts things.
func oneOrMany(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// forget ends a job and everything known of it.
func forget(ctx context.Context, st store.Store, j store.Job) error {
	if !j.State.Ended() {
		if err := st.SetState(ctx, j.CreatedAt, j.ID, j.State, job.Cancelled, "started over"); err != nil {
			return err
		}
	}
	return st.Drop(ctx, j.ID)
}
