package postgres

import (
	"context"
	"fmt"
	"math"

	"headway/job"
	"headway/store"
)

var _ store.JobLists = (*Store)(nil)

// FindJobs implements [store.JobLists].
func (s *Store) FindJobs(ctx context.Context, q store.JobQuery) ([]store.Job, error) {
	before := int32(math.MaxInt32)
	if q.Before > 0 {
		before = int32(min(q.Before, math.MaxInt32))
	}
	whose := "j.tenant = $1" // uses its index
	if q.All {
		whose = "$1::text is not null"
	}
	var list []store.Job
	r, err := s.pool.Query(ctx, "select "+jobFacts+", j.spec from job j where "+whose+" and j.id < $2 and ($3 = '' or j.state = $3) order by j.id desc limit $4",
		q.Tenant, before, string(q.State), min(max(q.Max, 0), store.MaxPage))
	if err == nil {
		err = scanJobs(&list, func(j *store.Job) any { return &j.Spec })(r)
	}
	if err != nil {
		return nil, fmt.Errorf("find jobs of tenant %q: %w", q.Tenant, wrap(err))
	}
	return list, nil
}

// CountJobs implements [store.JobLists].
func (s *Store) CountJobs(ctx context.Context, ids []job.ID) (map[job.ID]store.Counts, error) {
	if len(ids) > store.MaxPage {
		return nil, fmt.Errorf("count %d jobs, at most %d", len(ids), store.MaxPage)
	}
	counts, err := s.countJobs(ctx, s.pool, ids...)
	if err != nil {
		return nil, fmt.Errorf("count %d jobs: %w", len(ids), wrap(err))
	}
	return counts, nil
}
