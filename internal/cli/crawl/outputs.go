package crawl

import (
	"headway/internal/cli/command"
	"headway/output"
	"headway/output/format"
	"headway/output/jsonl"
	"headway/output/warc"
)

// openOutputs opens the files that the crawl writes.
func (c *crawlRun) openOutputs(begun bool) ([]output.Writer, error) {
	o := &format.Options{
		Dir: c.dir, Crawl: command.FolderName(c.dir), Log: c.Log, Resumed: begun, Links: c.Settings.JSONL.Links, KeptLinks: c.Settings.Links,
		Archive: warc.Config{Software: command.Product + "/" + command.Version(), UserAgent: c.Identity.UserAgent(), Operator: c.Identity.Contact},
	}
	if c.Settings.IgnoreRobots {
		o.Archive.Robots = "ignored on hosts owned by the operator"
	}
	list, err := format.Open(c.Settings.Format, o)
	if err != nil {
		return nil, command.Failed(err, "check that "+c.dir+" is writable")
	}
	if c.stdout != nil {
		list = append(list, jsonl.NewStream(c.stdout, c.Settings.JSONL.Links))
	}
	return list, nil
}
