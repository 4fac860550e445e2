package postgres

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5"

	"headway/job"
	"headway/store"
	"headway/store/internal/record"
	"headway/visit"
	"headway/weburl"
)

// The queries of [store.Reader] are too rare for their statements to be prepared.
var _ store.Reader = (*Store)(nil)

// listAttempts reads attempts of a host. They are few, so all of the job are read.
const listAttempts = `select a.url, a.n, a.visit, ` + itemColumns + ` from attempt_{s} a join url_{s} u on u.id = a.url and u.job = a.job join host h on h.id = u.host
	where a.job = $1 and u.host = $2 and u.slot = $3 and (a.url, a.n) > ($4, $5) order by a.url, a.n limit $6`

// Attempts implements [store.Reader].
func (s *Store) Attempts(ctx context.Context, q store.AttemptQuery) (store.AttemptPage, error) {
	page, err := s.attemptPage(ctx, q)
	if err != nil {
		return store.AttemptPage{}, fmt.Errorf("attempts of job %d on %s: %w", q.Job, q.Host, s.goneJob(ctx, q.Job, err))
	}
	return page, nil
}

func (s *Store) attemptPage(ctx context.Context, q store.AttemptQuery) (store.AttemptPage, error) {
	var page store.AttemptPage
	var url, n int64
	if q.After != "" {
		if _, err := fmt.Sscanf(string(q.After), "%d %d", &url, &n); err != nil {
			return page, fmt.Errorf("cursor %q does not belong to this list", q.After)
		}
	}
	refs, err := s.hostRefs(ctx, map[string]bool{q.Host: true}, false)
	if err != nil {
		return page, err
	}
	ref := refs[q.Host] // zero if no URL of it was seen
	most := min(max(q.Max, 1), store.MaxPage)
	err = s.readJob(ctx, q.Job, func(tx pgx.Tx, jt *jobTables) error {
		r, err := tx.Query(ctx, forTables(listAttempts, jt.id), int32(q.Job), ref.id, int16(ref.slot), url, n, most+1)
		if err != nil {
			return err
		}
		var items []visit.Item
		var texts []string
		var row itemRow
		var text string
		var nextURL, nextN int64
		_, err = pgx.ForEachRow(r, append([]any{&nextURL, &nextN, &text, &row.host}, row.targets()...), func() error {
			if len(items) == most {
				page.Next = store.Cursor(fmt.Sprintf("%d %d", url, n))
				return nil
			}
			url, n = nextURL, nextN
			it, err := row.item(q.Job)
			items, texts = append(items, it), append(texts, text)
			return err
		})
		if err != nil {
			return err
		}
		page.Attempts, err = unfinished(ctx, tx, items, texts)
		return err
	})
	return page, err
}

// unfinished reads the records of attempts that did not end their URLs.
func unfinished(ctx context.Context, tx pgx.Tx, items []visit.Item, texts []string) ([]visit.Visit, error) {
	records := make([]record.Record[factID], len(texts))
	facts := map[factID]string{}
	for i, text := range texts {
		if err := readRecord(text, &items[i], &records[i], facts); err != nil {
			return nil, err
		}
	}
	if err := readFacts(ctx, tx, facts); err != nil {
		return nil, err
	}
	var list []visit.Visit
	for i := range records {
		v, err := records[i].Visit(items[i], store.Ending{Outcome: visit.Pending}, known(facts))
		if err != nil {
			return nil, err
		}
		list = append(list, *v)
	}
	return list, nil
}

// aside searches each slot: the slot in which a URL was found is part of the key.
const aside = `select exists (select from unnest($3::smallint[]) as w (slot) join aside_{s} a on a.job = $1 and a.slot = w.slot and a.fp = $2)`

// Aside implements [store.Reader].
func (s *Store) Aside(ctx context.Context, id job.ID, u weburl.URL) (bool, error) {
	var found bool
	slots := make([]int16, store.SlotCount)
	for i := range slots {
		slots[i] = int16(i)
	}
	err := s.readJob(ctx, id, func(tx pgx.Tx, jt *jobTables) error {
		return tx.QueryRow(ctx, forTables(aside, jt.id), int32(id), [16]byte(u.Fingerprint128(s.key)), slots).Scan(&found)
	})
	if err != nil {
		return false, fmt.Errorf("look up %s aside in job %d: %w", u, id, s.goneJob(ctx, id, err))
	}
	return found, nil
}

// listHosts steps from host to host, however many URLs each has, because all jobs share the
// table of hosts.
const listHosts = `with recursive step as ((select u.host from url_{s} u where u.job = $1 and u.host > $2 order by u.host limit 1)
		union all select (select u.host from url_{s} u where u.job = $1 and u.host > step.host order by u.host limit 1) from step where step.host is not null),
	listed as materialized (select host from step where host is not null limit $3)
	select ` + hostColumns + `, (select count(*) from queue_{s} q where q.host = h.id and q.job = $1 and q.slot = h.slot),
		(select count(*) from pace_change p where p.host = h.id and p.cause in ('incident', 'probe_failed'))
	from listed join host h on h.id = listed.host order by h.id`

// HostList implements [store.Reader].
func (s *Store) HostList(ctx context.Context, q store.HostListQuery) (store.HostListPage, error) {
	page, err := s.hostListPage(ctx, q)
	if err != nil {
		return store.HostListPage{}, fmt.Errorf("list hosts of job %d: %w", q.Job, s.goneJob(ctx, q.Job, err))
	}
	return page, nil
}

func (s *Store) hostListPage(ctx context.Context, q store.HostListQuery) (store.HostListPage, error) {
	var page store.HostListPage
	var after int64
	if q.After != "" {
		var err error
		if after, err = strconv.ParseInt(string(q.After), 10, 64); err != nil {
			return page, fmt.Errorf("cursor %q does not belong to this list", q.After)
		}
	}
	most := min(max(q.Max, 1), store.MaxPage)
	if q.Host != "" {
		refs, err := s.hostRefs(ctx, map[string]bool{q.Host: true}, false)
		if err != nil {
			return page, err
		}
		if ref, ok := refs[q.Host]; ok && ref.id > after {
			after, most = ref.id-1, 1 // it is the next one, or the job has no URL of it
		} else {
			after = math.MaxInt64
		}
	}
	err := s.readJob(ctx, q.Job, func(tx pgx.Tx, jt *jobTables) error {
		r, err := tx.Query(ctx, forTables(listHosts, jt.id), int32(q.Job), after, most+1)
		if err != nil {
			return err
		}
		var row hostRow
		var waiting, incidents int64
		_, err = pgx.ForEachRow(r, append(row.targets(), &waiting, &incidents), func() error {
			if len(page.Hosts) == most {
				page.Next = store.HostCursor(strconv.FormatInt(after, 10))
				return nil
			}
			after = row.id
			page.Hosts = append(page.Hosts, store.HostEntry{Host: row.host(), Waiting: waiting, Incidents: incidents})
			return nil
		})
		return err
	})
	if q.Host != "" {
		page.Next = ""
		page.Hosts = slices.DeleteFunc(page.Hosts, func(e store.HostEntry) bool { return e.Host.Host != q.Host })
	}
	return page, err
}
