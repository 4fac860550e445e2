package postgres

import (
	"bytes"
	"context"
	"fmt"

	"headway/job"
	"headway/store"
)

var _ store.Submissions = (*Store)(nil)

// forgottenAtOnce bounds the old submissions that one new one clears away.
const forgottenAtOnce = 100

// Submit implements [store.Submissions].
func (s *Store) Submit(ctx context.Context, j store.Job, m store.Submission, answer func(job.ID) ([]byte, error)) (text []byte, repeated bool, err error) {
	if err := j.Check(); err != nil {
		return nil, false, err
	}
	err = s.change(ctx, func(ctx context.Context, c *change) (err error) {
		text, repeated, err = c.submit(ctx, j, m, answer)
		return err
	})
	if err != nil {
		return nil, false, fmt.Errorf("submit job %q: %w", j.Name, err)
	}
	if !repeated {
		s.notifier.tell(store.NewJobs, everybody)
	}
	return text, repeated, nil
}

func (c *change) submit(ctx context.Context, j store.Job, m store.Submission, answer func(job.ID) ([]byte, error)) (text []byte, repeated bool, err error) {
	tenant, key := clean(j.Tenant), clean(m.Key)
	old := milli(j.CreatedAt.Add(-store.SubmissionLife))
	var sum []byte
	c.exec("select pg_advisory_xact_lock($1, hashtext($2 || chr(10) || $3))", lockOfSubmission, tenant, key)
	c.exec("delete from submission where tenant = $1 and key = $2 and at < $3", tenant, key, old)
	c.exec("delete from submission s where (s.tenant, s.key) in (select o.tenant, o.key from submission o where o.at < $1 order by o.at limit $2 for update skip locked)", old, forgottenAtOnce)
	c.queue("select sum, answer from submission where tenant = $1 and key = $2", tenant, key).Query(rows([]any{&sum, &text}, func() error { return nil }))
	if err := c.send(ctx); err != nil {
		return nil, false, err
	}
	if sum != nil {
		if !bytes.Equal(sum, m.Sum[:]) {
			return nil, false, fmt.Errorf("key %q was used for something else: %w", m.Key, store.ErrConflict)
		}
		return text, true, nil
	}
	id, err := c.createJob(ctx, &j)
	if err != nil {
		return nil, false, err
	}
	if text, err = answer(id); err != nil {
		return nil, false, err
	}
	c.exec("insert into submission (tenant, key, at, sum, answer) values ($1, $2, $3, $4, $5)", tenant, key, milli(j.CreatedAt), m.Sum[:], notNil(text))
	return text, false, nil
}
