package storetest

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"headway/job"
	"headway/store"
	"headway/store/memory"
	"headway/visit"
	"headway/weburl"
)

// testModel applies the same random operations to the engine and to the model and compares
// every result.
//
// Keys differ between stores and with them the slots of domains, so one worker owns all
// slots or none: what is compared does not depend on the key.
func testModel(t *testing.T, open Open) {
	dir, n := t.TempDir(), 0
	rapid.Check(t, func(r *rapid.T) {
		n++
		place := filepath.Join(dir, fmt.Sprint(n))
		m := &model{t: t, r: r, now: start, open: open, place: place}
		m.sides[0] = &side{store: memory.Open(memory.Config{})}
		m.sides[1] = &side{store: open(t, place, nil)}
		defer func() {
			for _, s := range m.sides {
				if err := s.store.Close(); err != nil {
					t.Errorf("close: %v", err)
				}
			}
		}()
		m.createJob(r)
		m.join(r)
		r.Repeat(map[string]func(*rapid.T){
			"add": m.add, "commit": m.commit, "heads": m.heads, "reserve": m.reserve, "reserve requests": m.reserveRequests, "join": m.join, "acquire": m.acquire, "leave": m.leave,
			"renew": m.renew, "pass": m.pass, "create job": m.createJob, "set state": m.setState, "extend": m.extend, "ask again": m.askAgain, "drop": m.drop,
			"arrivals": m.arrivals, "errands": m.errands, "list": m.list, "inlinks": m.inlinks, "hosts": m.hosts, "reopen": m.reopen, "": m.look,
		})
	})
}

// model is two stores that get the same calls.
type model struct {
	t     testing.TB
	r     *rapid.T
	now   time.Time
	open  Open
	place string
	sides [2]*side
}

// side is one of the two stores. Jobs and workers are identified by their index in the
// lists, because their numbers may differ.
type side struct {
	store   store.Store
	jobs    []job.ID
	workers []*modelWorker
}

type modelWorker struct {
	id     store.WorkerID
	leases map[store.Slot]store.Lease
	number int64
}

// both applies an operation to both stores and compares the results.
func (m *model) both(r *rapid.T, what string, do func(ctx context.Context, s *side) (string, error)) {
	r.Helper()
	var answers [2]string
	for i, s := range m.sides {
		text, err := do(context.Background(), s)
		answers[i] = text + " " + class(err)
		if strings.HasPrefix(class(err), "unexpected") {
			r.Fatalf("%s: %v", what, err)
		}
	}
	if answers[0] != answers[1] {
		r.Fatalf("%s:\n model %s\nengine %s", what, answers[0], answers[1])
	}
}

// class maps an error to the sentinel that callers check for.
func class(err error) string {
	if err == nil {
		return "ok"
	}
	for _, known := range []error{store.ErrFenced, store.ErrNotWaiting, store.ErrTokens, store.ErrNotFound, store.ErrConflict} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return "unexpected " + err.Error()
}

func (s *side) job(i int) job.ID { return s.jobs[i] }

// index is the index of a job in the list.
func (s *side) index(id job.ID) int { return slices.Index(s.jobs, id) }

func (m *model) anyJob(r *rapid.T) int {
	return rapid.IntRange(0, len(m.sides[0].jobs)-1).Draw(r, "job")
}

func (m *model) anyWorker(r *rapid.T) int {
	return rapid.IntRange(0, len(m.sides[0].workers)-1).Draw(r, "worker")
}

var modelHosts = []string{"http://a.example", "https://a.example", "http://b.example:8080"}

func anyURL(r *rapid.T) weburl.URL {
	host := rapid.SampledFrom(modelHosts).Draw(r, "host")
	path := rapid.SampledFrom([]string{"/", "/1", "/2", "/3?q=1", "/4", "/5"}).Draw(r, "path")
	u, err := weburl.Parse(host + path)
	if err != nil {
		r.Fatal(err)
	}
	return u
}

