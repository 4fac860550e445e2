package sqlite

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"headway/store"
)

// keepHosts is how long a host is remembered after its last crawl.
const keepHosts = 30 * 24 * time.Hour

// pruneAtOnce bounds the hosts that one start prunes.
const pruneAtOnce = 10_000

// sharedHosts is the file that all crawls of a user share: who owns a domain and what was
// learned about its hosts.
//
// A process owns domains while it runs. It holds the lock of a file named after its number;
// if another process gets that lock, the owner is gone. A stopped process keeps its lock but
// not its heartbeat: a process that waits for a domain and sees the owner's heartbeat
// unchanged for the time of a lease takes the domain over, and records that. Only the clock
// of the waiting process counts.
//
// The heartbeat is a number in a separate file, because a process stopped during a change of
// the shared file would block all others from changing it.
type sharedHosts struct {
	dir   string // directory of the lock files and heartbeats
	terms store.Terms
	me    int64
	lock  *os.File
	disk  *diskTime

	mu    sync.Mutex
	c     *conn
	watch store.Watch // the heartbeats of other processes
	pulse *os.File    // heartbeat file; nil before the first heartbeat
	beat  int64
	kept  store.Tenure // since the last heartbeat
}

// openShared opens the file and registers this process, which crawls into a folder.
func openShared(ctx context.Context, path, crawl string, terms store.Terms, fault store.Fault, disk *diskTime) (_ *sharedHosts, err error) {
	s := &sharedHosts{dir: filepath.Join(filepath.Dir(path), "locks"), terms: terms.WithDefaults(), disk: disk}
	defer func() {
		if err != nil {
			err = errors.Join(openError(path, err), s.close())
		}
	}()
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return nil, err
	}
	// Crawls may be started at the same time: only one at a time creates the file,
	// migrates it and turns its log on.
	opening, err := waitLock(ctx, filepath.Join(s.dir, "opening.lock"))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, opening.Close()) }()
	if err := hostsSchema.migrate(ctx, path); err != nil {
		return nil, err
	}
	s.c, err = openConn(path, "journal_mode = wal", "synchronous = full", "trusted_schema = off")
	if err != nil {
		return nil, err
	}
	if crawl, err = filepath.Abs(crawl); err != nil {
		return nil, err
	}
	if err := s.change(ctx, func(ctx context.Context) error { return s.enter(ctx, crawl) }); err != nil {
		return nil, err
	}
	s.c.fault = fault
	return s, nil
}

// waitLock takes the lock of a file as soon as it is free.
func waitLock(ctx context.Context, path string) (*os.File, error) {
	const again = 10 * time.Millisecond
	for until := time.Now().Add(busyTimeout); ; {
		f, err := lockPath(path)
		if !errors.Is(err, store.ErrInUse) || time.Now().After(until) {
			return f, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(again):
		}
	}
}

