package headway_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"headway/store"
	"headway/store/memory"
	"headway/weburl"
)

// board is what processes on one machine share: who owns a domain, who waits for it, and
// the last state of its hosts. Each query takes a while.
type board struct {
	mu     sync.Mutex
	random *rand.Rand
	owner  map[string]*member
	queue  map[string][]*member
	hosts  map[string]store.Host
	moves  int
	slow   time.Duration // maximum of half the duration of a query
	beats  map[*member]time.Time
	losses map[*member][]string // to be reported
	lost   map[*member]map[string]bool
	taken  int
}

// newBoard returns a board whose queries take up to twice this time.
func newBoard(seed uint64, slow time.Duration) *board {
	return &board{
		random: rand.New(rand.NewPCG(seed, 0)), slow: slow, owner: map[string]*member{}, queue: map[string][]*member{}, hosts: map[string]store.Host{},
		beats: map[*member]time.Time{}, losses: map[*member][]string{}, lost: map[*member]map[string]bool{},
	}
}

// take lets a random while pass.
func (b *board) take() {
	b.mu.Lock()
	wait := time.Duration(b.random.Int64N(int64(b.slow)))
	b.mu.Unlock()
	time.Sleep(wait) // virtual time
}

// member is the store of one process.
type member struct {
	store.Store
	t      *testing.T
	board  *board
	asking sync.Mutex // one query at a time
	stop   *stop      // nil: it is never suspended
}

func (m *member) alone() func() {
	if !m.asking.TryLock() {
		m.t.Error("a question while another was under way")
		return func() {}
	}
	return m.asking.Unlock
}

func (m *member) Claim(_ context.Context, _ time.Time, domains []string) (store.Claim, error) {
	defer m.alone()()
	defer m.stop.wait()
	m.stop.wait()
	m.board.take()
	defer m.board.take()
	m.board.mu.Lock()
	defer m.board.mu.Unlock()
	var claim store.Claim
	for _, d := range domains {
		queue := m.board.queue[d]
		if o := m.board.owner[d]; len(queue) == 0 || queue[0] == m {
			switch {
			case o == nil:
				m.board.owner[d] = m
			case o != m && time.Since(m.board.beats[o]) >= store.DefaultTerms.TakeOver:
				m.board.owner[d] = m
				m.board.losses[o] = append(m.board.losses[o], d)
				if m.board.lost[o] == nil {
					m.board.lost[o] = map[string]bool{}
				}
				m.board.lost[o][d] = true
				claim.Unclean = append(claim.Unclean, d)
				m.board.taken++
			}
		}
		if m.board.owner[d] != m {
			if !slices.Contains(queue, m) {
				m.board.queue[d] = append(queue, m)
			}
			continue
		}
		m.board.queue[d] = slices.DeleteFunc(queue, func(q *member) bool { return q == m })
		claim.Granted = append(claim.Granted, d)
		delete(m.board.lost[m], d)
		for name, h := range m.board.hosts {
			if u, err := store.ParseHost(name); err == nil && u.Domain() == d {
				claim.Hosts = append(claim.Hosts, h)
			}
		}
	}
	return claim, nil
}

func (m *member) Wanted(context.Context, time.Time) ([]string, error) {
	defer m.alone()()
	m.stop.wait()
	m.board.take()
	defer m.board.take()
	m.board.mu.Lock()
	defer m.board.mu.Unlock()
	var list []string
	for d, o := range m.board.owner {
		if o == m && len(m.board.queue[d]) > 0 {
			list = append(list, d)
		}
	}
	return list, nil
}

func (m *member) Keep(context.Context) ([]string, error) {
	m.stop.wait()
	m.board.mu.Lock()
	defer m.board.mu.Unlock()
	m.board.beats[m] = time.Now()
	lost := m.board.losses[m]
	delete(m.board.losses, m)
	return lost, nil
}

func (m *member) Yield(_ context.Context, _ time.Time, domains []string, hosts []store.Host) error {
	defer m.alone()()
	m.stop.wait()
	m.board.take()
	defer m.board.take()
	m.board.mu.Lock()
	defer m.board.mu.Unlock()
	if err := m.put(hosts); err != nil {
		return err
	}
	for _, d := range domains {
		if m.board.owner[d] != m {
			continue
		}
		m.board.owner[d] = nil
		m.board.moves++
		if q := m.board.queue[d]; len(q) > 0 {
			m.board.owner[d], m.board.queue[d] = q[0], q[1:]
		}
	}
	return nil
}

// put stores hosts, which the process must own.
func (m *member) put(hosts []store.Host) error {
	for _, h := range hosts {
		u, err := store.ParseHost(h.Host)
		if err != nil {
			return err
		}
		if m.board.lost[m][u.Domain()] {
			continue
		}
		if m.board.owner[u.Domain()] != m {
			return fmt.Errorf("%s is another's: %w", h.Host, store.ErrFenced)
		}
		if old := m.board.hosts[h.Host]; old.LastSent.After(h.LastSent) {
			m.t.Errorf("%s: last sent at %v, after %v was stored before", h.Host, h.LastSent, old.LastSent)
		}
		m.board.hosts[h.Host] = h
	}
	return nil
}

func (m *member) Commit(ctx context.Context, c store.Commit) (store.Receipt, error) {
	m.stop.wait()
	m.board.take()
	m.board.mu.Lock()
	changed := slices.DeleteFunc(slices.Clone(c.Hosts), func(h store.Host) bool { return h.Change == store.Same })
	err := m.put(changed)
	m.board.mu.Unlock()
	if err != nil {
		return store.Receipt{}, err
	}
	return m.Store.Commit(ctx, c)
}

// TestShare lets two crawls of the same hosts take turns. The hosts see one crawler at a
// time, at their pace.
func TestShare(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { share(t, seed) })
		})
	}
}

func share(t *testing.T, seed uint64) {
	const hosts, pages, crawls, delay = 3, 8, 2, 300 * time.Millisecond
	temper := small(pages)
	temper.Site.CrawlDelay = delay
	s := newSimulated(t, hosts, temper)
	b := newBoard(seed, 400*time.Millisecond)
	s.cfg.Policy = preset("owned")
	s.cfg.Policy.Jitter = 0
	s.cfg.Owned = func(weburl.URL) bool { return true }
	var wg sync.WaitGroup
	for range crawls {
		cfg := s.cfg
		cfg.Store = &member{Store: memory.Open(memory.Config{}), t: t, board: b}
		wg.Go(func() {
			r, err := cfg.run(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			s.fetched(r, hosts*pages)
		})
	}
	wg.Wait()
	total := s.web.Stats().Total
	if total.PageAnswers != crawls*hosts*pages {
		t.Errorf("%d pages were answered, want %d", total.PageAnswers, crawls*hosts*pages)
	}
	if total.MaxConcurrent > 1 {
		t.Errorf("%d requests at once", total.MaxConcurrent)
	}
	if gap := time.Duration(total.MinGapMS * float64(time.Millisecond)); gap < delay {
		t.Errorf("the smallest gap is %v, want %v", gap, delay)
	}
	if b.moves < 2*hosts {
		t.Errorf("domains changed hands %d times: the test is too easy", b.moves)
	}
	for d, o := range b.owner {
		if o != nil {
			t.Errorf("%s was not given up", d)
		}
	}
}
