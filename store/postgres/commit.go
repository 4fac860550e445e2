package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"headway/job"
	"headway/store"
	"headway/store/internal/record"
	"headway/visit"
)

// errRepeated ends a transaction whose commit was applied before.
var errRepeated = errors.New("the commit was applied before")

// Commit implements [store.URLs].
//
// It takes two round trips. The first sends everything that may reject the commit and most
// of what it writes; all of it is rolled back if a fence has changed. The second sends the
// rest and commits.
func (s *Store) Commit(ctx context.Context, c store.Commit) (store.Receipt, error) {
	if err := c.Check(); err != nil {
		return store.Receipt{}, err
	}
	if err := c.CheckLeases(s.key); err != nil {
		return store.Receipt{}, err
	}
	receipt, err := s.commit(ctx, &c)
	if errors.Is(err, errRepeated) {
		return store.Receipt{Repeated: true}, nil
	}
	if err != nil {
		return store.Receipt{}, fmt.Errorf("commit %d of worker %d: %w", c.Number, c.Worker, err)
	}
	return receipt, nil
}

func (s *Store) commit(ctx context.Context, c *store.Commit) (store.Receipt, error) {
	n := needsOf(c)
	if err := s.resolve(ctx, n); err != nil {
		return store.Receipt{}, err
	}
	enc := encoder{facts: map[factID]string{}}
	encoded, err := enc.all(c)
	if err != nil {
		return store.Receipt{}, err
	}
	if err := s.ensureSideTables(ctx, n, c.Visits, encoded.texts, texts); err != nil {
		return store.Receipt{}, s.gone(ctx, n, err)
	}
	if err := s.ensureSideTables(ctx, n, c.Visits, encoded.links, links); err != nil {
		return store.Receipt{}, s.gone(ctx, n, err)
	}
	var b *batch
	err = s.changeOn(ctx, s.acquireForCommit, func(ctx context.Context, x *change) error {
		x.begin(c)
		b = newBatch(x, c.At, c.Worker, n)
		maps.Copy(b.learned, enc.facts)
		for _, l := range c.Leases {
			b.owned[l.Slot] = true
		}
		return b.commit(ctx, c, encoded)
	})
	if err != nil {
		return store.Receipt{}, s.gone(ctx, n, err)
	}
	b.committed(ctx)
	return b.receipt, nil
}

// needsOf lists the jobs and hosts of a commit.
func needsOf(c *store.Commit) *needs {
	n := &needs{jobs: map[job.ID]bool{}, hosts: c.HostNames()}
	for _, id := range c.RequiredJobs() {
		n.jobs[id] = true
	}
	for i := range c.Visits {
		n.jobs[c.Visits[i].Item.Job] = true
	}
	for i := range c.Retries {
		n.jobs[c.Retries[i].Visit.Item.Job] = true
	}
	for i := range c.Ran {
		n.jobs[c.Ran[i].Job] = true
	}
	return n
}

// encodedVisits are the encoded visits and retries of a commit, and the texts and links of the
// visited pages.
type encodedVisits struct {
	visits, retries []string
	texts, links    [][]byte
}

func (e *encoder) all(c *store.Commit) (encodedVisits, error) {
	t := encodedVisits{make([]string, len(c.Visits)), make([]string, len(c.Retries)), make([][]byte, len(c.Visits)), make([][]byte, len(c.Visits))}
	for i := range c.Visits {
		text, err := e.encode(&c.Visits[i])
		if err != nil {
			return t, err
		}
		t.visits[i], t.texts[i], t.links[i] = text, record.Texts(c.Visits[i].Page.Content), record.Links(&c.Visits[i])
	}
	for i := range c.Retries {
		text, err := e.encode(&c.Retries[i].Visit)
		if err != nil {
			return t, err
		}
		t.retries[i] = text
	}
	return t, nil
}

// begin queues the checks of the right to commit. The row of the worker's progress is
// updated first: it is gone if the worker was declared dead, and otherwise locked until the
// end of this transaction. The fences are read after that.
func (c *change) begin(x *store.Commit) {
	var number int64
	moved := false
	c.queue("update progress set commits = $2 where worker = $1 and commits < $2", x.Worker, x.Number).Exec(func(tag pgconn.CommandTag) error {
		moved = tag.RowsAffected() == 1
		return nil
	})
	c.queue("select commits from progress where worker = $1", x.Worker).QueryRow(func(row pgx.Row) error {
		switch err := row.Scan(&number); {
		case noRows(err):
			return store.ErrFenced
		case err != nil:
			return err
		case !moved:
			return errRepeated
		default:
			return nil
		}
	})
	ids, fences := leaseColumns(x.Leases)
	c.queue(`select 1 from unnest($2::smallint[], $3::bigint[]) as l (id, fence) join slot s on s.id = l.id where s.fence = l.fence and s.owner = $1`, x.Worker, ids, fences).
		Exec(affected(len(x.Leases), func(got int64) error {
			return fmt.Errorf("%d of %d leases: %w", int64(len(x.Leases))-got, len(x.Leases), store.ErrFenced)
		}))
}