// anyItem draws an item; its job is an index in the list.
func (m *model) anyItem(r *rapid.T) visit.Item {
	it := visit.Item{
		Job: job.ID(m.anyJob(r)), URL: anyURL(r), Found: visit.FoundLink, Depth: rapid.IntRange(0, 2).Draw(r, "depth"),
		Priority: rapid.IntRange(-1, 1).Draw(r, "priority"), Via: anyURL(r),
	}
	if rapid.IntRange(0, 5).Draw(r, "late") == 0 {
		it.NotBefore = m.now.Add(time.Duration(rapid.IntRange(-2, 2).Draw(r, "seconds")) * time.Second)
	}
	return it
}

func (m *model) anyFound(r *rapid.T) store.Found {
	f := store.Found{Item: m.anyItem(r)}
	switch rapid.IntRange(0, 9).Draw(r, "kind") {
	case 0:
		f.Outcome, f.Reason = visit.Skipped, visit.Nofollow
	case 1:
		f.Outcome, f.Reason = visit.Skipped, visit.Depth
	case 2:
		f.Outcome, f.Reason = visit.Skipped, visit.TrapPath
	case 3:
		f.Outcome = visit.Deferred
	case 4:
		f.Outcome, f.Reason = visit.Skipped, visit.OutOfScope
		f.Item.Via = weburl.URL{} // found in its own slot, independent of the key
	}
	return f
}

// placed returns found URLs with the jobs of a side.
func (s *side) placed(found []store.Found) []store.Found {
	found = slices.Clone(found)
	for i := range found {
		found[i].Item.Job = s.job(int(found[i].Item.Job))
	}
	return found
}

func (m *model) add(r *rapid.T) {
	found := rapid.SliceOfN(rapid.Custom(m.anyFound), 0, 8).Draw(r, "found")
	m.both(r, "add", func(ctx context.Context, s *side) (string, error) {
		receipt, err := s.store.Add(ctx, m.now, s.placed(found))
		return fmt.Sprintf("%+v", receipt), err
	})
}

func (m *model) commit(r *rapid.T) {
	worker := m.anyWorker(r)
	number := rapid.IntRange(0, 8).Draw(r, "number") // mostly the next one
	stale := rapid.IntRange(0, 8).Draw(r, "stale") == 0
	var c store.Commit
	taken := map[string]bool{}
	for range rapid.IntRange(0, 4).Draw(r, "visits") {
		it := m.anyItem(r)
		if k := fmt.Sprint(it.Job, it.URL); !taken[k] {
			taken[k] = true
			if rapid.IntRange(0, 3).Draw(r, "retry") == 0 {
				c.Retries = append(c.Retries, store.Retry{Visit: visit.Visit{Item: it, Outcome: visit.Pending, Wait: visit.WaitHold}, Attempt: 1, NotBefore: m.now.Add(time.Second)})
				continue
			}
			e := rapid.SampledFrom([]store.Ending{{Outcome: visit.Fetched}, {Outcome: visit.Dead}, {Outcome: visit.Throttled}, {Outcome: visit.Skipped, Reason: visit.Depth}, {Outcome: visit.Failed, Reason: visit.DNS}, {Outcome: visit.Deferred}}).Draw(r, "ending")
			v := visit.Visit{Item: it, Outcome: e.Outcome, Reason: e.Reason, Detail: "d"}
			if e.Outcome == visit.Fetched && rapid.Bool().Draw(r, "content") {
				v.Page.Content = said(it.URL.String(), rapid.IntRange(0, 9).Draw(r, "version"))
			}
			if e.Outcome == visit.Fetched && rapid.Bool().Draw(r, "links") {
				v.Links = linksOf(m.t, it.URL.String(), rapid.IntRange(0, 9).Draw(r, "version of links"))
				v.Page.Links = visit.Keep(v.Links, false)
			}
			c.Visits = append(c.Visits, v)
		}
	}
	found := rapid.SliceOfN(rapid.Custom(m.anyFound), 0, 6).Draw(r, "found")
	host := rapid.SampledFrom(modelHosts).Draw(r, "learned")
	if rapid.Bool().Draw(r, "learns") {
		c.Hosts = []store.Host{{Host: host, Politeness: []byte{byte(rapid.IntRange(0, 255).Draw(r, "state"))}, Change: store.Change(rapid.IntRange(0, 2).Draw(r, "change"))}}
		if rapid.Bool().Draw(r, "rests") {
			c.Hosts[0].Rest = m.now.Add(time.Minute)
		}
	}
	if rapid.IntRange(0, 9).Draw(r, "park") == 0 {
		c.Parks = []store.Park{{Job: job.ID(m.anyJob(r)), Host: host, Outcome: visit.Failed, Reason: visit.HostParked}}
	}
	if rapid.IntRange(0, 5).Draw(r, "return") == 0 {
		c.Returns = []store.Return{{Job: job.ID(m.anyJob(r)), Tokens: 1, Requests: rapid.IntRange(0, 1).Draw(r, "requests")}}
	}
	c.Errands = rapid.SliceOfN(rapid.Custom(m.anyErrand), 0, 3).Draw(r, "errands")
	c.Ran = rapid.SliceOfN(rapid.Custom(m.anyErrand), 0, 1).Draw(r, "ran")
	m.both(r, "commit", func(ctx context.Context, s *side) (string, error) {
		receipt, err := s.store.Commit(ctx, s.placeCommit(c, found, worker, number, stale, m.now))
		if err != nil && !strings.HasPrefix(class(err), "unexpected") {
			return "refused", nil // it has several faults: which is found first depends on the engine
		}
		return fmt.Sprintf("%+v", receipt), err
	})
}

