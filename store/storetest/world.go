package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"headway/job"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// start is the start time of every test.
var start = time.Date(2026, 11, 15, 10, 0, 0, 0, time.UTC)

// world is a store under test with one job and one worker that owns all slots.
type world struct {
	t     testing.TB
	ctx   context.Context
	store store.Store
	now   time.Time
	job   job.ID
	w     *owner
}

// reading is longer than a store takes to read heartbeats, even on a busy machine. A store
// may count from when it had read them, by its own clock in addition to the caller's.
const reading = 10 * time.Second

// overdue is after how long a worker without heartbeat is certainly declared dead.
var overdue = store.DefaultTerms.TakeOver + reading

// owner is a worker with its leases and the number of its last commit.
type owner struct {
	*world
	id     store.WorkerID
	leases map[store.Slot]store.Lease
	number int64
}

// newWorld opens a fresh store and a job with a page limit, 0 for none.
func newWorld(t testing.TB, open Open, maxPages int64) *world {
	t.Helper()
	w := &world{t: t, ctx: t.Context(), store: open(t, t.TempDir(), nil), now: start}
	for !w.apart("a.example", "b.example", "c.example") { // needed for one key in some hundreds
		w.check(w.store.Close())
		w.store = open(t, t.TempDir(), nil)
	}
	t.Cleanup(func() { w.store.Close() })
	w.job = w.newJob(maxPages)
	w.w = w.newOwner(store.SlotCount)
	return w
}

// scene is a test with its own world.
type scene struct {
	name string
	play func(*testing.T, *world)
}

// inWorlds runs scenes as subtests, with jobs that have no page limit.
func inWorlds(t *testing.T, open Open, scenes []scene) {
	for _, x := range scenes {
		t.Run(x.name, func(t *testing.T) { x.play(t, newWorld(t, open, 0)) })
	}
}

// apart reports whether domains are in different slots, by the key of the store.
func (w *world) apart(domains ...string) bool {
	slots := map[store.Slot]bool{}
	for _, d := range domains {
		slots[store.SlotOf(w.store.Key(), d)] = true
	}
	return len(slots) == len(domains)
}

func (w *world) newJob(maxPages int64) job.ID {
	w.t.Helper()
	id, err := w.store.CreateJob(w.ctx, store.Job{Name: "test", State: job.Running, MaxPages: maxPages, CreatedAt: w.now, Spec: []byte(`{"seeds":1}`)})
	w.check(err)
	return id
}

// newOwner joins a worker and acquires up to max slots.
func (w *world) newOwner(max int) *owner {
	w.t.Helper()
	id, err := w.store.Join(w.ctx, w.now, "worker")
	w.check(err)
	o := &owner{world: w, id: id, leases: map[store.Slot]store.Lease{}}
	o.acquire(max)
	return o
}

func (o *owner) acquire(max int) []store.Lease {
	o.t.Helper()
	leases, err := o.store.Acquire(o.ctx, o.now, o.id, max)
	o.check(err)
	for _, l := range leases {
		o.leases[l.Slot] = l
	}
	return leases
}

// commit completes a commit with worker, number, time and leases, and sends it.
func (o *owner) commit(c store.Commit) (store.Receipt, error) {
	o.t.Helper()
	o.number++
	return o.send(o.prepare(c))
}

func (o *owner) prepare(c store.Commit) store.Commit {
	c.Worker, c.Number, c.At = o.id, o.number, o.now
	for _, s := range c.Slots(o.store.Key()) {
		if l, ok := o.leases[s]; ok {
			c.Leases = append(c.Leases, l)
		}
	}
	return c
}

func (o *owner) send(c store.Commit) (store.Receipt, error) { return o.store.Commit(o.ctx, c) }

// must commits and expects success.
func (o *owner) must(c store.Commit) store.Receipt {
	o.t.Helper()
	r, err := o.commit(c)
	o.check(err)
	return r
}

