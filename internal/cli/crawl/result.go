package crawl

import (
	"fmt"

	"headway"
	"headway/ask"
	"headway/internal/cli/command"
	"headway/internal/humanize"
	"headway/internal/view"
	"headway/job"
	"headway/limit"
	"headway/visit"
)

// crawlAnswer is what `headway crawl --json` says.
type crawlAnswer struct {
	Seed    string    `json:"seed"` // the first one
	Dir     string    `json:"dir"`
	State   job.State `json:"state"` // running where it was interrupted, and can be resumed
	Reason  string    `json:"reason"`
	Success bool      `json:"success"`
	Resumed bool      `json:"resumed"`
	// Finished says that it was already finished, and nothing was done.
	Finished bool        `json:"already_finished"`
	Limit    *limitJSON  `json:"limit,omitempty"` // that stopped it with work left
	Errors   []string    `json:"errors"`
	Warnings []string    `json:"warnings"`
	Seen     int64       `json:"seen"`
	Outcomes []endedJSON `json:"outcomes"` // which add up to it
	// Of this run.
	Pages     int64       `json:"pages"`
	Requests  int64       `json:"requests"`
	Refusals  int64       `json:"refusals"`
	Incidents int64       `json:"incidents"`
	Elapsed   ask.Seconds `json:"elapsed_seconds"`
}

// limitJSON is a limit that stopped a crawl.
type limitJSON struct {
	Limit     limit.Name  `json:"limit"`
	Layer     limit.Level `json:"layer"`
	Max       float64     `json:"max"`
	Unit      string      `json:"unit,omitempty"`
	Requested float64     `json:"requested,omitempty"`
}

// endedJSON is how many URLs have an outcome, by reason where there are any.
type endedJSON struct {
	Outcome visit.Outcome          `json:"outcome"`
	URLs    int64                  `json:"urls"`
	Reasons map[visit.Reason]int64 `json:"reasons,omitempty"`
}

// printResult says how a crawl ended, to a person or a program.
func (c *crawlRun) printResult(r headway.Report) error {
	if c.json {
		return command.PrintJSON(c.out, c.result(r))
	}
	_, err := fmt.Fprint(c.out, view.Summary(view.Ended{
		Report: r, Dir: c.dir, Named: c.named(), Seed: c.seeds.URLs[0].String(), Width: widthOf(c.out),
		Paused: c.paused(), More: c.more(),
	}))
	return err
}

func (c *crawlRun) result(r headway.Report) crawlAnswer {
	a := crawlAnswer{
		Seed: visit.Redact(c.seeds.URLs[0]), Dir: c.dir, State: r.State, Reason: r.Reason, Success: r.Success, Resumed: r.Resumed, Finished: r.Again,
		Errors: append([]string{}, r.Errors...), Warnings: append([]string{}, r.Warnings...), Seen: r.Counts.Seen(), Outcomes: []endedJSON{},
		Pages: r.Pages, Requests: r.Requests, Refusals: r.Refusals, Incidents: r.Incidents, Elapsed: ask.Seconds(r.Elapsed),
	}
	if l := r.Limit; l != nil {
		a.Limit = &limitJSON{Limit: l.Limit, Layer: l.Layer}
		a.Limit.Max, a.Limit.Unit = l.Limit.InUnits(l.Max)
		a.Limit.Requested, _ = l.Limit.InUnits(l.Requested)
	}
	for _, s := range humanize.Sums(r.Counts) {
		e := endedJSON{Outcome: s.Outcome, URLs: s.N}
		for _, x := range s.Reasons {
			if x.Reason != "" {
				if e.Reasons == nil {
					e.Reasons = map[visit.Reason]int64{}
				}
				e.Reasons[x.Reason] = x.N
			}
		}
		a.Outcomes = append(a.Outcomes, e)
	}
	return a
}