// commit writes all parts of a commit.
func (b *batch) commit(ctx context.Context, c *store.Commit, encoded encodedVisits) error {
	b.hostTime = c.HostTime
	spent, had := b.queueTokens(c)
	requests, fewer := b.queueRequests(c)
	b.queueVisits(c.Visits, encoded.visits)
	b.queueTexts(c.Visits, encoded.texts)
	b.queueSegments(c.Segments)
	linked := b.queueLinks(c.Visits, encoded.links)
	tried := b.queueRetries(c.Retries, encoded.retries)
	groups, err := b.queueFound(c.Found)
	if err != nil {
		return err
	}
	b.queueErrands(c.Errands)
	b.queueRan(c.Ran)
	if err := b.send(ctx); err != nil {
		return err
	}
	if err := b.checkJobs(c); err != nil {
		return err
	}
	for id := range spent {
		if b.limited[id] && !had[id] {
			return fmt.Errorf("job %d: %d tokens: %w", id, spent[id], store.ErrTokens)
		}
	}
	for id := range requests {
		if !fewer[id] {
			return fmt.Errorf("job %d: %d requests returned: %w", id, requests[id], store.ErrTokens)
		}
	}
	if err := b.settleFound(ctx, c.Found, groups); err != nil {
		return err
	}
	slices.Sort(b.receipt.Errands)
	for jt, urls := range tried {
		b.exec(jt.trimAttempts, *urls)
	}
	b.queueInlinks(c.Visits, linked)
	if err := b.parks(ctx, c.Parks); err != nil {
		return err
	}
	b.learn(c)
	b.meter(c)
	b.finish()
	return nil
}

// checkJobs reports a job that does not exist. A visit of a missing job is a URL that does
// not wait, which is noticed elsewhere.
func (b *batch) checkJobs(c *store.Commit) error {
	for _, id := range c.RequiredJobs() {
		if err := b.must(id); err != nil {
			return err
		}
	}
	return nil
}

// queueTokens takes what a commit uses and returns from its worker's tokens. Jobs without a
// limit have no account, so nothing is changed for them. It returns how many tokens each job
// needs and, once sent, which jobs had them.
func (b *batch) queueTokens(c *store.Commit) (spent map[job.ID]int64, had map[job.ID]bool) {
	spent, had = map[job.ID]int64{}, map[job.ID]bool{}
	back := map[job.ID]int64{}
	for i := range c.Visits {
		if v := &c.Visits[i]; v.Outcome.Page() {
			spent[v.Item.Job]++
		}
	}
	for _, r := range c.Returns {
		if r.Tokens > 0 {
			spent[r.Job] += int64(r.Tokens)
			back[r.Job] += int64(r.Tokens)
		}
	}
	if len(back) > 0 {
		jobs, numbers := jobColumns(back)
		b.exec("update account set free = free + w.n from unnest($1::int[], $2::bigint[]) as w (job, n) where account.job = w.job", jobs, numbers)
	}
	if len(spent) > 0 {
		jobs, numbers := jobColumns(spent)
		var id job.ID
		b.queue("update token set n = token.n - w.n from unnest($2::int[], $3::bigint[]) as w (job, n) where token.worker = $1 and token.job = w.job and token.n >= w.n returning token.job",
			b.worker, jobs, numbers).Query(rows([]any{&id}, func() error {
			had[id] = true
			return nil
		}))
	}
	return spent, had
}

// queueRequests returns requests that were reserved and not sent. It returns how many of each
// job and, once sent, which jobs had reserved as many.
func (b *batch) queueRequests(c *store.Commit) (back map[job.ID]int64, had map[job.ID]bool) {
	back, had = map[job.ID]int64{}, map[job.ID]bool{}
	for _, r := range c.Returns {
		if r.Requests > 0 {
			back[r.Job] += int64(r.Requests)
		}
	}
	if len(back) > 0 {
		jobs, numbers := jobColumns(back)
		var id job.ID
		b.queue("update request_use set used = used - w.n from unnest($1::int[], $2::bigint[]) as w (job, n) where request_use.job = w.job and used >= w.n returning request_use.job",
			jobs, numbers).Query(rows([]any{&id}, func() error {
			had[id] = true
			return nil
		}))
	}
	return back, had
}

