package crawl

import (
	"cmp"
	"context"
	"fmt"

	"headway"
	"headway/internal/cli/command"
	"headway/output"
	"headway/store"
)

// purpose is what a crawl is made for, where the crawl itself is not all: a
// check of links, the warming of caches. The zero purpose is a plain crawl.
type purpose struct {
	name string // of the command; kept with the crawl, and part of its folder's name
	// shape changes what is crawled.
	shape func(cfg *crawlConfig)
	// again is asked about a job that has ended, and tells whether it has put
	// the job back to the queue, because there is more to do.
	again func(ctx context.Context, st store.Store, j store.Job) (bool, error)
	// output opens what is written instead of the file of pages; begun tells
	// that there is a run to resume.
	output func(begun bool) (output.Writer, error)
	// afresh is told that a run that has ended is forgotten, and the crawl
	// starts over; nil where such a run stays until --fresh.
	afresh func(cfg *crawlConfig) error
	// more is asked when a pass has ended, and tells whether it has put the job
	// back to the queue, for another pass with what it made of the config.
	more func(ctx context.Context, st store.Store, r headway.Report, cfg *crawlConfig) (bool, error)
	// conclude says what came of it and with which exit code, instead of the
	// summary of a crawl.
	conclude func(ctx context.Context, st store.Store, r headway.Report) error
}

// dir is the folder of a crawl with this purpose that names none.
func (p *purpose) dir(plain string) string {
	if p.name == "" {
		return plain
	}
	return plain + "-" + p.name
}

// other refuses a folder that was made for another purpose: what is asked there
// and what is not would be neither.
func (p *purpose) other(dir, before string) error {
	return command.Usage(fmt.Errorf("%s was created by headway %s, not by headway %s", dir, cmp.Or(before, "crawl"), cmp.Or(p.name, "crawl")),
		"choose another folder with --dir, or start over in this one with --fresh")
}
