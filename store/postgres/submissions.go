package postgres

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"headway/store"
)

var _ store.Submissions = (*Store)(nil)

// forgottenAtOnce bounds the old submissions that a new one deletes.
const forgottenAtOnce = 100

// Once implements [store.Submissions].
func (s *Store) Once(ctx context.Context, now time.Time, tenant string, m store.Submission, do func(context.Context) ([]byte, error)) (text []byte, repeated bool, err error) {
	err = s.Together(ctx, func(ctx context.Context) (err error) {
		if text, repeated, err = s.submitted(ctx, now, tenant, m); err != nil || repeated {
			return err
		}
		if text, err = do(ctx); err != nil {
			return err
		}
		return s.change(ctx, func(_ context.Context, c *change) error {
			c.exec("insert into submission (tenant, key, at, sum, answer) values ($1, $2, $3, $4, $5)", clean(tenant), clean(m.Key), milli(now), m.Sum[:], notNil(text))
			return nil
		})
	})
	if err != nil {
		return nil, false, err
	}
	return text, repeated, nil
}

// submitted looks up an earlier submission, and blocks others with its key until the end of
// the transaction.
func (s *Store) submitted(ctx context.Context, now time.Time, tenant string, m store.Submission) (text []byte, repeated bool, err error) {
	tenant, key := clean(tenant), clean(m.Key)
	old := milli(now.Add(-store.SubmissionLife))
	var sum []byte
	err = s.change(ctx, func(_ context.Context, c *change) error {
		c.exec("select pg_advisory_xact_lock($1, hashtext($2 || chr(10) || $3))", lockOfSubmission, tenant, key)
		c.exec("delete from submission where tenant = $1 and key = $2 and at < $3", tenant, key, old)
		c.exec("delete from submission s where (s.tenant, s.key) in (select o.tenant, o.key from submission o where o.at < $1 order by o.at limit $2 for update skip locked)", old, forgottenAtOnce)
		c.queue("select sum, answer from submission where tenant = $1 and key = $2", tenant, key).Query(rows([]any{&sum, &text}, func() error { return nil }))
		return nil
	})
	if err == nil && sum != nil && !bytes.Equal(sum, m.Sum[:]) {
		err = fmt.Errorf("key %q was used for something else: %w", m.Key, store.ErrConflict)
	}
	return text, sum != nil, err
}
