package sqlite

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"

	"headway/job"
	"headway/store"
)

//go:embed job.sql
var jobSchema string

//go:embed view.sql
var viewTerm string

// jobTables are the statements on the tables of one job, and the number of its
// latest URL.
type jobTables struct {
	id   job.ID
	last int64 // guarded by Store.mu

	lastURL string

	// Found URLs.
	see, addURL, enqueue, addOutcome, setAside bulk
	asideItem, takeAside, dropAsideItem        bulk
	readmitURL, forgetOutcome, setRank         bulk
	reopen, requeue                            bulk

	// Visits.
	find, dequeue, end, retry bulk
	markSkip                  bulk
	addAttempt, trimAttempts  bulk
	addTexts, dropTexts       bulk
	addLinks, dropLinks       bulk
	addInlinks                string
	parkEnd, parkDequeue      string
	countQueue                string

	// Queries.
	head, headLater, lookup, attempts, texts   string
	links, linksOf, inlinks                    string
	deferred, hasWork                          string
	idle, auditWaiting, auditEnded, auditAside string
	auditSeen                                  string
	listAll, listHost, listWaiting, listEnding string
	listFetched, listHosts, listAttempts       string
	aside                                      bulk
	listAside                                  string
}

// newJobTables returns the statements for a job.
func newJobTables(id job.ID) *jobTables {
	j := func(text string) string { return forJob(text, id) }
	b := func(before, row, after string) bulk { return newBulk(j(before), j(row), j(after)) }
	return &jobTables{
		id:      id,
		lastURL: j(`select max(id) from url_{j}`),

		// A row is returned if it is new, or if a provisional skip is taken back by a URL
		// that waits.
		see: b(`insert into seen_{j} (host, fp, id, rank, skip) values `, `(?,?,?,?,?)`,
			` on conflict (host, fp) do update set skip = null, rank = excluded.rank where seen_{j}.skip is not null and excluded.rank is not null returning id, host, fp`),
		addURL:        b(`insert into url_{j} (id, host, path, via, found, depth, hops, priority, seen_at, extra) values `, `(?,?,?,?,?,?,?,?,?,?)`, ``),
		enqueue:       b(`insert into queue_{j} (host, rank, id, attempt, not_before) values `, `(?,?,?,?,?)`, ``),
		addOutcome:    b(`insert into outcome_{j} (id, ending, ended_at, attempt) values `, `(?,?,?,?)`, ``),
		setAside:      b(`insert into aside_{j} (slot, fp, url) values `, `(?,?,?)`, ` on conflict do nothing`),
		asideItem:     b(`insert into aside_item (job, slot, fp, item) values `, `({j},?,?,?)`, ` on conflict do nothing`),
		takeAside:     b(`delete from aside_{j} where (slot, fp) in (values `, `(?,?)`, `) returning slot, fp`),
		dropAsideItem: b(`delete from aside_item where job = {j} and (slot, fp) in (values `, `(?,?)`, `)`),
		readmitURL:    b(`with w (id, via, found, depth, hops, priority, extra) as (values `, `(?,?,?,?,?,?,?)`, `) update url_{j} set via = w.via, found = w.found, depth = w.depth, hops = w.hops, priority = w.priority, extra = w.extra from w where url_{j}.id = w.id`),
		forgetOutcome: b(`delete from outcome_{j} where id in (values `, `(?)`, `) returning id, ending`),
		// A URL that waits has no row in outcome.
		reopen:  b(`with w (host, fp, n) as (values `, `(?,?,?)`, `) select w.n, o.id, o.ending, o.visit, u.depth, u.priority from w cross join seen_{j} s on s.host = w.host and s.fp = w.fp cross join outcome_{j} o on o.id = s.id cross join url_{j} u on u.id = s.id`),
		requeue: b(`with w (host, fp, rank) as (values `, `(?,?,?)`, `) update seen_{j} set rank = w.rank, skip = null from w where seen_{j}.host = w.host and seen_{j}.fp = w.fp`),
		setRank: b(`with w (host, fp, rank) as (values `, `(?,?,?)`, `) update seen_{j} set rank = w.rank from w where seen_{j}.host = w.host and seen_{j}.fp = w.fp`),

		find:         b(`with w (host, fp, n) as (values `, `(?,?,?)`, `) select w.n, s.id, s.rank from w cross join seen_{j} s on s.host = w.host and s.fp = w.fp`),
		dequeue:      b(`delete from queue_{j} where (host, rank, id) in (values `, `(?,?,?)`, `) returning id, attempt`),
		end:          b(`insert into outcome_{j} (id, ending, ended_at, attempt, status, visit) values `, `(?,?,?,?,?,?)`, ``),
		retry:        b(`with w (host, rank, id, attempt, not_before) as (values `, `(?,?,?,?,?)`, `) update queue_{j} set attempt = w.attempt, not_before = w.not_before from w where queue_{j}.host = w.host and queue_{j}.rank = w.rank and queue_{j}.id = w.id`),
		markSkip:     b(`with w (host, fp) as (values `, `(?,?)`, `) update seen_{j} set skip = 1 from w where seen_{j}.host = w.host and seen_{j}.fp = w.fp`),
		addAttempt:   b(`with w (url, visit) as (values `, `(?,?)`, `) insert into attempt_{j} (url, n, visit) select w.url, coalesce((select max(a.n) + 1 from attempt_{j} a where a.url = w.url), 1), w.visit from w where true`),
		trimAttempts: b(`with w (url) as (values `, `(?)`, `) delete from attempt_{j} where (url, n) in (select a.url, a.n from w cross join attempt_{j} a on a.url = w.url where a.n <= (select max(b.n) from attempt_{j} b where b.url = w.url) - `+strconv.Itoa(store.MaxAttempts)+`)`),
		addTexts:     b(`insert into content_{j} (id, texts) values `, `(?,?)`, ` on conflict (id) do update set texts = excluded.texts`),
		dropTexts:    b(`delete from content_{j} where id in (values `, `(?)`, `)`),
		addLinks:     b(`insert into link_{j} (id, links) values `, `(?,?)`, ` on conflict (id) do update set links = excluded.links`),
		dropLinks:    b(`delete from link_{j} where id in (values `, `(?)`, `)`),
		addInlinks:   j(`insert into inlink_{j} (id, pages) values (max(?1, coalesce((select max(id) from inlink_{j} where id < ?2), 0)) + 1, ?3)`),
		parkEnd:      j(`insert into outcome_{j} (id, ending, ended_at, attempt) select id, ?2, ?3, attempt from queue_{j} where host = ?1 order by rank, id limit 0 + ?4`),
		parkDequeue:  j(`delete from queue_{j} where host = ?1 and (rank, id) in (select rank, id from queue_{j} where host = ?1 order by rank, id limit 0 + ?2)`),
		countQueue:   j(`select count(*) from queue_{j} where host = ?`),

		// Limits are sums: SQLite parses and plans a statement again each time a limit that is a
		// bare parameter is bound, which costs ten times as much as reading the head of a queue.
		head:      j(headQuery + ` where q.host = (select id from host where host = ?1) and q.not_before <= ?2 order by q.rank, q.id limit 0 + ?3`),
		headLater: j(headQuery + ` where q.host = (select id from host where host = ?1) and q.not_before > ?2 order by q.not_before, q.rank, q.id limit 0 + ?3`),
		lookup:    j(entryQuery + ` where s.host = (select id from host where host = ?1) and s.fp = ?2`),
		attempts:  j(`select visit from attempt_{j} where url = ? order by n`),
		texts:     j(`select texts from content_{j} where id = (select s.id from seen_{j} s where s.host = (select id from host where host = ?1) and s.fp = ?2)`),
		links:     j(`select links from link_{j} where id = (select s.id from seen_{j} s where s.host = (select id from host where host = ?1) and s.fp = ?2)`),
		linksOf:   j(`select h.host || u.path, l.links from link_{j} l join url_{j} u on u.id = l.id join host h on h.id = u.host where l.id = ?1`),
		inlinks:   j(`select pages from inlink_{j} where id > ?1 and id < ?2`),
		deferred:  j(`select o.id, u.host, h.host || u.path, u.depth, u.priority, o.attempt from outcome_{j} o join url_{j} u on u.id = o.id join host h on h.id = u.host where o.ending = ?1 and o.ending > 1 order by o.id limit 0 + ?2`),
		hasWork:   j(`exists (select 1 from queue_{j} where host = h.id union all select 1 from errand where job = {j} and host = h.id and ended = 0)`),

		idle:         j(`select not exists (select 1 from queue_{j} union all select 1 from errand where job = {j} and ended = 0), coalesce((select n from tally where job = {j} and ending = -1), 0)`),
		auditWaiting: j(`select count(*) from queue_{j}`),
		auditEnded:   j(`select ending, count(*) from outcome_{j} group by ending`),
		auditAside:   j(`select count(*) from aside_{j}`),
		listAside:    j(`select a.slot, a.fp, a.url, i.item from aside_{j} a left join aside_item i on i.job = {j} and i.slot = a.slot and i.fp = a.fp where (a.slot, a.fp) > (?, ?) order by a.slot, a.fp limit 0 + ?`),
		// Every seen URL has exactly one row, and waits or has ended, not both.
		auditSeen: j(`select (select count(*) from seen_{j}), (select count(*) from url_{j}), (select count(*) from seen_{j} s join url_{j} u on u.id = s.id and u.host = s.host),
			(select count(*) from queue_{j} q join outcome_{j} o on o.id = q.id)`),

		listAll:     j(`select ` + entryColumns + `, u.id from url_{j} u join host h on h.id = u.host` + entryJoins + ` where u.id > ?1 order by u.id limit 0 + ?2`),
		listHost:    j(`select ` + entryColumns + `, s.fp from seen_{j} s join url_{j} u on u.id = s.id join host h on h.id = u.host` + entryJoins + ` where s.host = (select id from host where host = ?3) and s.fp > ?1 and (?4 is null or coalesce(o.ending, 0) in (select value from json_each(?4))) order by s.fp limit 0 + ?2`),
		listWaiting: j(`select ` + itemColumns + `, q.attempt, q.not_before, u.seen_at, null, null, null, q.host || ' ' || q.rank || ' ' || q.id from queue_{j} q join url_{j} u on u.id = q.id join host h on h.id = u.host` + viaJoins + ` where (q.host, q.rank, q.id) > (?1, ?3, ?4) order by q.host, q.rank, q.id limit 0 + ?2`),
		listEnding:  j(endedQuery + ` where o.ending = ?3 and o.ending > 1 and o.id > ?1 order by o.id limit 0 + ?2`),
		listHosts:   j(`select ` + hostColumns + `, h.id, (select count(*) from queue_{j} q where q.host = h.id), (select count(*) from pace_change p where p.host = h.id and p.cause in ('incident', 'probe_failed')) from host h where h.id > ?1 and (?3 = '' or h.host = ?3) order by h.id limit 0 + ?2`),
		aside:       b(`with w (slot, fp) as (values `, `(?,?)`, `) select a.slot from w cross join aside_{j} a on a.slot = w.slot and a.fp = w.fp`),
		// Attempts are few: to find those of a host, all of the job are read.
		listAttempts: j(`select ` + itemColumns + `, 0, 0, a.visit, a.url, a.n from attempt_{j} a join url_{j} u on u.id = a.url join host h on h.id = u.host` + viaJoins + ` where h.host = ?1 and (a.url, a.n) > (?2, ?3) order by a.url, a.n limit 0 + ?4`),
		listFetched:  j(endedQuery + ` where o.ending = ?3 and o.id > ?1 order by o.id limit 0 + ?2`),
	}
}

