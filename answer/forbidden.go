package answer

import (
	"context"
	"errors"
	"time"

	"headway/job"
	"headway/robots"
	"headway/store"
	"headway/visit"
)

// Forbidden is how many pending URLs of a host its robots.txt disallows. They end
// without a request and so take no time.
type Forbidden struct {
	URLs int64
	All  bool // all pending URLs were checked; otherwise there may be more
}

// CountForbidden checks the pending URLs of a host, at most 10,000, against its stored
// robots.txt.
func CountForbidden(ctx context.Context, r store.Reader, id job.ID, host string, asked *CrawlSpec, now time.Time) (Forbidden, error) {
	if asked.IgnoreRobots {
		return Forbidden{All: true}, nil
	}
	state, known, err := storedRobots(ctx, r, host)
	if err != nil || !known {
		return Forbidden{}, err
	}
	verdict := robots.Policy{AllowUnreachable: asked.Policy.AllowUnreachableRobots}.Verdict(state, now)
	switch verdict.Access {
	case robots.AccessRules, robots.AccessCached:
	default:
		return Forbidden{All: verdict.Access == robots.AccessAll}, nil
	}
	version, err := r.Robots(ctx, verdict.Sum)
	if errors.Is(err, store.ErrNotFound) {
		return Forbidden{}, nil
	}
	if err != nil {
		return Forbidden{}, err
	}
	rules := robots.Parse(version.Body).For(asked.agent())
	var f Forbidden
	q := store.Query{Job: id, Host: host, Outcome: visit.Pending, Max: maxLook / 10}
	for range maxLook / q.Max {
		page, err := r.List(ctx, q)
		if err != nil {
			return f, err
		}
		for i := range page.Entries {
			if d := verdict.Decide(rules, page.Entries[i].Item.URL); !d.Allowed && d.Rule != "" {
				f.URLs++
			}
		}
		if q.After = page.Next; q.After == "" {
			f.All = true
			break
		}
	}
	return f, nil
}