// jobColumns returns numbers by job as columns, in the order of jobs.
func jobColumns(m map[job.ID]int64) (jobs []int32, numbers []int64) {
	for _, id := range slices.Sorted(maps.Keys(m)) {
		jobs, numbers = append(jobs, int32(id)), append(numbers, m[id])
	}
	return jobs, numbers
}

// queueVisits ends URLs, which must be waiting.
func (b *batch) queueVisits(visits []visit.Visit, texts []string) {
	groups := b.byTables(len(visits), func(i int) job.ID { return visits[i].Item.Job })
	n := 0
	for jt, places := range groups {
		n += len(places)
		keys := make(map[int]urlKey, len(places))
		for _, i := range places {
			keys[i] = b.keyOf(&visits[i].Item)
		}
		slices.SortFunc(places, func(x, y int) int {
			kx, ky := keys[x], keys[y]
			return compareKeys(&kx, &ky)
		})
		hosts, fps, jobs := make([]int64, len(places)), make([][16]byte, len(places)), make([]int32, len(places))
		slots, endings, status, records := make([]int16, len(places)), make([]int16, len(places)), make([]int16, len(places)), make([]string, len(places))
		for at, i := range places {
			v, k := &visits[i], keys[i]
			hosts[at], fps[at], jobs[at], slots[at] = k.host, k.fp, k.job, k.slot
			endings[at], status[at], records[at] = b.s.endings[store.Ending{Outcome: v.Outcome, Reason: v.Reason}], int16(v.Answer.Status), texts[i]
			b.count(v.Item.Job, endings[at], 1)
			b.count(v.Item.Job, tallyWaiting, -1)
		}
		b.queue(jt.end, b.at, hosts, fps, jobs, slots, endings, status, records).Exec(affected(len(places), func(got int64) error {
			return fmt.Errorf("%d of %d visits: %w", int64(len(places))-got, len(places), store.ErrNotWaiting)
		}))
	}
	if n < len(visits) {
		// The job of one does not exist. The right to commit is checked first, though.
		b.queue("select 1").Exec(func(pgconn.CommandTag) error {
			return fmt.Errorf("%d of %d visits are of no job: %w", len(visits)-n, len(visits), store.ErrNotWaiting)
		})
	}
}

// queueRetries sets URLs back to waiting after an attempt. It returns where the row ids of
// those URLs will be, by tables.
func (b *batch) queueRetries(retries []store.Retry, texts []string) map[*jobTables]*[]int64 {
	tried := map[*jobTables]*[]int64{}
	n := 0
	for jt, places := range b.byTables(len(retries), func(i int) job.ID { return retries[i].Visit.Item.Job }) {
		n += len(places)
		var hosts, notBefore []int64
		var fps [][16]byte
		var jobs, attempts []int32
		var slots []int16
		var records []string
		for _, i := range places {
			r := &retries[i]
			k := b.keyOf(&r.Visit.Item)
			hosts, fps, jobs, slots = append(hosts, k.host), append(fps, k.fp), append(jobs, k.job), append(slots, k.slot)
			attempts, notBefore, records = append(attempts, fits(r.Attempt)), append(notBefore, milli(r.NotBefore)), append(records, texts[i])
		}
		urls := new([]int64)
		tried[jt] = urls
		var id int64
		b.queue(jt.retry, hosts, fps, jobs, slots, attempts, notBefore, records).Query(func(r pgx.Rows) error {
			if _, err := pgx.ForEachRow(r, []any{&id}, func() error {
				*urls = append(*urls, id)
				return nil
			}); err != nil {
				return err
			}
			if len(*urls) != len(places) {
				return fmt.Errorf("%d of %d retries: %w", len(places)-len(*urls), len(places), store.ErrNotWaiting)
			}
			return nil
		})
	}
	if n < len(retries) {
		b.queue("select 1").Exec(func(pgconn.CommandTag) error {
			return fmt.Errorf("%d of %d retries are of no job: %w", len(retries)-n, len(retries), store.ErrNotWaiting)
		})
	}
	return tried
}

