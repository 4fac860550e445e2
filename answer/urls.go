package answer

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"headway/job"
	"headway/store"
	"headway/visit"
)

// URLQuery says which URLs of a crawl are listed. Zero fields match everything.
type URLQuery struct {
	Outcome visit.Outcome
	Reason  visit.Reason
	Hosts   []string // any of these
	Prefix  string   // of the URL, or of its path if it starts with a slash
	Status  int      // HTTP status
}

// Check reports values outside the closed sets, and a reason that does not belong to the
// outcome.
func (q *URLQuery) Check() error {
	if q.Outcome != "" && !slices.Contains(visit.Outcomes, q.Outcome) {
		return fmt.Errorf("invalid outcome %q; choose one of %s", q.Outcome, list(visit.Outcomes))
	}
	if q.Reason == "" {
		return nil
	}
	of := q.outcome()
	switch {
	case of == "":
		return fmt.Errorf("invalid reason %q; choose one of %s, %s", q.Reason, list(visit.Reasons[visit.Skipped]), list(visit.Reasons[visit.Failed]))
	case q.Outcome != "" && q.Outcome != of:
		return fmt.Errorf("outcome %s never has the reason %s; it belongs to outcome %s", q.Outcome, q.Reason, of)
	}
	return nil
}

// outcome is the requested outcome, directly or through the reason.
func (q *URLQuery) outcome() visit.Outcome {
	for o, reasons := range visit.Reasons {
		if slices.Contains(reasons, q.Reason) {
			return o
		}
	}
	if q.Reason != "" {
		return ""
	}
	return q.Outcome
}

func list[T ~string](words []T) string {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = string(w)
	}
	return strings.Join(texts, ", ")
}

// URLRow is the state of one URL.
type URLRow struct {
	URL     string        `json:"url"`
	Outcome visit.Outcome `json:"outcome"`
	Reason  visit.Reason  `json:"reason,omitempty"`
	Status  int           `json:"status,omitempty"`
	Depth   int           `json:"depth"`
	Found   visit.FoundBy `json:"found"`
	On      string        `json:"found_on,omitempty"` // the page, sitemap or redirect with the link
	SeenAt  time.Time     `json:"seen_at"`
	EndedAt time.Time     `json:"ended_at,omitzero"`
}

// urlPage is how many URLs are read at a time.
const urlPage = 1000

// Lister is the part of a [store.Reader] that pages through URLs.
type Lister interface {
	List(ctx context.Context, q store.Query) (store.Page, error)
}

// ListURLs lists the URLs of a job in storage order, page by page. The query must have
// passed Check. Out-of-scope URLs are stored separately, see [store.Page], and are not
// listed.
func ListURLs(ctx context.Context, r Lister, id job.ID, q URLQuery) iter.Seq2[URLRow, error] {
	hosts := q.Hosts
	if len(hosts) == 0 {
		hosts = []string{""}
	}
	return func(yield func(URLRow, error) bool) {
		for _, host := range hosts {
			for page := q.Of(id, host, urlPage); ; {
				answer, err := r.List(ctx, page)
				if err != nil {
					yield(URLRow{}, err)
					return
				}
				for i := range answer.Entries {
					if e := &answer.Entries[i]; q.Match(e) && !yield(NewURLRow(e), nil) {
						return
					}
				}
				if page.After = answer.Next; page.After == "" {
					break
				}
			}
		}
	}
}

// Of returns the store query for one host or, if that is empty, for all. It does not
// include prefix and status: see Match.
func (q *URLQuery) Of(id job.ID, host string, most int) store.Query {
	return store.Query{Job: id, Host: host, Outcome: q.outcome(), Reason: q.Reason, Max: most}
}

// Match reports whether a URL has the prefix and the status.
func (q *URLQuery) Match(e *store.Entry) bool {
	if q.Status != 0 && (e.Visit == nil || e.Visit.Answer.Status != q.Status) {
		return false
	}
	if strings.HasPrefix(q.Prefix, "/") {
		return strings.HasPrefix(e.Item.URL.PathQuery(), q.Prefix)
	}
	return strings.HasPrefix(e.Item.URL.String(), q.Prefix)
}

// NewURLRow describes one URL.
func NewURLRow(e *store.Entry) URLRow {
	row := URLRow{
		URL: visit.Redact(e.Item.URL), Outcome: e.Outcome, Reason: e.Reason, Depth: e.Item.Depth, Found: e.Item.Found, SeenAt: e.SeenAt, EndedAt: e.EndedAt,
	}
	if !e.Item.Via.IsZero() {
		row.On = visit.Redact(e.Item.Via)
	}
	if e.Visit != nil {
		row.Status = e.Visit.Answer.Status
	}
	return row
}