// placeCommit returns a commit with the jobs, worker and leases of a side.
func (s *side) placeCommit(c store.Commit, found []store.Found, worker, number int, stale bool, now time.Time) store.Commit {
	w := s.workers[worker]
	if number > 0 || w.number == 0 {
		w.number++
	}
	c.Worker, c.Number, c.At, c.Found = w.id, w.number, now, s.placed(found)
	c.Visits, c.Retries = slices.Clone(c.Visits), slices.Clone(c.Retries)
	c.Parks, c.Returns = slices.Clone(c.Parks), slices.Clone(c.Returns)
	for i := range c.Visits {
		c.Visits[i].Item.Job = s.job(int(c.Visits[i].Item.Job))
	}
	for i := range c.Retries {
		c.Retries[i].Visit.Item.Job = s.job(int(c.Retries[i].Visit.Item.Job))
	}
	for i := range c.Parks {
		c.Parks[i].Job = s.job(int(c.Parks[i].Job))
	}
	for i := range c.Returns {
		c.Returns[i].Job = s.job(int(c.Returns[i].Job))
	}
	c.Errands, c.Ran = slices.Clone(c.Errands), slices.Clone(c.Ran)
	for _, list := range [][]store.Errand{c.Errands, c.Ran} {
		for i := range list {
			list[i].Job = s.job(int(list[i].Job))
		}
	}
	for _, slot := range c.Slots(s.store.Key()) {
		l, ok := w.leases[slot]
		if !ok {
			l.Slot = slot
		}
		if stale {
			l.Fence--
		}
		c.Leases = append(c.Leases, l)
	}
	return c
}

// anyErrand draws an errand; its job is an index in the list.
func (m *model) anyErrand(r *rapid.T) store.Errand {
	return store.Errand{Job: job.ID(m.anyJob(r)), URL: anyURL(r), Nested: rapid.IntRange(0, 2).Draw(r, "nested")}
}

