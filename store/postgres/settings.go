package postgres

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"headway/job"
	"headway/store"
)

// settingsColumns are the columns of a version of the settings, as scanSettings reads them.
const settingsColumns = "version, at, who, safety, lease, commit_gap"

// newestSettings reads the newest version.
const newestSettings = "select " + settingsColumns + " from fleet_settings order by version desc limit 1"

// scanSettings reads versions and calls each for every one.
func scanSettings(each func(store.SettingsVersion)) func(pgx.Rows) error {
	var v store.SettingsVersion
	var at, lease, gap int64
	return rows([]any{&v.Version, &at, &v.By, &v.Safety, &lease, &gap}, func() error {
		v.At, v.Lease, v.CommitGap = instant(at), time.Duration(lease)*time.Millisecond, time.Duration(gap)*time.Millisecond
		each(v)
		return nil
	})
}

// FleetSettings implements [store.Settings].
func (s *Store) FleetSettings(ctx context.Context) (v store.SettingsVersion, err error) {
	r, err := s.reading(ctx).Query(ctx, newestSettings)
	if err == nil {
		err = scanSettings(func(x store.SettingsVersion) { v = x })(r)
	}
	if err != nil {
		return v, fmt.Errorf("read fleet settings: %w", wrap(err))
	}
	return v, nil
}

// SettingsHistory implements [store.Settings].
func (s *Store) SettingsHistory(ctx context.Context, below int64, most int) ([]store.SettingsVersion, error) {
	if below <= 0 {
		below = math.MaxInt64
	}
	var list []store.SettingsVersion
	r, err := s.reading(ctx).Query(ctx, "select "+settingsColumns+" from fleet_settings where version < $1 order by version desc limit $2", below, max(most, 0))
	if err == nil {
		err = scanSettings(func(v store.SettingsVersion) { list = append(list, v) })(r)
	}
	if err != nil {
		return nil, fmt.Errorf("list fleet settings: %w", wrap(err))
	}
	return list, nil
}

// SetFleetSettings implements [store.Settings]. No job is admitted meanwhile. Workers are
// notified in the same transaction: this is rare, and must not wait for a poll.
func (s *Store) SetFleetSettings(ctx context.Context, now time.Time, by string, after int64, set store.FleetSettings) (store.SettingsVersion, error) {
	next := store.SettingsVersion{Version: after + 1, At: store.Stored(now), By: clean(by), FleetSettings: set}
	if err := set.Check(); err != nil {
		return next, err
	}
	err := s.change(ctx, func(ctx context.Context, c *change) error {
		var last store.SettingsVersion
		c.exec("select pg_advisory_xact_lock($1, 0)", lockOfQueue)
		c.queue(newestSettings).Query(scanSettings(func(v store.SettingsVersion) { last = v }))
		if err := c.send(ctx); err != nil {
			return err
		}
		if last.Version != after {
			return fmt.Errorf("the newest version is %d, not %d: %w", last.Version, after, store.ErrConflict)
		}
		before := "not set"
		if last.Version > 0 {
			before = last.String()
		}
		c.exec("insert into fleet_settings ("+settingsColumns+") values ($1, $2, $3, $4, $5, $6)", next.Version, milli(now), next.By, set.Safety, set.Lease.Milliseconds(), set.CommitGap.Milliseconds())
		c.exec("insert into control (at, who, what, tenant, job, host, worker, about, before, after) values ($1, $2, 'set-safety', '', 0, '', 0, $3, $4, $5)",
			milli(now), next.By, "version "+strconv.FormatInt(next.Version, 10), before, set.String())
		c.exec("select pg_notify(current_schema() || '_' || $1, $2)", channelOf(everybody), strconv.FormatUint(uint64(store.NewJobs), 10))
		return nil
	})
	if err != nil {
		return next, fmt.Errorf("set fleet settings: %w", err)
	}
	return next, nil
}

// resettle gives jobs that were admitted under other settings the newest safety layer. No
// commit of these jobs runs meanwhile.
func (c *change) resettle(ctx context.Context, now time.Time, ids []int32) error {
	var newest store.SettingsVersion
	for _, id := range ids { // they are sorted
		c.lockJob(id)
	}
	c.exec("select 1 from account where job = any($1::int[]) order by job for update", ids)
	c.queue(newestSettings).Query(scanSettings(func(v store.SettingsVersion) { newest = v }))
	var jobs []store.Job
	c.queue("select "+jobFacts+", j.layers from job j where j.id = any($1::int[]) and "+active+" and j.settings <> (select max(version) from fleet_settings) order by j.id", ids).Query(scanJobs(&jobs, layersOf))
	if err := c.send(ctx); err != nil {
		return err
	}
	for i := range jobs {
		j := &jobs[i]
		counts, err := c.s.counts(ctx, c.conn, j.ID)
		if err != nil {
			return err
		}
		limited := j.MaxPages > 0
		j.Resettle(newest)
		c.exec("update job set max_pages = $2, layers = $3, settings = $4, changed_at = $5 where id = $1", j.ID, j.MaxPages, notNone(j.Layers), j.Settings, milli(now))
		if limited {
			c.setFree(j.ID, j.MaxPages, counts)
		}
	}
	return nil
}

// setFree updates the page tokens of a job that has a page limit: a new one, 0 for none.
func (c *change) setFree(id job.ID, maxPages int64, counts store.Counts) {
	if maxPages == 0 {
		c.exec("delete from account where job = $1", id)
		c.exec("delete from token where job = $1", id)
		return
	}
	c.exec("update account set free = $2 where job = $1", id, maxPages-counts.Pages()-counts.Tokens)
}