// enter registers this process, and removes processes that are gone and old hosts. The lock
// is taken before others can see the number.
func (s *sharedHosts) enter(ctx context.Context, crawl string) error {
	host, err := os.Hostname()
	if err != nil {
		host = "?" // the name is for people
	}
	pid := os.Getpid()
	_, err = s.c.one(ctx, "insert into process (name, started_at, pid, dir) values (?, unixepoch() * 1000, ?, ?) returning id", []driver.Value{fmt.Sprintf("%s %d", host, pid), int64(pid), crawl}, &s.me)
	if err != nil {
		return err
	}
	if s.lock, err = lockPath(s.lockFile(s.me)); err != nil {
		return err
	}
	var others []int64
	err = s.c.query(ctx, "select id from process where id <> ? and not exists (select 1 from domain where owner = process.id)", []driver.Value{s.me}, func(row []driver.Value) error {
		others = append(others, integer(row[0]))
		return nil
	})
	if err != nil {
		return err
	}
	for _, id := range others {
		alive, err := s.alive(id)
		if err != nil {
			return err
		}
		if alive {
			continue
		}
		if _, err := s.c.exec(ctx, "delete from request where process = ?", id); err != nil {
			return err
		}
		if _, err := s.c.exec(ctx, "delete from loss where process = ?", id); err != nil {
			return err
		}
		if _, err := s.c.exec(ctx, "delete from process where id = ?", id); err != nil {
			return err
		}
		for _, name := range []string{s.beatFile(id), s.lockFile(id)} {
			if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	_, err = s.c.exec(ctx, "delete from host where rowid in (select rowid from host where changed_at < unixepoch() * 1000 - ? limit 0 + ?)", keepHosts.Milliseconds(), int64(pruneAtOnce))
	return err
}

func (s *sharedHosts) lockFile(id int64) string {
	return filepath.Join(s.dir, fmt.Sprintf("process-%d.lock", id))
}

// alive reports whether a process still holds its lock.
func (s *sharedHosts) alive(id int64) (bool, error) {
	if id == s.me {
		return true, nil
	}
	f, err := os.OpenFile(s.lockFile(id), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	free, err := tryLock(f)
	return !free, err
}

// close leaves domains that were not yielded to the process that finds the lock free.
func (s *sharedHosts) close() error {
	var errs []error
	if s.c != nil {
		errs = append(errs, s.c.close())
	}
	for _, f := range []*os.File{s.pulse, s.lock} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}

// change runs a transaction.
func (s *sharedHosts) change(ctx context.Context, do func(ctx context.Context) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	if _, err := s.c.exec(ctx, "begin immediate"); err != nil {
		return err
	}
	err := do(ctx)
	if err == nil {
		err = s.disk.measure(func() error { return s.c.commit(ctx) })
	}
	if err == nil {
		return nil
	}
	fault := s.c.fault
	s.c.fault = nil
	defer func() { s.c.fault = fault }()
	if undone := s.c.script(ctx, "rollback"); undone != nil && !isNoTransaction(undone) {
		return errors.Join(err, undone)
	}
	return err
}

// Claim implements [store.Domains]. Without a shared file every domain is
// granted.
func (s *Store) Claim(ctx context.Context, now time.Time, domains []string) (store.Claim, error) {
	if len(domains) > store.MaxWants {
		return store.Claim{}, fmt.Errorf("claim %d domains, at most %d", len(domains), store.MaxWants)
	}
	if s.shared == nil {
		return store.Claim{Granted: slices.Clone(domains)}, ctx.Err()
	}
	claim, err := s.shared.claim(ctx, now, domains)
	if err != nil {
		return store.Claim{}, fmt.Errorf("claim %d domains: %w", len(domains), err)
	}
	return claim, nil
}

// Keep implements [store.Domains].
func (s *Store) Keep(ctx context.Context) ([]string, error) {
	if s.shared == nil {
		return nil, ctx.Err()
	}
	lost, err := s.shared.keep(ctx)
	if err != nil {
		return nil, fmt.Errorf("tell other crawls that this one runs: %w", err)
	}
	return lost, nil
}

// keep writes the heartbeat and returns the lost domains. Nothing can be lost while the
// heartbeat was in time. After a gap another process may be taking domains right now, based
// on the old heartbeat: so the query is a write transaction, which is ordered before or
// after that.
func (s *sharedHosts) keep(ctx context.Context) (lost []string, err error) {
	s.mu.Lock()
	now := time.Now()
	inTime := s.kept.MayStart(now)
	err = s.writeHeartbeat()
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if !inTime {
		err = s.change(ctx, func(ctx context.Context) error {
			return s.c.query(ctx, "update loss set told = 1 where process = ? and told = 0 returning domain", []driver.Value{s.me}, func(row []driver.Value) error {
				lost = append(lost, text(row[0]))
				return nil
			})
		})
	}
	if err == nil {
		s.mu.Lock()
		s.kept = store.NewTenure(s.terms, now)
		s.mu.Unlock()
	}
	return lost, err
}

// writeHeartbeat writes the next heartbeat. Its length never changes, so that no reader sees a part
// of it.
func (s *sharedHosts) writeHeartbeat() (err error) {
	if s.pulse == nil {
		if s.pulse, err = os.OpenFile(s.beatFile(s.me), os.O_CREATE|os.O_WRONLY, 0o644); err != nil {
			return err
		}
	}
	s.beat++
	_, err = s.pulse.WriteAt(fmt.Appendf(nil, "%019d", s.beat), 0)
	return err
}

func (s *sharedHosts) beatFile(id int64) string {
	return filepath.Join(s.dir, fmt.Sprintf("process-%d.beat", id))
}

// heartbeatOf reads the heartbeat of a process; ok is false if it has none.
func (s *sharedHosts) heartbeatOf(id int64) (beat int64, ok bool) {
	b, err := os.ReadFile(s.beatFile(id))
	if err != nil {
		return 0, false
	}
	beat, err = strconv.ParseInt(string(b), 10, 64)
	return beat, err == nil
}

// Statements on domains.
var (
	// wantedDomains begins with the requests, which are few: a crawl may own many domains.
	wantedDomains = `select distinct r.domain from request r cross join domain d on d.domain = r.domain where d.owner = ?1 and r.process <> ?1 and r.asked_at >= ?2 order by 1`

	readDomains = newBulk(`with w (domain) as (values `, `(?)`, `) select w.domain, d.owner, r.process, r.asked_at from w left join domain d on d.domain = w.domain left join request r on r.domain = w.domain order by r.id`)
	takeDomains = newBulk(`insert into domain (domain, owner, fence) values `, `(?,?,1)`, ` on conflict (domain) do update set owner = excluded.owner, fence = fence + 1`)
	askDomains  = newBulk(`insert into request (domain, process, asked_at) values `, `(?,?,?)`, ` on conflict (domain, process) do update set asked_at = excluded.asked_at`)
	dropAsking  = newBulk(`delete from request where (domain, process) in (values `, `(?,?)`, `)`)
	dropLosses  = newBulk(`delete from loss where (process, domain) in (values `, `(?,?)`, `)`)
	readHosts   = newBulk(`with w (domain) as (values `, `(?)`, `) select h.host, h.politeness, h.robots, h.pace_ms, h.floor_ms, h.hold_until, h.last_sent from w cross join host h on h.domain = w.domain`)
)

// domainState is who owns a domain and who waits for it.
type domainState struct {
	owner int64
	queue []int64 // processes with valid claims, in order
	asked int64   // when this process last claimed it
}

// deal is the result of a claim.
type deal struct {
	store.Claim
	take []string
	from map[string]int64 // stopped processes, by the domain taken from them
	ask  []string         // claims to be recorded or renewed
}

// claim takes the domains that are free, or whose owner is gone or stopped, unless another
// process claimed them before; for the others it records a claim. Nothing is written while
// there is nothing to do but wait.
func (s *sharedHosts) claim(ctx context.Context, now time.Time, domains []string) (store.Claim, error) {
	domains = slices.Compact(slices.Sorted(slices.Values(domains)))
	began := time.Now()
	s.mu.Lock()
	d, err := s.consider(ctx, now, began, domains)
	s.mu.Unlock()
	if err != nil || len(d.Granted)+len(d.ask) == 0 {
		return d.Claim, err
	}
	err = s.change(ctx, func(ctx context.Context) error {
		if d, err = s.consider(ctx, now, began, domains); err != nil {
			return err
		}
		return s.settle(ctx, now, &d)
	})
	return d.Claim, err
}

// consider computes the result of a claim made at now; it began at began.
func (s *sharedHosts) consider(ctx context.Context, now, began time.Time, domains []string) (deal, error) {
	d := deal{from: map[string]int64{}}
	states, err := s.states(ctx, now, domains)
	if err != nil {
		return d, err
	}
	others, stopped, err := s.heartbeats(ctx, now, began)
	if err != nil {
		return d, err
	}
	living := map[int64]bool{0: false, s.me: true}
	for _, name := range domains {
		x := states[name]
		for _, id := range append(x.queue, x.owner) {
			if _, ok := living[id]; !ok {
				if living[id], err = s.alive(id); err != nil {
					return d, err
				}
			}
		}
		first := slices.IndexFunc(x.queue, func(id int64) bool { return living[id] })
		next := first < 0 || x.queue[first] == s.me
		switch {
		case x.owner == s.me: // handed over, or claimed twice
			d.Granted = append(d.Granted, name)
		case next && (!living[x.owner] || stopped[x.owner]):
			d.Granted = append(d.Granted, name)
			d.take = append(d.take, name)
			if x.owner != 0 {
				d.Unclean = append(d.Unclean, name)
			}
			if living[x.owner] {
				d.from[name] = x.owner
				d.Taken = append(d.Taken, store.Possession{Domain: name, Holder: others[x.owner]})
			}
		default:
			if x.owner != 0 {
				d.Held = append(d.Held, store.Possession{Domain: name, Holder: others[x.owner]})
			}
			if x.asked < now.Add(-store.ClaimAgain/4).UnixMilli() {
				d.ask = append(d.ask, name)
			}
		}
	}
	return d, nil
}

// states reads who owns domains and who waits for them.
func (s *sharedHosts) states(ctx context.Context, now time.Time, domains []string) (map[string]domainState, error) {
	states := make(map[string]domainState, len(domains))
	stale := now.Add(-store.ClaimAgain).UnixMilli()
	_, err := s.c.bulk(ctx, &readDomains, len(domains), func(i int, args []driver.NamedValue) { args[0].Value = domains[i] }, func(row []driver.Value) error {
		x := states[text(row[0])]
		x.owner = integer(row[1])
		id, asked := integer(row[2]), integer(row[3])
		if id != 0 && asked >= stale {
			x.queue = append(x.queue, id)
		}
		if id == s.me {
			x.asked = asked
		}
		states[text(row[0])] = x
		return nil
	})
	return states, err
}

// heartbeats reads the other processes, and which of them have shown the same heartbeat for the
// time of a lease. The time counts from after the heartbeat was read, so that a slow query
// does not make it look older.
func (s *sharedHosts) heartbeats(ctx context.Context, now, began time.Time) (others map[int64]store.Holder, stopped map[int64]bool, err error) {
	others, stopped = map[int64]store.Holder{}, map[int64]bool{}
	var beating []store.Worker
	err = s.c.query(ctx, "select id, pid, dir from process where id <> ?", []driver.Value{s.me}, func(row []driver.Value) error {
		id := integer(row[0])
		others[id] = store.Holder{PID: int(integer(row[1])), Dir: text(row[2])}
		if beat, ok := s.heartbeatOf(id); ok {
			beating = append(beating, store.Worker{ID: store.WorkerID(id), Heartbeat: beat})
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	for _, id := range s.watch.Observe(now.Add(time.Since(began)), s.terms.TakeOver, beating) {
		stopped[int64(id)] = true
	}
	return others, stopped, nil
}

// settle writes the result of a claim and reads what is known about the granted hosts.
func (s *sharedHosts) settle(ctx context.Context, now time.Time, d *deal) error {
	claim := &d.Claim
	_, err := s.c.bulk(ctx, &takeDomains, len(d.take), func(i int, args []driver.NamedValue) { args[0].Value, args[1].Value = d.take[i], s.me }, nil)
	if err != nil {
		return err
	}
	for name, owner := range d.from {
		if _, err := s.c.exec(ctx, "insert into loss (process, domain, told) values (?, ?, 0) on conflict (process, domain) do update set told = 0", owner, name); err != nil {
			return err
		}
	}
	_, err = s.c.bulk(ctx, &askDomains, len(d.ask), func(i int, args []driver.NamedValue) {
		args[0].Value, args[1].Value, args[2].Value = d.ask[i], s.me, milli(now)
	}, nil)
	if err != nil {
		return err
	}
	_, err = s.c.bulk(ctx, &dropAsking, len(claim.Granted), func(i int, args []driver.NamedValue) { args[0].Value, args[1].Value = claim.Granted[i], s.me }, nil)
	if err != nil {
		return err
	}
	_, err = s.c.bulk(ctx, &dropLosses, len(claim.Granted), func(i int, args []driver.NamedValue) { args[0].Value, args[1].Value = s.me, claim.Granted[i] }, nil)
	if err != nil {
		return err
	}
	_, err = s.c.bulk(ctx, &readHosts, len(claim.Granted), func(i int, args []driver.NamedValue) { args[0].Value = claim.Granted[i] }, func(row []driver.Value) error {
		claim.Hosts = append(claim.Hosts, store.Host{
			Host: text(row[0]), Politeness: orNil(row[1]), Robots: orNil(row[2]), Pace: millis(row[3]), Floor: millis(row[4]),
			HoldUntil: instant(integer(row[5])), LastSent: instant(integer(row[6])),
		})
		return nil
	})
	slices.SortFunc(claim.Hosts, func(a, b store.Host) int { return cmp.Compare(a.Host, b.Host) })
	return err
}

// Wanted implements [store.Domains].
func (s *Store) Wanted(ctx context.Context, now time.Time) ([]string, error) {
	if s.shared == nil {
		return nil, ctx.Err()
	}
	s.shared.mu.Lock()
	defer s.shared.mu.Unlock()
	var list []string
	err := s.shared.c.query(ctx, wantedDomains,
		[]driver.Value{s.shared.me, now.Add(-store.ClaimAgain).UnixMilli()}, func(row []driver.Value) error {
			list = append(list, text(row[0]))
			return nil
		})
	if err != nil {
		return nil, fmt.Errorf("domains that others want: %w", err)
	}
	return list, nil
}

// Yield implements [store.Domains].
func (s *Store) Yield(ctx context.Context, now time.Time, domains []string, hosts []store.Host) error {
	for i := range hosts {
		if err := hosts[i].Check(); err != nil {
			return err
		}
	}
	if s.shared == nil {
		return ctx.Err()
	}
	err := s.shared.change(ctx, func(ctx context.Context) error {
		if err := s.shared.putHosts(ctx, hosts, now); err != nil {
			return err
		}
		return s.shared.handOver(ctx, now, slices.Compact(slices.Sorted(slices.Values(domains))))
	})
	if err != nil {
		return fmt.Errorf("yield %d domains: %w", len(domains), err)
	}
	return nil
}

// handOver gives domains of this process to the first claimant that is still alive, or
// frees them.
func (s *sharedHosts) handOver(ctx context.Context, now time.Time, domains []string) error {
	states, err := s.states(ctx, now, domains)
	if err != nil {
		return err
	}
	for _, d := range domains {
		if states[d].owner != s.me {
			continue
		}
		var next driver.Value
		for _, id := range states[d].queue {
			alive, err := s.alive(id)
			if err != nil {
				return err
			}
			if alive && id != s.me {
				next = id
				break
			}
		}
		if _, err := s.c.exec(ctx, "update domain set owner = ?, fence = fence + 1 where domain = ?", next, d); err != nil {
			return err
		}
		if _, err := s.c.exec(ctx, "delete from request where domain = ? and process = ?", d, next); err != nil {
			return err
		}
	}
	return nil
}

var putHosts = newBulk(`insert into host (host, domain, pace_ms, floor_ms, hold_until, last_sent, politeness, robots, changed_at) values `, `(?,?,?,?,?,?,?,?,?)`,
	` on conflict (host) do update set pace_ms = excluded.pace_ms, floor_ms = excluded.floor_ms, hold_until = max(hold_until, excluded.hold_until), last_sent = max(last_sent, excluded.last_sent), politeness = excluded.politeness, robots = excluded.robots, changed_at = excluded.changed_at`)

// putHosts writes what was learned about hosts of domains this process owns. Those of
// domains that were taken over are ignored: the new owner knows better.
func (s *sharedHosts) putHosts(ctx context.Context, hosts []store.Host, now time.Time) error {
	domains := make([]string, len(hosts))
	for i := range hosts {
		u, err := store.ParseHost(hosts[i].Host)
		if err != nil {
			return err
		}
		domains[i] = u.Domain()
	}
	states, err := s.states(ctx, now, slices.Compact(slices.Sorted(slices.Values(domains))))
	if err != nil {
		return err
	}
	lost, err := s.losses(ctx)
	if err != nil {
		return err
	}
	var put []store.Host
	var of []string
	for i, d := range domains {
		switch {
		case lost[d]:
		case states[d].owner != s.me:
			return fmt.Errorf("host %s: another process owns its domain, or none: %w", hosts[i].Host, store.ErrFenced)
		default:
			put, of = append(put, hosts[i]), append(of, d)
		}
	}
	hosts, domains = put, of
	_, err = s.c.bulk(ctx, &putHosts, len(hosts), func(i int, args []driver.NamedValue) {
		h := &hosts[i]
		args[0].Value, args[1].Value, args[2].Value, args[3].Value = h.Host, domains[i], h.Pace.Milliseconds(), h.Floor.Milliseconds()
		args[4].Value, args[5].Value, args[6].Value, args[7].Value = milli(h.HoldUntil), milli(h.LastSent), notNil(h.Politeness), notNil(h.Robots)
		args[8].Value = milli(now)
	}, nil)
	return err
}

// losses are the domains that were taken from this process.
func (s *sharedHosts) losses(ctx context.Context) (map[string]bool, error) {
	lost := map[string]bool{}
	err := s.c.query(ctx, "select domain from loss where process = ?", []driver.Value{s.me}, func(row []driver.Value) error {
		lost[text(row[0])] = true
		return nil
	})
	return lost, err
}

// share writes the hosts of a commit with one kind of change.
func (s *Store) share(ctx context.Context, at time.Time, hosts []store.Host, c store.Change) error {
	if s.shared == nil {
		return nil
	}
	var list []store.Host
	for _, h := range hosts {
		if h.Change == c {
			list = append(list, h)
		}
	}
	if len(list) == 0 {
		return nil
	}
	if err := s.shared.change(ctx, func(ctx context.Context) error { return s.shared.putHosts(ctx, list, at) }); err != nil {
		return fmt.Errorf("share what was learned of %d hosts: %w", len(list), err)
	}
	return nil
}
