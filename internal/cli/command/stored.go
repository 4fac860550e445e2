package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"headway/answer"
	"headway/ask"
	"headway/job"
	"headway/store"
	"headway/store/sqlite"
)

// OpenView opens the crawl in a folder to read it, and finds its last job. It
// works while the crawl runs and after it.
func OpenView(ctx context.Context, dir string) (*sqlite.View, store.Job, error) {
	view, err := sqlite.OpenView(ctx, dir)
	if err != nil {
		return nil, store.Job{}, OpenFailure(err)
	}
	j, err := lastJob(ctx, view)
	if err != nil {
		err = errors.Join(fmt.Errorf("%s: %w", dir, err), view.Close())
		return nil, store.Job{}, Failed(err, "the crawl may be starting; try again in a moment")
	}
	return view, j, nil
}

// StoredCrawl is a stored crawl with the settings it was started with.
type StoredCrawl struct {
	Dir     string // empty for a job of a fleet
	View    store.Reader
	Asker   ask.Asker // answers while it runs
	Job     store.Job
	Asked   answer.CrawlSpec
	First   answer.CrawlSpec // of the first run
	Running bool
}

// OpenStored opens the crawl in a folder, running or ended.
func OpenStored(ctx context.Context, dir string) (*StoredCrawl, error) {
	running, err := sqlite.Running(dir)
	if err != nil {
		return nil, Failed(fmt.Errorf("read %s: %w", dir, err), "check that the folder is readable")
	}
	view, j, err := OpenView(ctx, dir)
	if err != nil {
		return nil, err
	}
	p := &StoredCrawl{Dir: dir, View: view, Asker: ask.NewMailbox(dir), Job: j, Running: running}
	if err := p.load(); err != nil {
		return nil, Failed(errors.Join(err, view.Close()), "inspect "+dir+" with headway runs")
	}
	return p, nil
}

// load reads the settings of the first and of the last run.
func (p *StoredCrawl) load() (err error) {
	if p.First, err = answer.CrawlSpecOf(p.Job); err != nil {
		return err
	}
	if p.Asked, err = LastAsked(p.Dir, p.Job); err != nil {
		return err
	}
	return nil
}

// Crawl is the crawl for package answer. Warnings about incomplete answers go to errs.
func (p *StoredCrawl) Crawl(errs io.Writer) *answer.Crawl {
	return &answer.Crawl{
		Store: p.View, Job: p.Job, Spec: p.Asked, Fleet: p.Dir == "", Running: p.Running, Asker: p.Asker,
		Warn: func(text string) { fmt.Fprintln(errs, "headway: warning: "+text) },
	}
}

// LastAsked is the settings of the last run in a folder; the job has those of the
// first.
func LastAsked(dir string, j store.Job) (answer.CrawlSpec, error) {
	text, err := os.ReadFile(filepath.Join(dir, AskedFile))
	if errors.Is(err, fs.ErrNotExist) || err == nil && !json.Valid(text) {
		return answer.CrawlSpecOf(j)
	}
	if err != nil {
		return answer.CrawlSpec{}, fmt.Errorf("read saved settings: %w", err)
	}
	return answer.ReadCrawlSpec(text)
}

// AskedFile has the settings of the last run of a crawl.
const AskedFile = "asked.json"

// ReadProgress prints once a second how much of a crawl was read.
func ReadProgress(w io.Writer) func(read, of int64) {
	said := time.Now()
	return func(read, of int64) {
		if time.Since(said) > time.Second {
			said = time.Now()
			fmt.Fprintf(w, "headway: read %d of %d URLs\n", read, of)
		}
	}
}

// OpenSide opens the crawl in a folder as one side of a comparison.
func OpenSide(ctx context.Context, dir string) (answer.Side, error) {
	found, err := FindCrawl(dir, "")
	if err != nil {
		return answer.Side{}, err
	}
	view, j, err := OpenView(ctx, found)
	if err != nil {
		return answer.Side{}, err
	}
	side := answer.Side{Reader: view, Job: j.ID}
	if err := CompleteSide(&side, found, j); err != nil {
		return answer.Side{}, Failed(errors.Join(err, view.Close()), "inspect "+found+" with headway runs")
	}
	return side, nil
}

// CompleteSide adds to a side the last settings of its crawl, and whether it was
// killed.
func CompleteSide(side *answer.Side, dir string, j store.Job) error {
	running, err := sqlite.Running(dir)
	if err != nil {
		return err
	}
	asked, err := LastAsked(dir, j)
	side.Spec, side.Interrupted = &asked, !running && !j.State.Ended()
	return err
}

// lastJob is the job of a folder: the latest crawl.
func lastJob(ctx context.Context, r store.Reader) (store.Job, error) {
	var last *store.Job
	for after := job.ID(0); ; {
		list, err := r.JobList(ctx, after, store.MaxPage)
		if err != nil {
			return store.Job{}, err
		}
		if len(list) == 0 {
			break
		}
		last = &list[len(list)-1]
		after = last.ID
	}
	if last == nil {
		return store.Job{}, errors.New("nothing crawled yet")
	}
	return *last, nil
}
