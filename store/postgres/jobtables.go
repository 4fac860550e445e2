package postgres

import (
	"cmp"
	"context"
	_ "embed"
	"math"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"headway/job"
	"headway/store"
)

//go:embed shelf.sql
var tablesSchema string

//go:embed shelf_part.sql
var tablesPart string

// jobTables are the statements on one set of tables (a "shelf" in the schema). The shared
// set has number 0, the others that of their job.
type jobTables struct {
	id int32

	// Found URLs.
	addWaiting, addOther, enqueue, addEnded, setAside string
	readmit, readmitURL, extend, reopen, keepEnded    string

	// Visits.
	end, retry, trimAttempts, park, parkLeft string
	addTexts, addLinks, addInlinks           string

	// Errands.
	addErrands, endErrands, parkErrands, errands, auditErrands string

	// Queries.
	head, headLater, lookup, attempts, texts                              string
	links, linksOf, inlinks, hasLinks                                     string
	listKeys, listHost, listHostQueue, listQueue, listEnding, listFetched string
	auditWaiting, auditEnded, auditAside, auditSeen, hostWork             string
}

// forTables inserts the number of a set of tables.
func forTables(text string, id int32) string {
	return strings.ReplaceAll(text, "{s}", strconv.FormatInt(int64(id), 10))
}

// A URL's number has this much room for its index in the list.
const _ = uint(1<<17 - store.MaxFound)

// provisional are the endings that a later link may take back; a test compares
// them with visit.Reason.Provisional.
const provisional = "26, 30"

// deferred is the ending that an extension takes back.
const deferred = 8

// The columns of a found URL, as parallel arrays.
const foundColumns = `unnest($2::int[], $3::bigint[], $4::uuid[], $5::int[], $6::int[], $7::int[], $8::int[], $9::smallint[], $10::smallint[], $11::smallint[], $12::text[], $13::text[], $14::text[])
	as w (ord, host, fp, job, rank, depth, priority, slot, hops, found, path, via, extra)`

// insertURL stores those URLs of foundColumns that the run has not seen.
const insertURL = `insert into url_{s} (id, host, seen_at, fp, job, rank, depth, priority, slot, hops, found, path, via, extra)
	select (select currval('batch') << 17) + w.ord, w.host, $1, w.fp, w.job, w.rank, w.depth, w.priority, w.slot, w.hops, w.found, w.path, w.via, nullif(w.extra, '') from ` + foundColumns + `
	on conflict (job, slot, host, fp) do nothing`

// itemColumns are read by scanItem, entryColumns by scanEntry.
const (
	itemColumns  = `h.name, u.path, u.via, u.found, u.depth, u.hops, u.priority, coalesce(u.extra, '')`
	entryColumns = itemColumns + `, coalesce(q.attempt, o.attempt, 0), coalesce(q.not_before, 0), u.seen_at, coalesce(o.ending, 0), coalesce(o.ended_at, 0), o.visit, u.id, u.slot, u.host, u.fp, u.rank`

	// The parts of an entry are looked up one by one (offset 0): for new tables without
	// statistics the planner would read all URLs of a host for each of them.
	lookUp      = ` cross join lateral (select u.* from url_{s} u where u.job = {a}.job and u.slot = {a}.slot and u.host = {a}.host and u.fp = {a}.fp offset 0) u`
	joinHost    = ` join host h on h.id = u.host`
	joinQueue   = ` left join lateral (select q.* from queue_{s} q where q.host = u.host and q.job = u.job and q.rank = u.rank and q.id = u.id and q.slot = u.slot offset 0) q on true`
	joinOutcome = ` left join lateral (select o.* from outcome_{s} o where o.id = u.id and o.slot = u.slot offset 0) o on true`

	// What a change deletes or updates it names by its place in the table. A plan may have been
	// made when the table was known to be empty, as after the vacuum that follows the end of
	// the only job: any other join could then read all of it each time.
	findQueue   = ` cross join lateral (select q.ctid, q.tableoid from queue_{s} q where q.host = w.host and q.job = w.job and q.rank = u.rank and q.id = u.id and q.slot = w.slot offset 0) q`
	findOutcome = ` cross join lateral (select o.ctid, o.tableoid, o.ending from outcome_{s} o where o.id = u.id and o.slot = u.slot offset 0) o`

	fromURL = ` from url_{s} u` + joinHost + joinQueue + joinOutcome
)

