package crawl

import (
	"context"
	"fmt"
	"path/filepath"

	"headway/internal/cli/command"
	"headway/job"
	"headway/output/format"
)

// deliver copies what the crawl made, once it has ended.
func (c *crawlRun) deliver(ctx context.Context, state job.State) error {
	if !c.to.Named() {
		return nil
	}
	if !state.Ended() {
		fmt.Fprintf(c.Err, "headway: not uploaded to %s: the crawl has not finished\n", c.to.Place)
		return nil
	}
	names := format.Files(c.Settings.Format...)
	for _, pattern := range format.Archives() {
		archive, err := filepath.Glob(filepath.Join(c.dir, pattern))
		if err != nil {
			return command.Failed(err, "")
		}
		for _, path := range archive {
			names = append(names, filepath.Base(path))
		}
	}
	out := c.out
	if c.json {
		out = c.Err // what is printed is one value
	}
	return c.to.Deliver(ctx, out, c.dir, names)
}