func (m *model) errands(r *rapid.T) {
	id, most := m.anyJob(r), rapid.IntRange(0, 3).Draw(r, "most")
	m.both(r, "errands", func(ctx context.Context, s *side) (string, error) {
		var wants []store.Want
		for _, host := range modelHosts {
			wants = append(wants, store.Want{Host: host, Job: s.job(id), Max: most})
		}
		list, err := s.store.Errands(ctx, wants)
		var text []string
		for _, e := range list {
			text = append(text, fmt.Sprint(s.index(e.Job), e.URL, e.Nested))
		}
		return strings.Join(text, "\n"), err
	})
}

func (m *model) heads(r *rapid.T) {
	type want struct{ job, host, max int }
	wants := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) want {
		return want{m.anyJob(r), rapid.IntRange(0, len(modelHosts)-1).Draw(r, "host"), rapid.IntRange(1, 4).Draw(r, "max")}
	}), 1, 4).Draw(r, "wants")
	m.both(r, "heads", func(ctx context.Context, s *side) (string, error) {
		var list []store.Want
		for _, w := range wants {
			list = append(list, store.Want{Host: modelHosts[w.host], Job: s.job(w.job), Max: w.max})
		}
		items, err := s.store.Heads(ctx, m.now, list)
		var text []string
		for _, it := range items {
			text = append(text, s.itemText(it))
		}
		return strings.Join(text, "\n"), err
	})
}

func (s *side) itemText(it visit.Item) string {
	return fmt.Sprint(s.index(it.Job), it.URL, it.Via, it.Found, it.Depth, it.Hops, it.Priority, it.Attempt, it.NotBefore)
}

func (m *model) reserve(r *rapid.T) {
	worker, id, n := m.anyWorker(r), m.anyJob(r), rapid.IntRange(1, 3).Draw(r, "n")
	m.both(r, "reserve", func(ctx context.Context, s *side) (string, error) {
		got, err := s.store.Reserve(ctx, s.workers[worker].id, s.job(id), n)
		return fmt.Sprint(got), err
	})
}

func (m *model) reserveRequests(r *rapid.T) {
	worker, id, n, most := m.anyWorker(r), m.anyJob(r), rapid.IntRange(0, 3).Draw(r, "n"), rapid.Int64Range(0, 12).Draw(r, "max")
	for _, s := range m.sides {
		if _, ok := s.store.(store.Queue); !ok {
			return
		}
	}
	m.both(r, "reserve requests", func(ctx context.Context, s *side) (string, error) {
		got, err := s.store.(store.Queue).ReserveRequests(ctx, store.Reservation{Worker: s.workers[worker].id, Job: s.job(id), Max: most, MaxBytes: 2 * most, N: n, Bytes: int64(n)})
		return fmt.Sprint(got), err
	})
}

func (m *model) join(r *rapid.T) {
	if len(m.sides[0].workers) >= 4 {
		return
	}
	m.both(r, "join", func(ctx context.Context, s *side) (string, error) {
		id, err := s.store.Join(ctx, m.now, "w")
		s.workers = append(s.workers, &modelWorker{id: id, leases: map[store.Slot]store.Lease{}})
		return "", err
	})
	m.acquireFor(r, len(m.sides[0].workers)-1)
}

func (m *model) acquire(r *rapid.T) { m.acquireFor(r, m.anyWorker(r)) }

func (m *model) acquireFor(r *rapid.T, worker int) {
	m.both(r, "acquire", func(ctx context.Context, s *side) (string, error) {
		w := s.workers[worker]
		leases, err := s.store.Acquire(ctx, m.now, w.id, store.SlotCount)
		clean := 0
		for _, l := range leases {
			w.leases[l.Slot] = l
			if l.Clean {
				clean++
			}
		}
		return fmt.Sprint(len(leases), clean), err
	})
}

func (m *model) leave(r *rapid.T) {
	worker := m.anyWorker(r)
	m.both(r, "leave", func(ctx context.Context, s *side) (string, error) {
		return "", s.store.Leave(ctx, s.workers[worker].id)
	})
}