// findURL looks up the URLs of the rows w, fromQueue and fromOutcome are entries that begin
// with another table.
var (
	findURL     = urlOf("w")
	fromQueue   = ` from queue_{s} q` + urlOf("q") + joinHost + joinOutcome
	fromOutcome = ` from outcome_{s} o` + urlOf("o") + joinHost + joinQueue
)

// urlOf looks up the URL of each row of a.
func urlOf(a string) string { return strings.ReplaceAll(lookUp, "{a}", a) }

// newJobTables returns the statements for a set of tables.
func newJobTables(id int32) *jobTables {
	f := func(text string) string { return forTables(text, id) }
	// Reads the heads of queues: which of their URLs, and in which order.
	head := func(which, order string) string {
		return f(`select w.ord, q.rank, q.id, q.attempt, q.not_before, ` + strings.TrimPrefix(itemColumns, "h.name, ") + `
			from unnest($2::int[], $3::bigint[], $4::int[], $5::smallint[], $6::int[]) as w (ord, host, job, slot, most)
			cross join lateral (select q.* from queue_{s} q where q.host = w.host and q.job = w.job and q.slot = w.slot and q.not_before ` + which + ` $1 order by ` + order + ` limit w.most) q
			` + urlOf("q"))
	}
	return &jobTables{
		id: id,

		// Most found URLs wait and were never tried: they are queued at once. New ones are
		// returned.
		addWaiting: f(`with new as (` + insertURL + ` returning id, host, fp, job, rank, slot),
			q as (insert into queue_{s} (id, host, not_before, fp, job, rank, attempt, slot) select id, host, 0, fp, job, rank, 0, slot from new)
			select (id & 131071)::int from new`),
		addOther: f(insertURL + ` returning (id & 131071)::int, id`),
		enqueue: f(`insert into queue_{s} (id, host, not_before, fp, job, rank, attempt, slot)
			select * from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::uuid[], $5::int[], $6::int[], $7::int[], $8::smallint[])`),
		addEnded: f(`insert into outcome_{s} (id, host, ended_at, fp, job, attempt, slot, ending)
			select w.id, w.host, $1, w.fp, w.job, w.attempt, w.slot, w.ending from unnest($2::bigint[], $3::bigint[], $4::uuid[], $5::int[], $6::int[], $7::smallint[], $8::smallint[]) as w (id, host, fp, job, attempt, slot, ending)`),
		setAside: f(`with kept as materialized (select j as job, (select coalesce(sum(t.n), 0) from tally t where t.job = j and t.ending = $7) as n from unnest($6::int[]) as j)
			, w as materialized (select * from unnest($1::uuid[], $2::int[], $3::smallint[], $4::text[], $5::text[], $9::text[]) as w (fp, job, slot, url, host, item))
			, new as (insert into aside_{s} (fp, job, slot, url) select w.fp, w.job, w.slot, case when kept.n < $8 then w.url else w.host end from w join kept on kept.job = w.job
				on conflict do nothing returning fp, job, slot)
			, items as (insert into aside_item (fp, job, slot, item) select distinct on (w.job, w.slot, w.fp) w.fp, w.job, w.slot, w.item
				from new join w on w.job = new.job and w.slot = new.slot and w.fp = new.fp join kept on kept.job = w.job where kept.n < $8 on conflict do nothing)
			select job from new`),
		readmit: f(`with w as materialized (select w.ord, o.ctid as at, o.tableoid as part
				from unnest($1::int[], $2::bigint[], $3::uuid[], $4::int[], $5::smallint[]) as w (ord, host, fp, job, slot)` + findURL + findOutcome + `
				where o.ending in (` + provisional + `))
			delete from outcome_{s} o using w where o.ctid = w.at and o.tableoid = w.part returning w.ord, o.id, o.ending`),
		readmitURL: f(`update url_{s} u set rank = w.rank, depth = w.depth, priority = w.priority, hops = w.hops, found = w.found, via = w.via, extra = nullif(w.extra, '') from ` + strings.ReplaceAll(foundColumns, "$14", "$1") + `
			where u.job = w.job and u.slot = w.slot and u.host = w.host and u.fp = w.fp`),
		extend: f(`with o as (delete from outcome_{s} o using (select id, slot from outcome_{s} where job = $1 and ending = ` + strconv.Itoa(deferred) + ` and ending > 1 order by id limit $2) d
				where o.id = d.id and o.slot = d.slot returning o.id, o.host, o.fp, o.attempt, o.slot)
			insert into queue_{s} (id, host, not_before, fp, job, rank, attempt, slot) select o.id, o.host, 0, o.fp, $1, u.rank, o.attempt, o.slot
			from o join url_{s} u on u.job = $1 and u.slot = o.slot and u.host = o.host and u.fp = o.fp returning host, slot`),
		reopen: f(`with w as materialized (select o.ctid as at, o.tableoid as part, u.rank
				from (select w.host, w.fp, $1::int as job, w.slot from unnest($2::bigint[], $3::uuid[], $4::smallint[]) as w (host, fp, slot)) as w` + findURL + findOutcome + `),
			o as (delete from outcome_{s} o using w where o.ctid = w.at and o.tableoid = w.part returning o.id, o.host, o.fp, o.slot, o.ending, o.visit, w.rank),
			q as (insert into queue_{s} (id, host, not_before, fp, job, rank, attempt, slot) select id, host, 0, fp, $1, rank, 0, slot from o)
			select id, host, slot, ending, coalesce(visit, '') from o`),
		keepEnded: f(`insert into attempt_{s} (url, n, job, visit) select w.url, coalesce((select max(a.n) from attempt_{s} a where a.url = w.url), 0) + 1, $1, w.visit from unnest($2::bigint[], $3::text[]) as w (url, visit)`),

		// A URL that does not wait is not in the queue, so fewer rows come out than went in.
		end: f(`with known as materialized (select u.id, w.host, w.fp, w.job, w.slot, w.ending, w.status, w.visit, q.ctid as at, q.tableoid as part
				from unnest($2::bigint[], $3::uuid[], $4::int[], $5::smallint[], $6::smallint[], $7::smallint[], $8::text[]) as w (host, fp, job, slot, ending, status, visit)` + findURL + findQueue + `),
			gone as (delete from queue_{s} q using known w where q.ctid = w.at and q.tableoid = w.part
				returning w.id, w.host, w.fp, w.job, q.attempt, w.slot, w.ending, w.status, w.visit)
			insert into outcome_{s} (id, host, ended_at, fp, job, attempt, slot, ending, status, visit) select id, host, $1, fp, job, attempt, slot, ending, nullif(status, 0), visit from gone`),
		addTexts: f(`insert into content_{s} (url, texts) select u.id, w.texts from unnest($1::bigint[], $2::uuid[], $3::int[], $4::smallint[], $5::bytea[]) as w (host, fp, job, slot, texts)` + findURL + ` on conflict (url) do update set texts = excluded.texts`),
		addLinks: f(`with w as materialized (select w.ord, u.id, w.page, w.links from unnest($1::int[], $2::bigint[], $3::uuid[], $4::int[], $5::smallint[], $6::text[], $7::bytea[]) as w (ord, host, fp, job, slot, page, links)` + findURL + `),
			added as (insert into link_{s} (url, page, links) select id, page, links from w on conflict (url) do update set links = excluded.links)
			select ord, id from w`),
		addInlinks: f(`insert into inlink_{s} (job, bucket, pages) select $1, w.bucket, w.pages from unnest($2::smallint[], $3::bytea[]) as w (bucket, pages)`),
		retry: f(`with known as materialized (select u.id, w.job, w.attempt, w.not_before, w.visit, q.ctid as at, q.tableoid as part
				from unnest($1::bigint[], $2::uuid[], $3::int[], $4::smallint[], $5::int[], $6::bigint[], $7::text[]) as w (host, fp, job, slot, attempt, not_before, visit)` + findURL + findQueue + `),
			tried as (update queue_{s} q set attempt = w.attempt, not_before = w.not_before from known w
				where q.ctid = w.at and q.tableoid = w.part returning w.id, w.job, w.visit)
			insert into attempt_{s} (url, n, job, visit) select t.id, coalesce((select max(a.n) from attempt_{s} a where a.url = t.id), 0) + 1, t.job, t.visit from tried t returning url`),
		trimAttempts: f(`delete from attempt_{s} a using unnest($1::bigint[]) as w (url) where a.url = w.url and a.n <= (select max(b.n) from attempt_{s} b where b.url = w.url) - ` + strconv.Itoa(store.MaxAttempts)),
		// The last of the ended URLs marks where to stop.
		park: f(`with w as materialized (select w.ord, w.host, w.job, w.slot, w.ending, coalesce(last.rank, 2147483647) as rank, coalesce(last.id, 9223372036854775807) as id
				from unnest($3::int[], $4::bigint[], $5::int[], $6::smallint[], $7::smallint[]) as w (ord, host, job, slot, ending)
				left join lateral (select p.rank, p.id from queue_{s} p where p.host = w.host and p.job = w.job and p.slot = w.slot order by p.rank, p.id offset $2 - 1 limit 1) last on true),
			gone as (delete from queue_{s} q using w where q.host = w.host and q.job = w.job and q.slot = w.slot and (q.rank, q.id) <= (w.rank, w.id)
				returning w.ord, q.id, q.host, q.fp, q.job, q.attempt, q.slot, w.ending),
			ended as (insert into outcome_{s} (id, host, ended_at, fp, job, attempt, slot, ending) select id, host, $1, fp, job, attempt, slot, ending from gone)
			select ord, count(*) from gone group by ord`),
		parkLeft: f(`select count(*) from queue_{s} where host = $1 and job = $2 and slot = $3`),

		// A host gets as many errands of a job as the limit allows.
		addErrands: f(`with w as materialized (select w.* from unnest($1::int[], $2::bigint[], $3::int[], $4::uuid[], $5::smallint[], $6::text[]) as w (ord, host, job, fp, nested, path)
				where not exists (select from errand_{s} e where e.job = w.job and e.host = w.host and e.fp = w.fp)),
			has as materialized (select p.job, p.host, (select count(*) from errand_{s} e where e.job = p.job and e.host = p.host) as n from (select distinct job, host from w) as p),
			placed as (select w.*, has.n + row_number() over (partition by w.job, w.host order by w.ord) as place from w join has on has.job = w.job and has.host = w.host)
			insert into errand_{s} (id, host, fp, job, nested, path) select (select currval('batch') << 17) + ord, host, fp, job, nested, path from placed where place <= ` + strconv.Itoa(store.MaxErrands) + ` order by job, host, fp
			on conflict (job, host, fp) do nothing returning (id & 131071)::int`),
		endErrands: f(`with w as materialized (select e.ctid as at from unnest($1::bigint[], $2::int[], $3::uuid[]) as w (host, job, fp)
				cross join lateral (select e.ctid from errand_{s} e where e.job = w.job and e.host = w.host and e.fp = w.fp and not e.ended offset 0) e)
			update errand_{s} e set ended = true from w where e.ctid = w.at returning e.job`),
		parkErrands: f(`with w as materialized (select e.ctid as at from unnest($1::bigint[], $2::int[]) as w (host, job)
				cross join lateral (select e.ctid from errand_{s} e where e.host = w.host and e.job = w.job and not e.ended offset 0) e)
			update errand_{s} e set ended = true from w where e.ctid = w.at returning e.job`),
		errands: f(`select w.ord, e.path, e.nested from unnest($1::int[], $2::bigint[], $3::int[], $4::int[]) as w (ord, host, job, most)
			cross join lateral (select e.id, e.path, e.nested from errand_{s} e where e.host = w.host and e.job = w.job and not e.ended order by e.id limit w.most) as e order by w.ord, e.id`),
		auditErrands: f(`select count(*) from errand_{s} where job = $1 and not ended`),

		head:      head("<=", "q.rank, q.id"),
		headLater: head(">", "q.not_before, q.rank, q.id"),
		lookup:    f(`select ` + entryColumns + fromURL + ` where u.job = $1 and u.slot = $2 and u.host = $3 and u.fp = $4`),
		texts:     f(`select url, texts from content_{s} where url = any($1::bigint[])`),
		links:     f(`select url, links from link_{s} where url = any($1::bigint[])`),
		linksOf:   f(`select url, page, links from link_{s} where url = any($1::bigint[]) order by url`),
		hasLinks:  f(`select exists (select from inlink_{s} where job = $1)`),
		inlinks:   f(`select pages from inlink_{s} where job = $1 and bucket = $2`),
		attempts:  f(`select visit from attempt_{s} where url = $1 order by n`),

		listKeys:      f(`select ` + entryColumns + fromURL + ` where u.job = $1 and (u.host, u.fp) > ($2, $3::uuid) and coalesce(o.ending, 0) = any($4::smallint[]) order by u.host, u.fp limit $5`),
		listHost:      f(`select ` + entryColumns + fromURL + ` where u.job = $1 and u.slot = $2 and u.host = $3 and u.fp > $4::uuid and coalesce(o.ending, 0) = any($5::smallint[]) order by u.fp limit $6`),
		listHostQueue: f(`select ` + entryColumns + fromQueue + ` where q.job = $1 and q.slot = $2 and q.host = $3 and (q.rank, q.id) > ($4, $5) order by q.rank, q.id limit $6`),
		listQueue:     f(`select ` + entryColumns + fromQueue + ` where (q.host, q.job, q.rank, q.id) > ($2, $1, $3, $4) order by q.host, q.job, q.rank, q.id limit $5`),
		listEnding:    f(`select ` + entryColumns + fromOutcome + ` where o.job = $1 and o.ending = $2 and o.ending > 1 and o.id > $3 order by o.id limit $4`),
		listFetched:   f(`select ` + entryColumns + fromOutcome + ` where o.job = $1 and o.ending = $2 and o.id > $3 order by o.id limit $4`),

		auditWaiting: f(`select count(*) from queue_{s} where job = $1`),
		auditEnded:   f(`select ending, count(*) from outcome_{s} where job = $1 group by ending`),
		auditAside:   f(`select count(*) from aside_{s} where job = $1`),
		// Every seen URL has exactly one row, and waits or has ended, not both.
		auditSeen: f(`select count(*), count(*) filter (where q.id is not null and o.id is not null), count(*) filter (where q.id is null and o.id is null)
			from url_{s} u left join queue_{s} q on q.id = u.id and q.slot = u.slot and q.host = u.host and q.job = u.job and q.rank = u.rank and q.fp = u.fp
			left join outcome_{s} o on o.id = u.id and o.slot = u.slot and o.host = u.host and o.job = u.job and o.fp = u.fp where u.job = $1`),
		hostWork: f(hostWork(id)),
	}
}

