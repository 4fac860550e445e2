package cli

import (
	"headway/output"
	"headway/output/format"
	"headway/output/warc"
)

// openOutputs opens the files that the crawl writes.
func (c *crawlRun) openOutputs(begun bool) ([]output.Writer, error) {
	o := &format.Options{
		Dir: c.dir, Log: c.log, Resumed: begun, Links: c.set.JSONL.Links,
		Archive: warc.Config{Software: productToken + "/" + version, UserAgent: c.who.UserAgent(), Operator: c.who.Contact},
	}
	if c.set.IgnoreRobots {
		o.Archive.Robots = "ignored on hosts owned by the operator"
	}
	list, err := format.Open(c.set.Format, o)
	if err != nil {
		return nil, failed(err, "check that "+c.dir+" is writable")
	}
	return list, nil
}
