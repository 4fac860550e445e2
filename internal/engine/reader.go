package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"headway/frontier"
	"headway/internal/exchange"
	"headway/internal/loop"
	"headway/internal/ownership"
	"headway/politeness"
	"headway/robots"
	"headway/store"
	"headway/visit"
)

// reader queries the store in the background. It uses no state of the loop.
type reader struct {
	st       store.Store
	worker   store.WorkerID
	loop     *loop.Loop // for its clock and retries
	solo     bool       // no other worker shares the store
	agent    string
	policy   robots.Policy
	rules    *robots.Cache
	sitemaps bool // read the sitemaps that robots.txt names
}

// knownHost is the stored state of a host.
type knownHost struct {
	store.Host
	robots   robots.State
	delay    time.Duration // Crawl-delay of its robots.txt
	sitemaps []string      // that it names
}

// loaded is the result of loading hosts.
type loaded struct {
	claim store.Claim
	known map[string]knownHost
	took  time.Duration
}

// load claims domains and reads the state of hosts.
func (rd *reader) load(ctx context.Context, hosts, domains []string) (got loaded, err error) {
	got.claim = store.Claim{Granted: domains}
	if shared, ok := rd.st.(store.Domains); ok {
		if got.claim, err = shared.Claim(ctx, rd.loop.Now(), domains); err != nil || len(got.claim.Granted) == 0 {
			return got, err
		}
	}
	shared := make(map[string]store.Host, len(got.claim.Hosts))
	for _, h := range got.claim.Hosts {
		shared[h.Host] = h
	}
	got.known = make(map[string]knownHost, len(hosts))
	for _, name := range hosts {
		// Use the newer of this crawl's state and the shared one.
		all, ok := shared[name]
		h, err := rd.st.Host(ctx, name)
		switch {
		case err != nil && !errors.Is(err, store.ErrNotFound):
			return got, fmt.Errorf("read host %s: %w", name, err)
		case err == nil && (!ok || h.LastSent.After(all.LastSent)):
			all, ok = h, true
		}
		if !ok {
			continue
		}
		if got.known[name], err = rd.knownHost(ctx, all); err != nil {
			return got, fmt.Errorf("read robots.txt of %s: %w", name, err)
		}
	}
	return got, nil
}

// knownHost adds what the stored robots.txt says: a cached file is not fetched again, so
// its Crawl-delay and sitemaps must come from the stored copy. If another crawl fetched the
// file it may be in that crawl's store only: then it is fetched again, and the last known
// Crawl-delay holds until then.
func (rd *reader) knownHost(ctx context.Context, h store.Host) (knownHost, error) {
	k := knownHost{Host: h}
	if k.robots.UnmarshalBinary(h.Robots) != nil {
		k.robots = robots.State{} // unreadable state: fetch robots.txt again
	}
	var state politeness.State
	if state.UnmarshalBinary(h.Politeness) == nil {
		k.delay = state.CrawlDelay()
	}
	if k.robots.Known != robots.Copy {
		return k, nil
	}
	file, err := rd.rules.Get(ctx, k.robots.Sum)
	switch {
	case errors.Is(err, robots.ErrNotStored):
		k.robots = k.robots.Forget()
		return k, nil
	case err != nil:
		return k, err
	}
	k.delay, _ = file.For(rd.agent).Delay()
	if rd.sitemaps {
		k.sitemaps = exchange.SitemapsOf(file)
	}
	return k, nil
}

// errandsOf reads the errands that wait on hosts.
func (rd *reader) errandsOf(ctx context.Context, hosts []store.HostWork) ([]store.Errand, error) {
	var wants []store.Want
	for i := range hosts {
		for _, j := range hosts[i].Jobs {
			wants = append(wants, store.Want{Host: hosts[i].Host.Host, Job: j.Job, Max: store.MaxErrands})
		}
	}
	return rd.errands(ctx, wants)
}