// hostWork selects the jobs that have waiting URLs or errands on host h. In the shared
// tables it steps from job to job, whatever the length of their queues.
func hostWork(id int32) string {
	if id != 0 {
		return `select {s} as job where exists (select from queue_{s} q where q.slot = h.slot and q.host = h.id) or exists (select from errand_{s} e where e.host = h.id and not e.ended)`
	}
	return `select job from (with recursive step as ((select q.job from queue_{s} q where q.slot = h.slot and q.host = h.id order by q.job limit 1)
		union all select (select q.job from queue_{s} q where q.slot = h.slot and q.host = h.id and q.job > step.job order by q.job limit 1) from step where step.job is not null)
		select job from step where job is not null union select e.job from errand_{s} e where e.host = h.id and not e.ended) as j`
}

// createTables creates a set of tables.
func (c *change) createTables(ctx context.Context, id int32) error {
	if err := c.send(ctx); err != nil {
		return err
	}
	var text strings.Builder
	key, parts := "host, fp, slot, job", cmp.Or(c.s.parts, partitions)
	if id == 0 {
		key, parts = "job, host, fp, slot", cmp.Or(c.s.parts, sharedPartitions)
	}
	text.WriteString(strings.ReplaceAll(forTables(tablesSchema, id), "{key}", key))
	for p := range parts {
		part := strings.NewReplacer("{p}", strconv.Itoa(p), "{n}", strconv.Itoa(parts)).Replace(tablesPart)
		text.WriteString(forTables(part, id))
	}
	for _, t := range []sideTable{texts, links} {
		text.WriteString(forTables(t.schema, id) + ";\n")
	}
	if err := c.s.fault.Stop("create job tables"); err != nil {
		return err
	}
	// Many statements without arguments in one message.
	if _, err := c.conn.Conn().PgConn().Exec(ctx, text.String()).ReadAll(); err != nil {
		return err
	}
	c.exec("insert into shelf (id) values ($1)", id)
	return nil
}

