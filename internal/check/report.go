package check

import (
	"cmp"
	"context"
	"slices"
	"time"

	"headway/job"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// maxListed bounds the links of one verdict that are listed; the others are
// counted.
const maxListed = 10_000

// Link is a link that was not ok.
type Link struct {
	URL       string        `json:"url"`
	Verdict   Verdict       `json:"verdict"`
	Outcome   visit.Outcome `json:"outcome"`
	Reason    visit.Reason  `json:"reason,omitempty"`
	Status    int           `json:"status,omitempty"`
	Detail    string        `json:"detail,omitempty"`
	AskedAt   time.Time     `json:"asked_at,omitzero"`
	Pages     []string      `json:"pages"`                // that carry it
	MorePages int           `json:"more_pages,omitempty"` // others
	Redirects []string      `json:"redirects,omitempty"`  // that led to it
}

// Report is the verdicts of a check.
type Report struct {
	State  job.State         `json:"state"`
	Reason string            `json:"reason"`
	FailOn FailOn            `json:"fail_on"`
	Failed bool              `json:"failed"`
	Seen   int64             `json:"links"`  // all links
	Counts map[Verdict]int64 `json:"counts"` // add up to it
	Links  []Link            `json:"not_ok"` // by verdict, then URL
	// Left is how many links of a verdict are not among Links.
	Left map[Verdict]int64 `json:"left_out,omitempty"`
}

// notOK are the endings whose URLs are read one by one.
var notOK = []store.Ending{
	{Outcome: visit.Dead},
	{Outcome: visit.Failed},
	{Outcome: visit.Throttled},
	{Outcome: visit.Blocked},
	{Outcome: visit.ServerError},
	{Outcome: visit.Deferred},
	{Outcome: visit.Skipped, Reason: visit.RobotsDisallow},
	{Outcome: visit.Skipped, Reason: visit.RobotsUnreachable},
	{Outcome: visit.Skipped, Reason: visit.CrawlDelayTooLong},
	{Outcome: visit.Skipped, Reason: visit.BadPort},
	{Outcome: visit.Skipped, Reason: visit.PrivateAddress},
	{Outcome: visit.Skipped, Reason: visit.BudgetHost},
}

// each calls do for every URL of a job that ended in one of the ways given.
func each(ctx context.Context, st store.Store, id job.ID, endings []store.Ending, do func(e *store.Entry) error) error {
	for _, end := range endings {
		q := store.Query{Job: id, Outcome: end.Outcome, Reason: end.Reason, Max: store.MaxPage}
		for {
			page, err := st.List(ctx, q)
			if err != nil {
				return err
			}
			for i := range page.Entries {
				if err := do(&page.Entries[i]); err != nil {
					return err
				}
			}
			if q.After = page.Next; q.After == "" {
				break
			}
		}
	}
	return nil
}

// refusing finds the hosts that were given up on while they refused: the URLs that
// waited there were deferred without a response of their own, but one of them was
// tried.
func refusing(ctx context.Context, st store.Store, id job.ID) (map[string]bool, error) {
	hosts := map[string]bool{}
	err := each(ctx, st, id, []store.Ending{{Outcome: visit.Deferred}}, func(e *store.Entry) error {
		host := e.Item.URL.Host()
		if hosts[host] {
			return nil
		}
		whole, err := st.Lookup(ctx, id, e.Item.URL)
		if err != nil {
			return err
		}
		if n := len(whole.Attempts); n > 0 {
			outcome, _ := visit.OfStatus(whole.Attempts[n-1].Answer.Status)
			hosts[host] = outcome == visit.Throttled
		}
		return nil
	})
	return hosts, err
}

// lookup finds entries of a job. One that cannot be read is treated as missing: it
// would only have said where a redirect was linked.
func lookup(ctx context.Context, st store.Store, id job.ID) func(string) *store.Entry {
	return func(raw string) *store.Entry {
		u, err := weburl.Parse(raw)
		if err != nil {
			return nil
		}
		e, err := st.Lookup(ctx, id, u)
		if err != nil {
			return nil
		}
		return &e
	}
}

// New reads the verdicts of a job and, from the log at path, what leads to links
// that are not ok.
func New(ctx context.Context, st store.Store, j store.Job, path string, failOn FailOn) (*Report, error) {
	r := &Report{State: j.State, Reason: j.Reason, FailOn: failOn, Counts: map[Verdict]int64{}, Left: map[Verdict]int64{}, Links: []Link{}}
	counts, err := st.Counts(ctx, j.ID)
	if err != nil {
		return nil, err
	}
	r.Seen = counts.Seen()
	r.Counts[Waiting] = counts.Waiting
	for e, n := range counts.Ended {
		if v := ofEnding(e); v == OK || v == NotAsked {
			r.Counts[v] += n
		}
	}
	refused, err := refusing(ctx, st, j.ID)
	if err != nil {
		return nil, err
	}
	var entries []*store.Entry
	listed := map[Verdict]int64{}
	verdict := func(e *store.Entry) Verdict {
		if e.Outcome == visit.Deferred && refused[e.Item.URL.Host()] {
			return Throttled
		}
		return Of(e)
	}
	err = each(ctx, st, j.ID, notOK, func(e *store.Entry) error {
		v := verdict(e)
		r.Counts[v]++
		if listed[v]++; listed[v] > maxListed {
			r.Left[v]++
			return nil
		}
		entry := *e
		entries = append(entries, &entry)
		return nil
	})
	if err != nil {
		return nil, err
	}
	from, err := readSources(path, entries, lookup(ctx, st, j.ID))
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		r.add(e, verdict(e), from.of(e))
	}
	slices.SortFunc(r.Links, func(a, b Link) int {
		return cmp.Or(cmp.Compare(slices.Index(Listed, a.Verdict), slices.Index(Listed, b.Verdict)), cmp.Compare(a.URL, b.URL))
	})
	for v, n := range r.Counts {
		r.Failed = r.Failed || n > 0 && failOn.Fails(v)
	}
	return r, nil
}

// add lists a link, unless nothing leads to it any more.
func (r *Report) add(e *store.Entry, v Verdict, src Source) {
	if src.Gone {
		r.Counts[v]--
		r.Counts[Unlinked]++
		return
	}
	l := Link{
		URL: visit.Redact(e.Item.URL), Verdict: v, Outcome: e.Outcome, Reason: e.Reason,
		Pages: redacted(src.Pages), MorePages: src.More, Redirects: redacted(src.Redirects),
	}
	if e.Visit != nil {
		l.Status, l.Detail, l.AskedAt = e.Visit.Answer.Status, e.Visit.Detail, e.Visit.Timing.Sent
	}
	r.Links = append(r.Links, l)
}

// redacted removes secrets from URLs.
func redacted(list []string) []string {
	out := make([]string, 0, len(list))
	for _, raw := range list {
		if u, err := weburl.Parse(raw); err == nil {
			out = append(out, visit.Redact(u))
		}
	}
	return out
}