func (m *model) renew(r *rapid.T) {
	worker := m.anyWorker(r)
	m.both(r, "renew", func(ctx context.Context, s *side) (string, error) {
		return "", s.store.Renew(ctx, s.workers[worker].id)
	})
}

// pass advances the time, in steps of which no sum is close to the 30 s of a take-over: an
// engine counts from when it has read a heartbeat, the model from when it was called.
func (m *model) pass(r *rapid.T) {
	m.now = m.now.Add(rapid.SampledFrom([]time.Duration{overdue / 2, overdue}).Draw(r, "time"))
}

func (m *model) createJob(r *rapid.T) {
	if len(m.sides[0].jobs) >= 4 {
		return
	}
	limit := rapid.SampledFrom([]int64{0, 2, 5}).Draw(r, "limit")
	m.both(r, "create job", func(ctx context.Context, s *side) (string, error) {
		id, err := s.store.CreateJob(ctx, store.Job{Name: "j", State: job.Running, MaxPages: limit, CreatedAt: m.now})
		s.jobs = append(s.jobs, id)
		return "", err
	})
}

func (m *model) setState(r *rapid.T) {
	id := m.anyJob(r)
	step := rapid.SampledFrom([][2]job.State{{job.Running, job.Partial}, {job.Partial, job.Queued}, {job.Running, job.Complete}, {job.Complete, job.Queued}, {job.Queued, job.Running}, {job.Running, job.Paused}, {job.Paused, job.Running}, {job.Running, job.Cancelled}}).Draw(r, "step")
	m.both(r, "set state", func(ctx context.Context, s *side) (string, error) {
		return "", s.store.SetState(ctx, m.now, s.job(id), step[0], step[1], "r")
	})
}

func (m *model) extend(r *rapid.T) {
	id, limit := m.anyJob(r), rapid.SampledFrom([]int64{0, 1, 3, 9}).Draw(r, "limit")
	m.both(r, "extend", func(ctx context.Context, s *side) (string, error) {
		return "", s.store.Extend(ctx, m.now, s.job(id), limit)
	})
}

// askAgain reopens URLs, known or not, some of them twice.
func (m *model) askAgain(r *rapid.T) {
	id, urls := m.anyJob(r), rapid.SliceOfN(rapid.Custom(anyURL), 0, 4).Draw(r, "urls")
	m.both(r, "ask again", func(ctx context.Context, s *side) (string, error) {
		n, err := s.store.Reopen(ctx, m.now, s.job(id), urls)
		return fmt.Sprint(n), err
	})
}

func (m *model) drop(r *rapid.T) {
	if rapid.IntRange(0, 3).Draw(r, "really") > 0 {
		return
	}
	id := m.anyJob(r)
	m.both(r, "drop", func(ctx context.Context, s *side) (string, error) { return "", s.store.Drop(ctx, s.job(id)) })
}

func (m *model) arrivals(r *rapid.T) {
	worker := m.anyWorker(r)
	m.both(r, "arrivals", func(ctx context.Context, s *side) (string, error) {
		list, err := s.store.Arrivals(ctx, s.workers[worker].id, 100)
		var text []string
		for _, a := range list {
			text = append(text, fmt.Sprint(s.index(a.Job), a.Host))
		}
		slices.Sort(text)
		return strings.Join(text, "\n"), err
	})
}

func (m *model) list(r *rapid.T) {
	id := m.anyJob(r)
	outcome := rapid.SampledFrom([]visit.Outcome{"", visit.Pending, visit.Fetched, visit.Skipped}).Draw(r, "outcome")
	host := rapid.SampledFrom([]string{"", modelHosts[0]}).Draw(r, "of host")
	texts := rapid.Bool().Draw(r, "texts")
	m.both(r, "list", func(ctx context.Context, s *side) (string, error) {
		var text []string
		q := store.Query{Job: s.job(id), Outcome: outcome, Host: host, Texts: texts, Links: texts, Max: 3}
		for {
			p, err := s.store.List(ctx, q)
			if err != nil {
				return "", err
			}
			for _, e := range p.Entries {
				text = append(text, s.entryText(e))
			}
			if q.After = p.Next; q.After == "" {
				break
			}
		}
		slices.Sort(text)
		return strings.Join(text, "\n"), nil
	})
}

