package store

import (
	"errors"
	"fmt"
	"math"

	"headway/job"
	"headway/weburl"
)

// MaxErrands is how many errands a job has on a host, waiting and ended. More are
// ignored: a sitemap is a hint, and pages are also found by links.
const MaxErrands = 500

// Errand is a request for something that is not a page: a sitemap to be read for a job.
// It is not counted as a URL, but a job is not complete while one waits.
//
// An errand belongs to the slot of its host, whichever worker adds it, and is ended by the owner.
// It is identified by its job and URL until the job is dropped: adding it again changes
// nothing, whether it waits or has ended.
type Errand struct {
	Job    job.ID
	URL    weburl.URL
	Nested int // number of sitemap indexes that led to it
}

// Check reports why an errand is invalid.
func (e *Errand) Check() error {
	switch {
	case e.URL.IsZero():
		return errors.New("errand without a URL")
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