// The columns of an item: see scanItem.
const itemColumns = `h.host || u.path, ` + itemRest

const itemRest = `case typeof(u.via) when 'integer' then vh.host || v.path else u.via end, u.found, u.depth, u.hops, u.priority, u.extra`

// The page with the link to a URL.
const viaJoins = ` left join url_{j} v on v.id = u.via left join host vh on vh.id = v.host`

// headQuery reads itemColumns without the host, which the caller knows.
const headQuery = `select u.path, ` + itemRest + `, q.attempt, q.not_before from queue_{j} q join url_{j} u on u.id = q.id` + viaJoins

// rankSQL is [store.Rank] for a row of url; a test compares the two.
const rankSQL = `(case when u.path = '/' then 0 else 16777216 end + min(u.depth, 65535) * 256 + 127 - min(max(u.priority, -127), 127))`

// The columns of an entry: see scanEntry.
const entryColumns = itemColumns + `, coalesce(q.attempt, o.attempt), q.not_before, u.seen_at, o.ending, o.ended_at, o.visit`

const entryQuery = `select ` + entryColumns + `, u.id
	from seen_{j} s join url_{j} u on u.id = s.id join host h on h.id = u.host` + viaJoins + `
	left join outcome_{j} o on o.id = u.id left join queue_{j} q on q.host = s.host and q.rank = s.rank and q.id = s.id`

