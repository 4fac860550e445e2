package sqlite

import (
	"bytes"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// Commit implements [store.URLs].
//
// What was learned about hosts is written to the shared file in two parts: what makes a
// host slower before the crawl file is written, what makes it faster after. A crash between
// leaves it slower, never faster.
func (s *Store) Commit(ctx context.Context, c store.Commit) (store.Receipt, error) {
	if err := c.Check(); err != nil {
		return store.Receipt{}, err
	}
	if err := c.CheckLeases(s.key); err != nil {
		return store.Receipt{}, err
	}
	if len(c.HostTime) > 0 {
		return store.Receipt{}, fmt.Errorf("commit %d: host times are not stored: %w", c.Number, errors.ErrUnsupported)
	}
	if len(c.Segments) > 0 {
		return store.Receipt{}, fmt.Errorf("commit %d: segments are not stored: %w", c.Number, errors.ErrUnsupported)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	repeated, err := s.ledger.Begin(&c)
	if err != nil || repeated {
		return store.Receipt{Repeated: repeated}, err
	}
	spend, err := s.ledger.Spend(&c)
	if err != nil {
		return store.Receipt{}, err
	}
	if err := s.share(ctx, c.At, c.Hosts, store.Slower); err != nil {
		return store.Receipt{}, err
	}
	var receipt store.Receipt
	err = s.changeLocked(ctx, func(ctx context.Context) error {
		b := newBatch(s, c.At, c.Worker)
		if err := b.commit(ctx, &c); err != nil {
			return err
		}
		receipt = b.receipt
		return nil
	})
	if err != nil {
		return store.Receipt{}, fmt.Errorf("commit %d of worker %d: %w", c.Number, c.Worker, err)
	}
	s.ledger.Done(&c, spend)
	if err := s.share(context.WithoutCancel(ctx), c.At, c.Hosts, store.Faster); err != nil {
		// The commit is valid: the next crawl finds the host slower than necessary.
		s.log.WarnContext(ctx, "cannot share a shorter pace with other crawls", "err", err)
	}
	return receipt, nil
}

// commit writes all parts of a commit that the ledger accepted.
func (b *batch) commit(ctx context.Context, c *store.Commit) error {
	if err := b.checkJobs(c); err != nil {
		return err
	}
	for host := range c.HostNames() {
		b.refs[host] = hostRef{}
	}
	if err := b.resolve(ctx, true); err != nil {
		return err
	}
	if err := b.visits(ctx, c.Visits); err != nil {
		return err
	}
	if err := b.retries(ctx, c.Retries); err != nil {
		return err
	}
	if err := b.add(ctx, c.Found); err != nil {
		return err
	}
	if err := b.errands(ctx, c); err != nil {
		return err
	}
	if err := b.parks(ctx, c.Parks); err != nil {
		return err
	}
	if err := b.learn(ctx, c); err != nil {
		return err
	}
	return b.finish(ctx)
}

// checkJobs reports a job that does not exist. A visit of one is a URL that does not wait.
func (b *batch) checkJobs(c *store.Commit) error {
	for _, id := range c.RequiredJobs() {
		if _, err := b.tables(id); err != nil {
			return err
		}
	}
	notWaiting := func(it *visit.Item) error {
		if b.jobs[it.Job] == nil {
			return fmt.Errorf("%s of job %d: %w", it.URL, it.Job, store.ErrNotWaiting)
		}
		return nil
	}
	for i := range c.Visits {
		if err := notWaiting(&c.Visits[i].Item); err != nil {
			return err
		}
	}
	for i := range c.Retries {
		if err := notWaiting(&c.Retries[i].Visit.Item); err != nil {
			return err
		}
	}
	return nil
}

// waiter is a URL that is about to be finished or retried.
type waiter struct {
	visit    *visit.Visit
	host     int64
	id, rank int64
	attempt  int64
}

// waiters finds the rows of URLs that must be waiting, by job. Whether they wait is
// checked when they are removed from the queue.
func (b *batch) waiters(ctx context.Context, visits []*visit.Visit) (map[*jobTables][]waiter, error) {
	byJob := map[*jobTables][]waiter{}
	for _, v := range visits {
		t := b.jobs[v.Item.Job]
		byJob[t] = append(byJob[t], waiter{visit: v, host: b.refs[v.Item.URL.Host()].id})
	}
	for t, list := range byJob {
		urls := make([]weburl.URL, len(list))
		for i := range list {
			urls[i] = list[i].visit.Item.URL
		}
		if err := b.find(ctx, t, urls, func(i int, id, rank int64) { list[i].id, list[i].rank = id, rank }); err != nil {
			return nil, err
		}
		for i := range list {
			if list[i].id == 0 {
				return nil, notWaiting(list[i].visit)
			}
		}
	}
	return byJob, nil
}

func notWaiting(v *visit.Visit) error {
	return fmt.Errorf("%s of job %d: %w", v.Item.URL, v.Item.Job, store.ErrNotWaiting)
}

// visits ends URLs.
func (b *batch) visits(ctx context.Context, visits []visit.Visit) error {
	list := make([]*visit.Visit, len(visits))
	for i := range visits {
		list[i] = &visits[i]
	}
	byJob, err := b.waiters(ctx, list)
	if err != nil {
		return err
	}
	for t, list := range byJob {
		if err := b.endVisits(ctx, t, list); err != nil {
			return err
		}
	}
	return nil
}

func (b *batch) endVisits(ctx context.Context, t *jobTables, list []waiter) error {
	byID := make(map[int64]int, len(list))
	for i := range list {
		byID[list[i].id] = i
		list[i].attempt = -1
	}
	_, err := b.w.bulk(ctx, &t.dequeue, len(list), func(i int, args []driver.NamedValue) {
		args[0].Value, args[1].Value, args[2].Value = list[i].host, list[i].rank, list[i].id
	}, func(row []driver.Value) error {
		list[byID[integer(row[0])]].attempt = integer(row[1])
		return nil
	})
	if err != nil {
		return err
	}
	pages := make(map[weburl.URL]int64, len(list))
	b.pages[t.id] = pages
	texts := make([]string, len(list))
	var buf bytes.Buffer
	for i := range list {
		w := &list[i]
		if w.attempt < 0 {
			return notWaiting(w.visit)
		}
		pages[w.visit.Item.URL] = w.id
		if texts[i], err = b.encode(ctx, w.visit, &buf); err != nil {
			return err
		}
	}
	var skipped []waiter
	_, err = b.w.bulk(ctx, &t.end, len(list), func(i int, args []driver.NamedValue) {
		w := &list[i]
		e := b.endings[store.Ending{Outcome: w.visit.Outcome, Reason: w.visit.Reason}]
		args[0].Value, args[1].Value, args[2].Value, args[3].Value, args[4].Value, args[5].Value = w.id, e, b.at, w.attempt, nil, texts[i]
		if status := w.visit.Answer.Status; status != 0 {
			args[4].Value = int64(status)
		}
		b.count(t.id, e, 1)
		if w.visit.Reason.Provisional() {
			skipped = append(skipped, *w)
		}
	}, nil)
	if err != nil {
		return err
	}
	b.count(t.id, tallyWaiting, -int64(len(list)))
	if err := b.addTexts(ctx, t, list); err != nil {
		return err
	}
	if err := b.addLinks(ctx, t, list); err != nil {
		return err
	}
	_, err = b.w.bulk(ctx, &t.markSkip, len(skipped), func(i int, args []driver.NamedValue) {
		fp := skipped[i].visit.Item.URL.Fingerprint128(b.key)
		args[0].Value, args[1].Value = skipped[i].host, fp[:]
	}, nil)
	return err
}

// retries sets URLs back to waiting after an attempt.
func (b *batch) retries(ctx context.Context, retries []store.Retry) error {
	visits := make([]*visit.Visit, len(retries))
	byVisit := make(map[*visit.Visit]*store.Retry, len(retries))
	for i := range retries {
		visits[i] = &retries[i].Visit
		byVisit[visits[i]] = &retries[i]
	}
	byJob, err := b.waiters(ctx, visits)
	if err != nil {
		return err
	}
	for t, list := range byJob {
		n, err := b.w.bulk(ctx, &t.retry, len(list), func(i int, args []driver.NamedValue) {
			w, r := &list[i], byVisit[list[i].visit]
			args[0].Value, args[1].Value, args[2].Value, args[3].Value, args[4].Value = w.host, w.rank, w.id, int64(r.Attempt), milli(r.NotBefore)
		}, nil)
		if err != nil {
			return err
		}
		if n != int64(len(list)) {
			return fmt.Errorf("%d of %d retries: %w", int64(len(list))-n, len(list), store.ErrNotWaiting)
		}
		if err := b.attempts(ctx, t, list); err != nil {
			return err
		}
	}
	return nil
}

// attempts stores attempts that did not end their URLs.
func (b *batch) attempts(ctx context.Context, t *jobTables, list []waiter) error {
	ids, texts := make([]int64, len(list)), make([]string, len(list))
	var buf bytes.Buffer
	for i := range list {
		var err error
		if texts[i], err = b.encode(ctx, list[i].visit, &buf); err != nil {
			return err
		}
		ids[i] = list[i].id
	}
	return b.addAttempts(ctx, t, ids, texts)
}

// addAttempts stores attempts at URLs, and keeps only the latest of each.
func (b *batch) addAttempts(ctx context.Context, t *jobTables, ids []int64, texts []string) error {
	_, err := b.w.bulk(ctx, &t.addAttempt, len(ids), func(i int, args []driver.NamedValue) {
		args[0].Value, args[1].Value = ids[i], texts[i]
	}, nil)
	if err != nil {
		return err
	}
	_, err = b.w.bulk(ctx, &t.trimAttempts, len(ids), func(i int, args []driver.NamedValue) { args[0].Value = ids[i] }, nil)
	return err
}

// parks ends what waits for jobs on hosts.
func (b *batch) parks(ctx context.Context, parks []store.Park) error {
	for _, p := range parks {
		t, err := b.tables(p.Job)
		if err != nil {
			return err
		}
		host, e := b.refs[p.Host].id, b.endings[store.Ending{Outcome: p.Outcome, Reason: p.Reason}]
		n, err := b.w.exec(ctx, t.parkEnd, host, e, b.at, int64(store.MaxPark))
		if err != nil {
			return err
		}
		if _, err := b.w.exec(ctx, t.parkDequeue, host, int64(store.MaxPark)); err != nil {
			return err
		}
		b.count(p.Job, e, n)
		b.count(p.Job, tallyWaiting, -n)
		errands, err := b.w.exec(ctx, parkErrands, int64(p.Job), host)
		if err != nil {
			return err
		}
		b.count(p.Job, tallyErrands, -errands)
		if n == store.MaxPark {
			var left int64
			if _, err := b.w.one(ctx, t.countQueue, []driver.Value{host}, &left); err != nil {
				return err
			}
			b.receipt.Left += int(left)
		}
	}
	return nil
}

// Statements on what was learned about hosts.
var (
	setHosts = newBulk(`with w (id, politeness, robots, pace_ms, floor_ms, hold_until, last_sent, rest) as (values `, `(?,?,?,?,?,?,?,?)`,
		`) update host set politeness = w.politeness, robots = w.robots, pace_ms = w.pace_ms, floor_ms = w.floor_ms, hold_until = w.hold_until, last_sent = w.last_sent, rest = coalesce(w.rest, host.rest) from w where host.id = w.id`)
	addPaces = newBulk(`insert into pace_change (host, at, from_ms, to_ms, cause) values `, `(?,?,?,?,?)`, ``)
	addTexts = newBulk(`insert into robots (sum, fetched_at, body) values `, `(?,?,?)`, ` on conflict (sum) do nothing`)
)

const trimPaces = `delete from pace_change where host = ?1 and id <= (select id from pace_change where host = ?1 order by id desc limit 1 offset ?2)`

// learn stores what a commit says about hosts.
func (b *batch) learn(ctx context.Context, c *store.Commit) error {
	_, err := b.w.bulk(ctx, &setHosts, len(c.Hosts), func(i int, args []driver.NamedValue) {
		h := &c.Hosts[i]
		args[0].Value, args[1].Value, args[2].Value, args[3].Value = b.refs[h.Host].id, notNil(h.Politeness), notNil(h.Robots), h.Pace.Milliseconds()
		args[4].Value, args[5].Value, args[6].Value, args[7].Value = h.Floor.Milliseconds(), orNull(h.HoldUntil), orNull(h.LastSent), orNull(h.Rest)
	}, nil)
	if err != nil {
		return err
	}
	if err := b.paces(ctx, c.Paces); err != nil {
		return err
	}
	_, err = b.w.bulk(ctx, &addTexts, len(c.Robots), func(i int, args []driver.NamedValue) {
		r := &c.Robots[i]
		args[0].Value, args[1].Value, args[2].Value = r.Sum[:], milli(r.FetchedAt), notNil(r.Body)
	}, nil)
	return err
}

// paces stores pace changes and keeps the latest of each host.
func (b *batch) paces(ctx context.Context, paces []store.PaceChange) error {
	hosts := map[int64]bool{}
	_, err := b.w.bulk(ctx, &addPaces, len(paces), func(i int, args []driver.NamedValue) {
		p := &paces[i]
		host := b.refs[p.Host].id
		hosts[host] = true
		args[0].Value, args[1].Value, args[2].Value, args[3].Value, args[4].Value = host, milli(p.At), p.From.Milliseconds(), p.To.Milliseconds(), p.Cause
	}, nil)
	if err != nil {
		return err
	}
	for host := range hosts {
		if _, err := b.w.exec(ctx, trimPaces, host, int64(store.MaxPaceChanges)); err != nil {
			return err
		}
	}
	return nil
}

// notNil stores no bytes as an empty blob: null would mean that nothing was ever stored.
func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
