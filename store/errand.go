package store

import (
	"errors"
	"fmt"
	"math"

	"headway/job"
	"headway/weburl"
)

// MaxErrands is how many errands of a job a host has, waiting and ended. What is
// added beyond that is left out: a sitemap is a hint, and pages are found without.
const MaxErrands = 500

// Errand is a request for something that is no page: a sitemap that a job is to
// read. It is in no count of URLs, but a job is not complete while one waits.
//
// An errand belongs to the slot of its host, whoever adds it, and is ended by
// the owner. It is known by its job and URL for as long as the job lives: added
// again it stays what it is, waiting or ended.
type Errand struct {
	Job    job.ID
	URL    weburl.URL
	Nested int // how many indexes led to it
}

// Check reports what makes an errand impossible to store.
func (e *Errand) Check() error {
	switch {
	case e.URL.IsZero():
		return errors.New("an errand to nowhere: the URL is empty")
	case e.Job <= 0:
		return fmt.Errorf("errand %s: no job", e.URL)
	case e.Nested < 0 || e.Nested > math.MaxInt16:
		return fmt.Errorf("errand %s: nested %d deep", e.URL, e.Nested)
	default:
		return nil
	}
}

// checkErrands checks the errands of a commit.
func (c *Commit) checkErrands() error {
	if n := max(len(c.Errands), len(c.Ran)); n > MaxHosts {
		return fmt.Errorf("commit %d: %d errands, at most %d", c.Number, n, MaxHosts)
	}
	for _, list := range [][]Errand{c.Errands, c.Ran} {
		for i := range list {
			if err := list[i].Check(); err != nil {
				return err
			}
		}
	}
	return nil
}
