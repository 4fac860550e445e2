package headway_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"headway"
	"headway/internal/race"
	"headway/job"
	"headway/store"
	"headway/store/memory"
	"headway/visit"
)

// deaf is a store that stops responding, for as long as a driver waits for a connection.
type deaf struct {
	*memory.Store
	gone atomic.Bool
}

func (d *deaf) heard(ctx context.Context) error {
	if !d.gone.Load() {
		return nil
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(2 * time.Minute):
		return errCut
	}
}

func (d *deaf) Renew(ctx context.Context, w store.WorkerID) error {
	if err := d.heard(ctx); err != nil {
		return err
	}
	return d.Store.Renew(ctx, w)
}

func (d *deaf) Commit(ctx context.Context, c store.Commit) (store.Receipt, error) {
	if err := d.heard(ctx); err != nil {
		return store.Receipt{}, err
	}
	return d.Store.Commit(ctx, c)
}

func (d *deaf) Heads(ctx context.Context, now time.Time, wants []store.Want) ([]visit.Item, error) {
	if err := d.heard(ctx); err != nil {
		return nil, err
	}
	return d.Store.Heads(ctx, now, wants)
}

func (d *deaf) Release(ctx context.Context, w store.WorkerID, leases ...store.Lease) error {
	if err := d.heard(ctx); err != nil {
		return err
	}
	return d.Store.Release(ctx, w, leases...)
}

func (d *deaf) Workers(ctx context.Context) ([]store.Worker, error) {
	if err := d.heard(ctx); err != nil {
		return nil, err
	}
	return d.Store.Workers(ctx)
}

func (d *deaf) ActiveJobs(ctx context.Context) ([]store.Job, error) {
	if err := d.heard(ctx); err != nil {
		return nil, err
	}
	return d.Store.ActiveJobs(ctx)
}

func (d *deaf) Admit(ctx context.Context, now time.Time) ([]store.Job, error) {
	if err := d.heard(ctx); err != nil {
		return nil, err
	}
	return d.Store.Admit(ctx, now)
}

func (d *deaf) Record(ctx context.Context, points []store.Point) error {
	if err := d.heard(ctx); err != nil {
		return err
	}
	return d.Store.Record(ctx, points)
}

func (d *deaf) Leave(ctx context.Context, w store.WorkerID) error {
	if err := d.heard(ctx); err != nil {
		return err
	}
	return d.Store.Leave(ctx, w)
}

func (d *deaf) Abandon(ctx context.Context, w store.WorkerID) error {
	if err := d.heard(ctx); err != nil {
		return err
	}
	return d.Store.Abandon(ctx, w)
}

// TestDrainSilentStore drains a worker whose store stops responding, before or after: it
// ends in time, and at once when it is cancelled.
func TestDrainSilentStore(t *testing.T) {
	const most, atOnce = 25 * time.Second, 3 * time.Second
	for _, after := range []time.Duration{-200 * time.Millisecond, 0, 3 * time.Second, 14 * time.Second, 21 * time.Second, time.Minute} {
		for _, slow := range []time.Duration{100 * time.Millisecond, time.Minute} {
			for _, twice := range []bool{false, true} {
				t.Run(fmt.Sprint(after, slow, twice), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						f := &fleet{simulated: newSimulated(t, 8, latency(60, slow))}
						d := &deaf{Store: f.st.(*memory.Store)}
						f.worker = func(c *headway.Worker) { c.Store, c.Terms = d, store.DefaultTerms }
						f.submit(0)
						w := f.start()
						time.Sleep(20*time.Second + min(after, 0)) // crawling pages, however long robots.txt took
						if after >= 0 {
							d.gone.Store(true)
							time.Sleep(after)
						}
						began := time.Now()
						close(w.drain)
						if after < 0 {
							time.Sleep(-after)
							d.gone.Store(true)
						}
						within := most
						if twice {
							time.Sleep(time.Second)
							began, within = time.Now(), atOnce
							w.kill()
						}
						<-w.done
						if took := time.Since(began); took > within {
							t.Errorf("it took %v to leave, want at most %v", took, within)
						}
						f.wg.Wait()
					})
				})
			}
		}
	}
}

// TestStopAtOnce stops a worker while requests are under way. They are cancelled, and the
// next owner of the hosts keeps the pace from when they were sent.
func TestStopAtOnce(t *testing.T) {
	step := 250 * time.Millisecond
	if race.Short() {
		step = 1250 * time.Millisecond // each is a whole crawl
	}
	for after := time.Duration(0); after < 4*time.Second; after += step {
		t.Run(after.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fleet{simulated: newSimulated(t, 8, latency(30, 4*time.Second))}
				f.worker = func(c *headway.Worker) { c.Store = f.st } // which is not slow
				id := f.submit(0)
				w := f.start()
				time.Sleep(20*time.Second + after) // crawling pages, however long robots.txt took
				close(w.drain)
				time.Sleep(100 * time.Millisecond)
				w.kill()
				if err := <-w.done; err != nil {
					t.Error(err)
				}
				next := f.start()
				if j, _ := f.await(id, time.Hour); j.State != job.Complete {
					t.Errorf("%s (%s)", j.State, j.Reason)
				}
				f.drain([]*worker{next})
				// A server continues with a cancelled request, so it may see two at once.
				if gap := time.Duration(f.web.Stats().Total.MinGapMS * float64(time.Millisecond)); gap < time.Second {
					t.Errorf("the smallest gap is %v", gap)
				}
			})
		})
	}
}