// parks ends what waits for jobs on hosts.
func (b *batch) parks(ctx context.Context, parks []store.Park) error {
	if len(parks) == 0 {
		return nil
	}
	var full []int
	for jt, places := range b.byTables(len(parks), func(i int) job.ID { return parks[i].Job }) {
		var ords, jobs []int32
		var hosts []int64
		var slots, endings []int16
		for _, i := range places {
			p := &parks[i]
			ref := b.refs[p.Host]
			ords, jobs, hosts = append(ords, int32(i)), append(jobs, int32(p.Job)), append(hosts, ref.id)
			slots, endings = append(slots, int16(ref.slot)), append(endings, b.s.endings[store.Ending{Outcome: p.Outcome, Reason: p.Reason}])
		}
		b.queue(jt.parkErrands, hosts, jobs).Query(b.endErrands())
		var at, n int64
		b.queue(jt.park, b.at, store.MaxPark, ords, hosts, jobs, slots, endings).Query(rows([]any{&at, &n}, func() error {
			p := &parks[at]
			b.count(p.Job, b.s.endings[store.Ending{Outcome: p.Outcome, Reason: p.Reason}], n)
			b.count(p.Job, tallyWaiting, -n)
			if n == store.MaxPark {
				full = append(full, int(at))
			}
			return nil
		}))
	}
	if err := b.send(ctx); err != nil {
		return err
	}
	for _, i := range full {
		p := &parks[i]
		ref := b.refs[p.Host]
		b.queue(b.tables[p.Job].parkLeft, ref.id, p.Job, int16(ref.slot)).QueryRow(func(row pgx.Row) error {
			var left int
			err := row.Scan(&left)
			b.receipt.Left += left
			return err
		})
	}
	return b.send(ctx)
}

// learn stores what a commit says about hosts.
func (b *batch) learn(c *store.Commit) {
	b.learnHosts(c.Hosts)
	b.learnPaces(c.Paces)
	b.learnRobots(c.Robots)
}

func (b *batch) learnHosts(hosts []store.Host) {
	if len(hosts) == 0 {
		return
	}
	n := len(hosts)
	ids, pace, floor := make([]int64, n), make([]int64, n), make([]int64, n)
	hold, sent, rest := make([]*int64, n), make([]*int64, n), make([]*int64, n)
	politeness, robots := make([][]byte, n), make([][]byte, n)
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(x, y int) int { return cmp.Compare(b.refs[hosts[x].Host].id, b.refs[hosts[y].Host].id) })
	for at, i := range order {
		h := &hosts[i]
		ids[at], pace[at], floor[at] = b.refs[h.Host].id, h.Pace.Milliseconds(), h.Floor.Milliseconds()
		hold[at], sent[at], rest[at] = orNull(h.HoldUntil), orNull(h.LastSent), orNull(h.Rest)
		politeness[at], robots[at] = notNil(h.Politeness), notNil(h.Robots)
	}
	b.exec(`update host h set politeness = w.politeness, robots = w.robots, pace_ms = w.pace, floor_ms = w.floor, hold_until = w.hold, last_sent = w.sent, rest = coalesce(w.rest, h.rest)
		from unnest($1::bigint[], $2::bytea[], $3::bytea[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[]) as w (id, politeness, robots, pace, floor, hold, sent, rest)
		where h.id = w.id`, ids, politeness, robots, pace, floor, hold, sent, rest)
}

// learnPaces stores pace changes and keeps the latest of each host.
func (b *batch) learnPaces(paces []store.PaceChange) {
	if len(paces) == 0 {
		return
	}
	var hosts, at, from, to []int64
	var causes []string
	which := map[int64]bool{}
	for i := range paces {
		p := &paces[i]
		host := b.refs[p.Host].id
		which[host] = true
		hosts, at, from, to = append(hosts, host), append(at, milli(p.At)), append(from, p.From.Milliseconds()), append(to, p.To.Milliseconds())
		causes = append(causes, clean(p.Cause))
	}
	b.exec("insert into pace_change (host, at, from_ms, to_ms, cause) select * from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[])", hosts, at, from, to, causes)
	b.exec(`with last as materialized (select w.host, x.id from unnest($1::bigint[]) as w (host) cross join lateral (select x.id from pace_change x where x.host = w.host order by x.id desc offset $2 limit 1) as x)
		delete from pace_change p using last where p.host = last.host and p.id <= last.id`, slices.Sorted(maps.Keys(which)), store.MaxPaceChanges)
}

func (b *batch) learnRobots(versions []store.RobotsVersion) {
	if len(versions) == 0 {
		return
	}
	list := slices.Clone(versions)
	slices.SortStableFunc(list, func(x, y store.RobotsVersion) int { return slices.Compare(x.Sum[:], y.Sum[:]) })
	var sums, bodies [][]byte
	var at []int64
	for i := range list {
		sums, at, bodies = append(sums, list[i].Sum[:]), append(at, milli(list[i].FetchedAt)), append(bodies, notNil(list[i].Body))
	}
	b.exec("insert into robots (sum, fetched_at, body) select * from unnest($1::bytea[], $2::bigint[], $3::bytea[]) on conflict do nothing", sums, at, bodies)
}

// notNil stores no bytes as an empty value: null would mean that nothing was ever stored.
func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