// errands reads errands in batches of the size the store accepts.
func (rd *reader) errands(ctx context.Context, wants []store.Want) ([]store.Errand, error) {
	var all []store.Errand
	for some := range slices.Chunk(wants, store.MaxWants) {
		list, err := rd.st.Errands(ctx, some)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	return all, nil
}

// reserve reserves page tokens. Near the limit the store grants them one by one to be fair
// to other workers; on one machine reserve repeats until it has all.
func (rd *reader) reserve(ctx context.Context, t frontier.Tokens) (n int, err error) {
	for more := true; more; more = rd.solo && n < t.N {
		var got int
		err = rd.loop.Retry(ctx, func() (err error) {
			got, err = rd.st.Reserve(ctx, rd.worker, t.Job, t.N-n)
			return err
		})
		if n += got; err != nil || got == 0 {
			break
		}
	}
	return n, err
}

// forbid returns the visit of a URL that robots.txt forbids, nil for others.
func (rd *reader) forbid(verdict robots.Verdict, file *robots.File, it *visit.Item, now time.Time) *visit.Visit {
	rules := file.For(rd.agent)
	if verdict.Decide(rules, it.URL).Allowed {
		return nil
	}
	v := &visit.Visit{Item: *it}
	exchange.Judge(v, verdict, rules, now)
	return v
}

// recheck checks the waiting URLs of a job on a host against robots.txt, page by page. Each
// page's forbidden URLs are ended before the next page is read.
func (rd *reader) recheck(ctx context.Context, s frontier.Sift, state robots.State, end func(ctx context.Context, s frontier.Sift, list []*visit.Visit) (more bool)) error {
	verdict := rd.policy.Verdict(state, rd.loop.Now())
	file, err := rd.rules.Get(ctx, verdict.Sum)
	if err != nil {
		return err
	}
	q := store.Query{Job: s.Job, Host: s.Host, Outcome: visit.Pending, Max: recheckPage}
	for more := true; more; {
		var page store.Page
		if err := rd.loop.Retry(ctx, func() (err error) { page, err = rd.st.List(ctx, q); return err }); err != nil {
			return err
		}
		var list []*visit.Visit
		for i := range page.Entries {
			if v := rd.forbid(verdict, file, &page.Entries[i].Item, rd.loop.Now()); v != nil {
				list = append(list, v)
			}
		}
		if more = page.Next != ""; len(list) > 0 && !end(ctx, s, list) {
			return nil
		}
		q.After = page.Next
	}
	return nil
}

// balance is the result of sharing slots among workers.
type balance struct {
	share  int           // of this worker
	leases []store.Lease // newly acquired
	found  store.Suspicions
}

// balance acquires slots up to our fair share.
func (rd *reader) balance(ctx context.Context, most, own int) (b balance, err error) {
	workers, err := rd.st.Workers(ctx)
	b.share = ownership.FairShare(workers, rd.worker)
	for _, w := range workers {
		if w.ID == rd.worker && w.Slots > most {
			// The response to an earlier Acquire was lost: the slots are ours, and idle.
			err = fmt.Errorf("the store counts %d slots as ours, we know of %d: %w", w.Slots, most, store.ErrFenced)
		}
	}
	if err == nil {
		// Also for zero slots: Acquire detects expired leases.
		b.leases, err = rd.st.Acquire(ctx, rd.loop.Now(), rd.worker, max(b.share-own, 0))
	}
	if st, ok := rd.st.(store.Suspects); ok && len(b.leases) > 0 {
		err = rd.loop.Retry(ctx, func() (err error) { b.found, err = st.Suspicions(ctx, slotsOf(b.leases)); return err })
	}
	return b, err
}

func slotsOf(leases []store.Lease) []store.Slot {
	slots := make([]store.Slot, len(leases))
	for i, l := range leases {
		slots[i] = l.Slot
	}
	return slots
}

// arrived is what other workers queued on our hosts.
type arrived struct {
	list    []store.Arrival
	errands []store.Errand // on those hosts
}

// arrived reads it.
func (rd *reader) arrived(ctx context.Context) (a arrived, err error) {
	if a.list, err = rd.st.Arrivals(ctx, rd.worker, maxArrivals); err != nil || len(a.list) == 0 {
		return a, err
	}
	wants := make([]store.Want, len(a.list))
	for i, x := range a.list {
		wants[i] = store.Want{Host: x.Host, Job: x.Job, Max: store.MaxErrands}
	}
	a.errands, err = rd.errands(ctx, wants)
	return a, err
}
