package frontier

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	"headway/job"
	"headway/politeness"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// queueKey identifies the queue of one job on one host.
type queueKey struct {
	host string
	job  job.ID
}

// urlStore is a store of waiting URLs that fulfils the contract of store.URLs, and
// nothing more.
type urlStore struct {
	waiting map[queueKey][]visit.Item // in order of age
	ended   map[jobURL]visit.Outcome
}

type jobURL struct {
	job job.ID
	url weburl.URL
}

func newURLStore() *urlStore {
	return &urlStore{waiting: map[queueKey][]visit.Item{}, ended: map[jobURL]visit.Outcome{}}
}

func keyOf(it *visit.Item) queueKey { return queueKey{it.URL.Host(), it.Job} }

// add adds a waiting item, unless it was seen.
func (s *urlStore) add(it visit.Item) bool {
	k := keyOf(&it)
	if _, ended := s.ended[jobURL{it.Job, it.URL}]; ended || s.find(k, it.URL) >= 0 {
		return false
	}
	s.waiting[k] = append(s.waiting[k], it)
	return true
}

func (s *urlStore) find(k queueKey, u weburl.URL) int {
	return slices.IndexFunc(s.waiting[k], func(it visit.Item) bool { return it.URL == u })
}

// end ends a waiting item, and reports whether it waited.
func (s *urlStore) end(id job.ID, u weburl.URL, o visit.Outcome) bool {
	k := queueKey{u.Host(), id}
	i := s.find(k, u)
	if i < 0 {
		return false
	}
	s.waiting[k] = slices.Delete(s.waiting[k], i, i+1)
	s.ended[jobURL{id, u}] = o
	return true
}

// heads is store.URLs.Heads for one want.
func (s *urlStore) heads(now time.Time, w Want) []visit.Item {
	list := slices.Clone(s.waiting[queueKey{w.Host, w.Job}])
	slices.SortStableFunc(list, func(a, b visit.Item) int {
		aLater, bLater := a.NotBefore.After(now), b.NotBefore.After(now)
		switch {
		case aLater && bLater:
			return a.NotBefore.Compare(b.NotBefore)
		case aLater:
			return 1
		case bLater:
			return -1
		default:
			return cmp.Compare(a.Rank(), b.Rank())
		}
	})
	return list[:min(len(list), w.Max)]
}

// rig is a frontier with a urlStore, and a clock that the test controls.
type rig struct {
	t        *testing.T
	f        *Frontier
	urlStore *urlStore
	now      time.Time

	robots        RobotsState // of hosts that are loaded
	states        map[string]HostState
	tokens        map[job.ID]int // page tokens left in the store
	requestTokens map[job.ID]int
	late          *[]Tokens      // collects requests for tokens instead of granting them, unless nil
	refuse        bool           // host-limited jobs may reserve no more hosts
	turns         store.Timeline // of tenants with a rate
	manual        bool           // the test answers the requests of a batch
	batch         Batch          // returned by the last next
	limit         int
}

// quick is a policy without randomness: one request per second, two in flight.
var quick = func() *politeness.Policy {
	p, _ := politeness.Preset("polite")
	p.Jitter = 0
	return &p
}()

// policyWith returns quick with changes.
func policyWith(change func(*politeness.Policy)) func(string) *politeness.Policy {
	p := *quick
	change(&p)
	return func(string) *politeness.Policy { return &p }
}

func plainJob(id job.ID) Job {
	return Job{ID: id, Policy: func(string) *politeness.Policy { return quick }, Patience: 10 * time.Minute}
}

// newRig returns a rig with jobs; without any there is job 1.
func newRig(t *testing.T, cfg Config, jobs ...Job) *rig {
	t.Helper()
	r := &rig{
		t: t, f: New(cfg, start), urlStore: newURLStore(), now: start, robots: RobotsState{Known: true, Ever: true},
		states: map[string]HostState{}, tokens: map[job.ID]int{}, requestTokens: map[job.ID]int{}, turns: store.Timeline{}, limit: 1000,
	}
	if len(jobs) == 0 {
		jobs = []Job{plainJob(1)}
	}
	for _, j := range jobs {
		r.f.AddJob(j)
	}
	return r
}

func mustURL(raw string) weburl.URL {
	u, err := weburl.Parse(raw)
	if err != nil {
		panic(err)
	}
	return u
}

// at sets the clock to d after the start.
func (r *rig) at(d time.Duration) { r.now = start.Add(d) }

