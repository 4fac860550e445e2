package sqlite

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"headway/job"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// owner is a worker with all slots and a job, for tests of this engine only.
type owner struct {
	t      testing.TB
	s      *Store
	job    job.ID
	id     store.WorkerID
	leases map[store.Slot]store.Lease
	number int64
	now    time.Time
}

func newOwner(t testing.TB, s *Store, maxPages int64) *owner {
	t.Helper()
	o := &owner{t: t, s: s, leases: map[store.Slot]store.Lease{}, now: time.Date(2026, 11, 15, 10, 0, 0, 0, time.UTC)}
	var err error
	o.job, err = s.CreateJob(t.Context(), store.Job{Name: "test", State: job.Running, MaxPages: maxPages, CreatedAt: o.now})
	o.check(err)
	o.id, err = s.Join(t.Context(), o.now, "test")
	o.check(err)
	leases, err := s.Acquire(t.Context(), o.now, o.id, store.SlotCount)
	o.check(err)
	for _, l := range leases {
		o.leases[l.Slot] = l
	}
	return o
}

func (o *owner) check(err error) {
	o.t.Helper()
	if err != nil {
		o.t.Fatal(err)
	}
}

func (o *owner) url(raw string) weburl.URL {
	o.t.Helper()
	return mustURL(o.t, raw)
}

func (o *owner) add(urls ...string) {
	o.t.Helper()
	var found []store.Found
	for _, raw := range urls {
		found = append(found, store.Found{Item: visit.Item{Job: o.job, URL: o.url(raw), Found: visit.FoundSeed}})
	}
	_, err := o.s.Add(o.t.Context(), o.now, found)
	o.check(err)
}

// found returns n links to numbered pages.
func (o *owner) found(n int, format string) []store.Found {
	o.t.Helper()
	var found []store.Found
	for i := range n {
		found = append(found, store.Found{Item: visit.Item{Job: o.job, URL: o.url(fmt.Sprintf(format, i)), Via: o.url("http://a.example/"), Found: visit.FoundLink, Depth: 1}})
	}
	return found
}

func (o *owner) visits(urls ...string) []visit.Visit {
	o.t.Helper()
	var list []visit.Visit
	for _, raw := range urls {
		list = append(list, visit.Visit{
			Item: visit.Item{Job: o.job, URL: o.url(raw)}, Outcome: visit.Fetched,
			Answer: visit.Answer{Status: 200, ContentType: "text/html", DecodedBytes: 5000}, Timing: visit.Timing{Sent: o.now, Total: 30 * time.Millisecond}, Page: visit.Page{Title: "A page"},
		})
	}
	return list
}

func (o *owner) commit(c store.Commit) (store.Receipt, error) {
	o.number++
	c.Worker, c.Number, c.At = o.id, o.number, o.now
	for _, s := range c.Slots(o.s.Key()) {
		c.Leases = append(c.Leases, o.leases[s])
	}
	return o.s.Commit(o.t.Context(), c)
}

// counts returns counts that agree with the rows.
func (o *owner) counts() store.Counts {
	o.t.Helper()
	c, err := o.s.Counts(o.t.Context(), o.job)
	o.check(err)
	a, err := o.s.Audit(o.t.Context(), o.job)
	o.check(err)
	if !c.Equal(a) {
		o.t.Errorf("counts %+v, rows %+v", c, a)
	}
	return c
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

func mustURL(t testing.TB, raw string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
