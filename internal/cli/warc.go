package cli

import (
	"headway/output"
	"headway/output/warc"
)

const formatWARC = "warc"

// openWARC opens the archive of what servers send.
func (c *crawlRun) openWARC(begun bool) (output.Writer, error) {
	cfg := warc.Config{
		Dir: c.dir, Software: productToken + "/" + version, UserAgent: c.who.UserAgent(), Operator: c.who.Contact,
	}
	if c.set.IgnoreRobots {
		cfg.Robots = "ignored on hosts of the operator"
	}
	open := warc.Create
	if begun {
		open = warc.Resume
	}
	w, err := open(cfg)
	if err != nil {
		return nil, err
	}
	return w, nil
}
