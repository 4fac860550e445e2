package command

import (
	"context"
	"errors"
	"time"

	"headway/job"
	"headway/store"
	"headway/store/sqlite"
	"headway/visit"
)

// maxSeeds is how many seeds of a crawl are named.
const maxSeeds = 20

// CrawlInfo is one crawl as `headway runs` lists it.
type CrawlInfo struct {
	Dir       string    `json:"dir"`
	Seeds     []string  `json:"seeds"`                // the first few
	MoreSeeds bool      `json:"more_seeds,omitempty"` // and others
	State     job.State `json:"state,omitempty"`      // as stored: a crawl that was killed is still running there
	Running   bool      `json:"running"`              // a process works in it
	Reason    string    `json:"reason,omitempty"`
	Pages     int64     `json:"pages"`
	Waiting   int64     `json:"waiting"`
	Started   time.Time `json:"started,omitzero"`
	Ended     time.Time `json:"ended,omitzero"`
	Bytes     int64     `json:"bytes"` // on disk
	Error     string    `json:"error,omitempty"`
}

// ReadCrawlInfo reads one crawl. If that fails, the reason is in Error.
func ReadCrawlInfo(ctx context.Context, dir string) CrawlInfo {
	row := CrawlInfo{Dir: dir, Seeds: []string{}}
	row.Bytes, _ = SizeOf(dir) // files come and go while a crawl runs
	if err := row.read(ctx); err != nil {
		row.Error = err.Error()
	}
	return row
}

func (r *CrawlInfo) read(ctx context.Context) (err error) {
	if r.Running, err = sqlite.Running(r.Dir); err != nil {
		return err
	}
	view, err := sqlite.OpenView(ctx, r.Dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, view.Close()) }()
	j, err := lastJob(ctx, view)
	if err != nil {
		return err
	}
	r.State, r.Reason, r.Started, r.Ended = j.State, j.Reason, j.CreatedAt, j.EndedAt
	counts, err := view.Counts(ctx, j.ID)
	if err != nil {
		return err
	}
	r.Pages, r.Waiting = counts.Pages(), counts.Waiting
	// Seeds are stored before anything that was found from them.
	page, err := view.List(ctx, store.Query{Job: j.ID, Max: maxSeeds + 1})
	if err != nil {
		return err
	}
	for i := range page.Entries {
		if it := &page.Entries[i].Item; it.Found == visit.FoundSeed {
			r.Seeds = append(r.Seeds, visit.Redact(it.URL))
		}
	}
	if len(r.Seeds) > maxSeeds {
		r.Seeds, r.MoreSeeds = r.Seeds[:maxSeeds], true
	}
	return nil
}

// StateAndReason is the state of a crawl, and the reason if it ended incomplete.
func (r *CrawlInfo) StateAndReason() string {
	if r.Reason != "" && r.State.Ended() && r.State != job.Complete {
		return r.StateWord() + ": " + OneLine(r.Reason)
	}
	return r.StateWord()
}

// StateWord is the state of a crawl in one word.
func (r *CrawlInfo) StateWord() string {
	switch {
	case r.Error != "":
		return "unreadable"
	case r.Running:
		return "running"
	case !r.State.Ended():
		return "interrupted"
	default:
		return string(r.State)
	}
}