// pass advances the clock.
func (r *rig) pass(d time.Duration) { r.now = r.now.Add(d) }

// put stores URLs of a job without reporting them to the frontier.
func (r *rig) put(id job.ID, urls ...string) []visit.Item {
	var items []visit.Item
	for _, raw := range urls {
		it := visit.Item{Job: id, URL: mustURL(raw), Found: visit.FoundLink}
		if r.urlStore.add(it) {
			items = append(items, it)
		}
	}
	return items
}

// add stores URLs of a job and reports them to the frontier.
func (r *rig) add(id job.ID, urls ...string) { r.f.Added(r.now, r.put(id, urls...)) }

// pages returns n URLs on a host.
func pages(host string, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("https://%s/%d", host, i+1)
	}
	return list
}

// next calls Next and answers its requests to the store at once, unless the test does.
// It returns the requests to hosts.
func (r *rig) next() []Request {
	r.t.Helper()
	r.batch = Batch{}
	for range 1000 {
		b := r.f.Next(r.now, r.limit-len(r.batch.Requests), visit.WaitWorkers)
		r.batch.Requests = append(r.batch.Requests, b.Requests...)
		r.batch.Refill = append(r.batch.Refill, b.Refill...)
		r.batch.Load = append(r.batch.Load, b.Load...)
		r.batch.Tokens = append(r.batch.Tokens, b.Tokens...)
		r.batch.Take = append(r.batch.Take, b.Take...)
		r.batch.Turns = append(r.batch.Turns, b.Turns...)
		r.batch.Sift = append(r.batch.Sift, b.Sift...)
		r.batch.Parks = append(r.batch.Parks, b.Parks...)
		r.batch.Resolved = append(r.batch.Resolved, b.Resolved...)
		r.batch.Rest = append(r.batch.Rest, b.Rest...)
		r.batch.Quiet = append(r.batch.Quiet, b.Quiet...)
		r.batch.Cold = r.batch.Cold || b.Cold
		r.batch.Wake = b.Wake
		if r.manual || !r.answer(b) {
			return r.batch.Requests
		}
	}
	r.t.Fatal("the frontier asks the store again and again and gets nowhere")
	return nil
}

// answer does the reads and writes of a batch, and reports whether there were any.
func (r *rig) answer(b *Batch) bool {
	loads, refills, tokens, parks, takings := slices.Clone(b.Load), slices.Clone(b.Refill), slices.Clone(b.Tokens), slices.Clone(b.Parks), slices.Clone(b.Take)
	turns := slices.Clone(b.Turns)
	for _, w := range turns {
		r.f.Given(w, r.now.Add(r.turns.Take(r.now, store.RateWindow{Tenant: w.Tenant, Length: w.Length()})))
	}
	for _, name := range loads {
		r.load(name)
	}
	if len(refills) > 0 {
		r.refill(refills)
	}
	if r.late != nil {
		*r.late, tokens = append(*r.late, tokens...), nil
	}
	for _, w := range tokens {
		left := r.tokens
		if w.Kind == RequestToken {
			left = r.requestTokens
		}
		n := min(w.N, left[w.Job])
		left[w.Job] -= n
		r.f.Grant(r.now, w.Job, w.Kind, n)
	}
	for _, t := range takings {
		r.f.Took(r.now, t, !r.refuse, 0)
	}
	for _, p := range parks {
		r.park(p)
	}
	return len(loads)+len(refills)+len(tokens)+len(parks)+len(takings)+len(turns) > 0
}

func (r *rig) load(name string) {
	s, ok := r.states[name]
	if !ok {
		s = HostState{State: politeness.New(name), Robots: r.robots}
	}
	s.Host = name
	r.f.Loaded(r.now, s)
}

// refill answers wants from the urlStore as it is now.
func (r *rig) refill(wants []Want) {
	var items []visit.Item
	for _, w := range wants {
		items = append(items, r.urlStore.heads(r.now, w)...)
	}
	r.f.Refilled(r.now, wants, items)
}

func (r *rig) park(p Park) {
	r.t.Helper()
	k := queueKey{p.Host, p.Job}
	for _, it := range slices.Clone(r.urlStore.waiting[k]) {
		if q := r.f.hosts.find(p.Host).queue(p.Job); q != nil && slices.ContainsFunc(q.busy, func(fl *flight) bool { return fl.entry.url == it.URL }) {
			r.t.Errorf("a park ends %s, which is under way", it.URL)
		}
		r.urlStore.end(p.Job, it.URL, p.Outcome)
	}
	r.f.Parked(r.now, p, 0)
}