// dropTables drops a set of tables.
func (c *change) dropTables(id int32) {
	c.exec(forTables("drop view urls_{s}", id))
	c.exec(forTables("drop table url_{s}, queue_{s}, outcome_{s}, attempt_{s}, aside_{s}, errand_{s}, tenure_{s}", id))
	c.exec(forTables("drop table if exists content_{s}, link_{s}, inlink_{s}", id))
	c.exec("delete from shelf where id = $1", id)
}

// tablesOfJobs finds the tables of jobs; missing jobs are left out. A cached job may have
// been moved or dropped: callers that rely on it must check.
func (s *Store) tablesOfJobs(ctx context.Context, ids []job.ID) (map[job.ID]*jobTables, error) {
	found := make(map[job.ID]*jobTables, len(ids))
	var unknown []int32
	s.cacheMu.Lock()
	for _, id := range ids {
		if jt := s.tables[id]; jt != nil {
			found[id] = jt
		} else if id > 0 && id <= math.MaxInt32 {
			unknown = append(unknown, int32(id))
		}
	}
	s.cacheMu.Unlock()
	if len(unknown) == 0 {
		return found, nil
	}
	r, err := s.reading(ctx).Query(ctx, "select id, shelf from job where id = any($1::int[])", unknown)
	if err != nil {
		return nil, wrap(err)
	}
	var id job.ID
	var number int32
	_, err = pgx.ForEachRow(r, []any{&id, &number}, func() error {
		found[id] = s.rememberTables(id, number)
		return nil
	})
	return found, wrap(err)
}

// rememberTables caches the tables of a job.
func (s *Store) rememberTables(id job.ID, number int32) *jobTables {
	s.cacheMu.Lock()
	defer s.cacheMu.Unlock()
	if jt := s.tables[id]; jt != nil && jt.id == number {
		return jt
	}
	if len(s.tables) >= jobCache {
		clear(s.tables)
	}
	var jt *jobTables
	if number == 0 {
		jt = &sharedTables
	} else {
		jt = newJobTables(number)
	}
	s.tables[id] = jt
	return jt
}

// forgetJob removes a job from the cache.
func (s *Store) forgetJob(id job.ID) {
	s.cacheMu.Lock()
	defer s.cacheMu.Unlock()
	delete(s.tables, id)
	delete(s.growth, id)
}

var sharedTables = *newJobTables(0)