func (m *model) inlinks(r *rapid.T) {
	id := m.anyJob(r)
	m.both(r, "inlinks", func(ctx context.Context, s *side) (string, error) {
		var text []string
		q := store.InlinkQuery{Job: s.job(id), URL: mustURL(m.t, hub), Max: 3}
		for {
			p, err := s.store.Inlinks(ctx, q)
			if err != nil {
				return "", err
			}
			for _, l := range p.Links {
				text = append(text, fmt.Sprint(l))
			}
			if q.After = p.Next; q.After == "" {
				break
			}
		}
		slices.Sort(text)
		return strings.Join(text, "\n"), nil
	})
}

func (s *side) entryText(e store.Entry) string {
	text := fmt.Sprint(s.itemText(e.Item), e.Outcome, e.Reason, e.SeenAt, e.EndedAt, len(e.Attempts))
	if e.Visit != nil {
		text += fmt.Sprint(s.itemText(e.Visit.Item), e.Visit.Outcome, e.Visit.Reason, e.Visit.Detail)
		if e.Visit.Page.Content != nil {
			text += fmt.Sprintf("%+v", *e.Visit.Page.Content)
		}
		text += fmt.Sprint(e.Visit.Links)
	}
	return text
}

func (m *model) hosts(r *rapid.T) {
	m.both(r, "hosts", func(ctx context.Context, s *side) (string, error) {
		var text []string
		q := store.HostQuery{Slots: allSlots(), Max: 2}
		for {
			p, err := s.store.Hosts(ctx, q)
			if err != nil {
				return "", err
			}
			for _, h := range p.Hosts {
				line := fmt.Sprint(h.Host.Rest, h.Host.Host, string(h.Host.Politeness))
				for _, j := range h.Jobs {
					line += fmt.Sprint(" ", s.index(j.Job))
				}
				text = append(text, line)
			}
			if q.After = p.Next; q.After == "" {
				break
			}
		}
		slices.Sort(text)
		return strings.Join(text, "\n"), nil
	})
}

// reopen closes both stores after all workers have left, and opens them again.
func (m *model) reopen(r *rapid.T) {
	if rapid.IntRange(0, 3).Draw(r, "really") > 0 {
		return
	}
	m.both(r, "leave before closing", func(ctx context.Context, s *side) (string, error) {
		for _, w := range s.workers {
			if err := s.store.Leave(ctx, w.id); err != nil {
				return "", err
			}
		}
		s.workers = nil
		return "", nil
	})
	engine := m.sides[1]
	if err := engine.store.Close(); err != nil {
		r.Fatal(err)
	}
	engine.store = m.open(m.t, m.place, nil)
	m.join(r)
}

// look compares all that can be read about every job and URL.
func (m *model) look(r *rapid.T) {
	for i := range m.sides[0].jobs {
		m.both(r, "look", func(ctx context.Context, s *side) (string, error) {
			c, err := s.store.Counts(ctx, s.job(i))
			if err != nil {
				return "", err
			}
			audit, err := s.store.Audit(ctx, s.job(i))
			if err != nil {
				return "", err
			}
			if !c.Equal(audit) {
				return "", fmt.Errorf("counts %+v, rows %+v", c, audit)
			}
			idle, err := s.store.Idle(ctx, s.job(i))
			if err != nil {
				return "", err
			}
			j, err := s.store.Job(ctx, s.job(i))
			return fmt.Sprint(describe(c), c.Errands, c.Admitted, c.Tokens, idle, j.State, j.MaxPages, j.EndedAt), err
		})
	}
}