// one expects exactly one request.
func (r *rig) one() Request {
	r.t.Helper()
	list := r.next()
	if len(list) != 1 {
		r.t.Fatalf("at %v: %d requests, want one%s", r.now.Sub(start), len(list), r.describe())
	}
	return list[0]
}

// none expects no request, and returns when to call Next again.
func (r *rig) none() time.Time {
	r.t.Helper()
	if list := r.next(); len(list) > 0 {
		r.t.Fatalf("at %v: %s %s handed out, want nothing", r.now.Sub(start), list[0].Host, list[0].Item.URL)
	}
	return r.batch.Wake
}

func (r *rig) describe() string {
	s := ""
	for _, h := range r.f.list {
		s += fmt.Sprintf("\n%s: %s, until %v", h.name, h.doing(), h.until.time().Sub(start))
	}
	return s
}

// sent reports that a request was sent now.
func (r *rig) sent(req Request) { r.f.Sent(r.now, req) }

// reply is a response of a host.
type reply struct {
	status     int
	fault      politeness.Fault
	answered   bool
	local      bool
	retryAfter time.Duration
}

func status(code int) reply { return reply{status: code} }

// settle reports the result of a request, without a commit.
func (r *rig) settle(req Request, a reply) Settled {
	answer := Answer{Answered: a.answered, Local: a.local}
	answer.Status, answer.Fault = a.status, a.fault
	answer.RetryAfter, answer.HasRetryAfter = a.retryAfter, a.retryAfter > 0
	answer.Latency = 50 * time.Millisecond
	if req.Kind != Page {
		return r.f.Settle(r.now, req, answer, nil)
	}
	v := &visit.Visit{Item: req.Item}
	if a.fault != politeness.NoFault {
		v.Outcome, v.Reason = visit.Failed, visit.Timeout
	} else {
		v.Outcome, v.Reason = visit.OfStatus(a.status)
	}
	s := r.f.Settle(r.now, req, answer, v)
	if s.Verdict == Ended {
		r.end(req, v.Outcome)
	}
	return s
}

func (r *rig) end(req Request, o visit.Outcome) {
	r.t.Helper()
	if !r.urlStore.end(req.Job, req.Item.URL, o) {
		r.t.Errorf("%s ended and was not waiting", req.Item.URL)
	}
}

// commit makes a request durable.
func (r *rig) commit(reqs ...Request) { r.f.Committed(r.now, reqs) }

// do sends a request, answers it at once and commits it.
func (r *rig) do(req Request, a reply) Settled {
	r.sent(req)
	s := r.settle(req, a)
	if req.Kind == Page && s.Verdict != InDoubt {
		r.commit(req)
	}
	return s
}

// ok serves a request.
func (r *rig) ok(req Request) { r.do(req, status(http.StatusOK)) }

// warm offers the hosts of the urlStore that have work, by name.
func (r *rig) warm() {
	for _, k := range slices.SortedFunc(maps.Keys(r.urlStore.waiting), func(a, b queueKey) int {
		return cmp.Or(cmp.Compare(a.host, b.host), cmp.Compare(a.job, b.job))
	}) {
		if len(r.urlStore.waiting[k]) > 0 && !r.f.Warm(r.now, mustURL(k.host+"/"), []job.ID{k.job}) {
			return
		}
	}
	r.f.Warmed()
}

// waits expects that a host waits for a reason.
func (r *rig) waits(host string, w visit.Wait) {
	r.t.Helper()
	v, ok := r.f.View("https://" + host)
	if !ok {
		r.t.Fatalf("%s is not in memory", host)
	}
	if v.Doing != Waiting(w) {
		r.t.Errorf("at %v: %s waits for %s, want %s", r.now.Sub(start), host, v.Doing, w)
	}
}

// drain serves everything until nothing is left, up to most requests.
func (r *rig) drain(most int) (order []string) {
	r.t.Helper()
	for range most {
		list := r.next()
		if r.batch.Cold {
			r.warm()
		}
		for _, req := range list {
			order = append(order, req.Item.URL.String())
			r.ok(req)
		}
		if len(list) == 0 {
			if r.f.Idle() {
				return order
			}
			if r.batch.Wake.IsZero() {
				r.t.Fatalf("hosts have work and nothing to wait for%s", r.describe())
			}
			r.now = r.batch.Wake
		}
	}
	r.t.Fatalf("not done after %d turns%s", most, r.describe())
	return nil
}