func (w *world) check(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// add adds waiting URLs.
func (w *world) add(urls ...string) store.Receipt {
	w.t.Helper()
	r, err := w.store.Add(w.ctx, w.now, w.found(urls...))
	w.check(err)
	return r
}

// found returns links to URLs, found on the first page of a.example.
func (w *world) found(urls ...string) []store.Found {
	w.t.Helper()
	var list []store.Found
	for _, raw := range urls {
		list = append(list, store.Found{Item: w.item(raw)})
	}
	return list
}

func (w *world) item(raw string) visit.Item {
	w.t.Helper()
	return visit.Item{Job: w.job, URL: mustURL(w.t, raw), Via: mustURL(w.t, "http://a.example/"), Found: visit.FoundLink, Depth: 1}
}

// visited returns a visit that fetched a page.
func (w *world) visited(raw string) visit.Visit {
	w.t.Helper()
	it := w.item(raw)
	return visit.Visit{
		Item: it, Outcome: visit.Fetched,
		Answer: visit.Answer{Status: 200, Protocol: "HTTP/2.0", Remote: "192.0.2.1:443", ContentType: "text/html", WireBytes: 1000, DecodedBytes: 5000, Validators: visit.Validators{ETag: `"e"`}},
		Timing: visit.Timing{Sent: w.now, FirstByte: 20 * time.Millisecond, Total: 30 * time.Millisecond},
		Page:   visit.Page{Title: "A page", Language: "en", Digest: "d1", SimHash: 1<<64 - 1},
		Evidence: []visit.Evidence{{
			Kind: visit.RobotsAllowed, At: w.now, Rule: "Allow: /", Line: 3, Group: "*", Source: "ab12", SourceAt: w.now.Add(-time.Hour), Confidence: visit.High,
		}},
	}
}

func (w *world) ended(raw string, o visit.Outcome, r visit.Reason) visit.Visit {
	w.t.Helper()
	v := visit.Visit{Item: w.item(raw), Outcome: o, Reason: r}
	if o == visit.Redirected {
		v.Answer.Location = mustURL(w.t, "http://a.example/elsewhere")
	}
	return v
}

// heads returns the URLs at the head of a host's queue.
func (w *world) heads(host string, max int) []string {
	w.t.Helper()
	items, err := w.store.Heads(w.ctx, w.now, []store.Want{{Host: host, Job: w.job, Max: max}})
	w.check(err)
	var urls []string
	for _, it := range items {
		urls = append(urls, it.URL.String())
	}
	return urls
}

// counts returns the counts of the job, which must agree with its rows.
func (w *world) counts() store.Counts {
	w.t.Helper()
	return w.countsOf(w.job)
}

func (w *world) countsOf(id job.ID) store.Counts {
	w.t.Helper()
	c, err := w.store.Counts(w.ctx, id)
	w.check(err)
	audit, err := w.store.Audit(w.ctx, id)
	w.check(err)
	if !c.Equal(audit) {
		w.t.Fatalf("counts and rows disagree:\ncounts %+v\n  rows %+v", c, audit)
	}
	return c
}

// expect compares counts written as "waiting 2, fetched 1".
func (w *world) expect(want string) {
	w.t.Helper()
	if got := describe(w.counts()); got != want {
		w.t.Errorf("counts are %q, want %q", got, want)
	}
}

// describe formats counts in a fixed order, without zeros.
func describe(c store.Counts) string {
	text := ""
	part := func(name string, n int64) {
		if n == 0 {
			return
		}
		if text != "" {
			text += ", "
		}
		text += fmt.Sprintf("%s %d", name, n)
	}
	part("waiting", c.Waiting)
	for _, o := range visit.Outcomes {
		if visit.Reasons[o] == nil {
			part(string(o), c.Ended[store.Ending{Outcome: o}])
		}
		for _, r := range visit.Reasons[o] {
			part(string(o)+":"+string(r), c.Ended[store.Ending{Outcome: o, Reason: r}])
		}
	}
	return text
}

func mustURL(t testing.TB, raw string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