// endedQuery reads the columns of entries that have ended: none of them is in the queue.
const endedQuery = `select ` + itemColumns + `, o.attempt, null, u.seen_at, o.ending, o.ended_at, o.visit, u.id
	from outcome_{j} o join url_{j} u on u.id = o.id join host h on h.id = u.host` + viaJoins

// The state of a URL, for lists that are not ordered by it.
const entryJoins = viaJoins + ` left join outcome_{j} o on o.id = u.id left join queue_{j} q on q.host = u.host and q.rank = ` + rankSQL + ` and q.id = u.id`

func forJob(text string, id job.ID) string {
	return strings.ReplaceAll(text, "{j}", strconv.FormatInt(int64(id), 10))
}

// dropTables drops the tables of a job.
func dropTables(id job.ID) string {
	var b strings.Builder
	for _, t := range []string{"seen", "url", "queue", "outcome", "attempt", "aside", "tenure"} {
		fmt.Fprintf(&b, "drop table %s_%d;\n", t, id)
	}
	fmt.Fprintf(&b, "drop table if exists taken_%d;\ndrop table if exists content_%d;\n", id, id)
	fmt.Fprintf(&b, "drop table if exists link_%d;\ndrop table if exists inlink_%d;\n", id, id)
	return b.String()
}

// createView creates the view for people: one row for each URL of the latest jobs.
func createView(ids []job.ID) string {
	if len(ids) > maxViewTerms {
		ids = ids[len(ids)-maxViewTerms:]
	}
	if len(ids) == 0 {
		return "drop view if exists urls;"
	}
	terms := make([]string, len(ids))
	for i, id := range ids {
		terms[i] = forJob(viewTerm, id)
	}
	return "drop view if exists urls;\ncreate view urls as\n" + strings.Join(terms, "union all\n") + ";"
}
