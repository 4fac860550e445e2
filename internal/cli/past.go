package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"headway/answer"
	"headway/ask"
	"headway/store"
	"headway/store/sqlite"
)

// openLast opens the crawl in a folder to read it, and finds its last job. It
// works while the crawl runs and after it.
func openLast(ctx context.Context, dir string) (*sqlite.View, store.Job, error) {
	view, err := sqlite.OpenView(ctx, dir)
	if err != nil {
		return nil, store.Job{}, openFailure(err)
	}
	j, err := lastJob(ctx, view)
	if err != nil {
		err = errors.Join(fmt.Errorf("%s: %w", dir, err), view.Close())
		return nil, store.Job{}, failed(err, "the crawl may be starting; try again in a moment")
	}
	return view, j, nil
}

// past is a crawl as it is stored and as it was asked for, for commands that look
// at how it treats hosts.
type past struct {
	dir     string // empty for a job of a fleet
	view    store.Reader
	asker   ask.Asker // who answers while it runs
	job     store.Job
	asked   answer.Asked
	first   answer.Asked // by the first run
	running bool
}

// openPast opens a crawl to look at it.
func openPast(ctx context.Context, dir string) (*past, error) {
	running, err := sqlite.Running(dir)
	if err != nil {
		return nil, failed(fmt.Errorf("read %s: %w", dir, err), "check that the folder is readable")
	}
	view, j, err := openLast(ctx, dir)
	if err != nil {
		return nil, err
	}
	p := &past{dir: dir, view: view, asker: ask.NewMailbox(dir), job: j, running: running}
	if err := p.load(); err != nil {
		return nil, failed(errors.Join(err, view.Close()), "inspect "+dir+" with headway runs")
	}
	return p, nil
}

// load reads what was asked for.
func (p *past) load() (err error) {
	if p.first, err = answer.AskedOf(p.job); err != nil {
		return err
	}
	if p.asked, err = lastAsked(p.dir, p.job); err != nil {
		return err
	}
	return nil
}

// crawl is the crawl for package answer, which says on errs what its answers lack.
func (p *past) crawl(errs io.Writer) *answer.Crawl {
	return &answer.Crawl{
		Store: p.view, Job: p.job, Asked: p.asked, Fleet: p.dir == "", Running: p.running, Asker: p.asker,
		Warn: func(text string) { fmt.Fprintln(errs, "headway: warning: "+text) },
	}
}

// lastAsked is what the crawl in a folder was last asked for: the job keeps what
// it was asked at first.
func lastAsked(dir string, j store.Job) (answer.Asked, error) {
	text, err := os.ReadFile(filepath.Join(dir, askedFile))
	if errors.Is(err, fs.ErrNotExist) || err == nil && !json.Valid(text) {
		return answer.AskedOf(j)
	}
	if err != nil {
		return answer.Asked{}, fmt.Errorf("read saved settings: %w", err)
	}
	return answer.ReadAsked(text)
}

// askedFile keeps what the last call of a crawl asked for.
const askedFile = "asked.json"
