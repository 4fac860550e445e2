package simweb_test

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"headway/fetch"
	"headway/fetch/guard"
	"headway/frontier"
	"headway/internal/simweb"
	"headway/politeness"
	"headway/visit"
	"headway/weburl"
)

// world is a running script: the web, the jobs, and their results.
type world struct {
	web   *simweb.Web
	gate  *gate
	begin time.Time
	hosts []*host
	jobs  []*job
	names map[string]*host // by their name in URLs

	mu       sync.Mutex // guards what several crawls write
	trace    trace
	problems []string
}

// host is a host and what jobs want from it.
type host struct {
	name    string
	domain  string
	address string // "" if no other host shares it
	pages   int
	silent  bool // it refuses without Retry-After

	targets []*target // ever wanted
	state   politeness.State
	pace    time.Duration // at the end
}

// job is a requested crawl: its URLs and its policy.
type job struct {
	policy   politeness.Policy
	patience time.Duration
	start    time.Duration // after the crawl began
	hosts    []string
	paths    []string // of each host; nil means all pages
	pages    int      // of each host; 0 means all, unless there are paths
}

// byStart sorts jobs by when they start.
func byStart(jobs []*job) []*job {
	return slices.SortedStableFunc(slices.Values(jobs), func(a, b *job) int { return cmp.Compare(a.start, b.start) })
}

// sharing reports whether two jobs want the same host.
func sharing(jobs []*job) bool {
	wanted := map[string]bool{}
	for _, j := range jobs {
		for _, h := range j.hosts {
			if wanted[h] {
				return true
			}
			wanted[h] = true
		}
	}
	return false
}

// whole reports whether the job wants everything.
func (j *job) whole() bool { return j.paths == nil && j.pages == 0 }

// target is one URL of one job.
type target struct {
	job     *job
	host    *host
	url     weburl.URL
	outcome visit.Outcome
	reason  visit.Reason
	charged bool
}

func (t *target) ended() bool { return t.outcome != visit.Pending }

func newWorld(web *simweb.Web, hosts []*host, jobs []*job) (*world, error) {
	w := &world{web: web, gate: newGate(), begin: time.Now(), hosts: hosts, jobs: jobs, names: map[string]*host{}}
	for _, h := range hosts {
		w.names["http://"+h.name] = h
		for _, j := range jobs {
			if !slices.Contains(j.hosts, h.name) {
				continue
			}
			for _, p := range j.wanted(h) {
				u, err := weburl.Parse("http://" + h.name + p)
				if err != nil {
					return nil, err
				}
				h.targets = append(h.targets, &target{job: j, host: h, url: u, outcome: visit.Pending})
			}
		}
	}
	return w, nil
}

// wanted are the paths that a job wants from a host.
func (j *job) wanted(h *host) []string {
	if j.paths != nil {
		return j.paths
	}
	n := h.pages
	if j.pages > 0 {
		n = min(n, j.pages)
	}
	paths := make([]string, n)
	for i := range paths {
		paths[i] = pagePath(i)
	}
	return paths
}

// pagePath is where the lab keeps page n of a host.
func pagePath(n int) string {
	const sections = 17
	if n == 0 {
		return "/"
	}
	return fmt.Sprintf("/s%d/p%d.html", n%sections, n)
}

// client returns the client of a new process, without connections.
func (w *world) client(timeout time.Duration) (*fetch.Client, error) {
	var pooled netip.Addr // where connections to a shared address end
	for _, h := range w.hosts {
		addr, err := w.web.Lookup(context.Background(), h.name)
		if err != nil {
			return nil, err
		}
		pooled = addr
	}
	private := []guard.Range{{Prefix: netip.MustParsePrefix("127.0.0.0/8")}}
	for _, h := range w.hosts {
		if addr, ok := h.shared(); ok {
			private = append(private, guard.Range{Prefix: netip.PrefixFrom(addr, addr.BitLen())})
		}
	}
	d, err := guard.New(guard.Config{
		AllowPrivate: private, DialTimeout: timeout,
		Lookup: func(ctx context.Context, name string) (guard.Answer, error) {
			addr, err := w.web.Lookup(ctx, name)
			if err != nil {
				return guard.Answer{}, &guard.DNSError{Host: name, Kind: guard.NXDomain, Err: err}
			}
			if h := w.names["http://"+name]; h != nil {
				if shared, ok := h.shared(); ok {
					addr = shared
				}
			}
			return guard.Answer{Addrs: []netip.Addr{addr}, TTL: time.Hour}, nil
		},
		Connect: func(ctx context.Context, at netip.AddrPort) (net.Conn, error) {
			if at.Addr().IsLoopback() {
				return w.web.DialContext(ctx, "tcp", at.String())
			}
			conn, err := w.web.DialContext(ctx, "tcp", netip.AddrPortFrom(pooled, at.Port()).String())
			if err != nil {
				return nil, err
			}
			return sharedConn{conn, net.TCPAddrFromAddrPort(at)}, nil
		},
	})
	if err != nil {
		return nil, err
	}
	return fetch.New(fetch.Config{
		Identity: fetch.Identity{Contact: "crawler@example.com"}, Dialer: d, Timeout: timeout, HeaderTimeout: timeout, IdleTimeout: timeout,
	})
}

// sharedConn is a connection to an address that several hosts share.
type sharedConn struct {
	net.Conn
	remote net.Addr
}

// RemoteAddr is the address that was dialled.
func (c sharedConn) RemoteAddr() net.Addr { return c.remote }

// shared returns the address that a host shares with others, if any.
func (h *host) shared() (netip.Addr, bool) {
	addr, err := netip.ParseAddr(h.address)
	return addr, err == nil
}

// sharedAddresses returns the addresses that hosts share.
func (w *world) sharedAddresses() func(netip.Addr) bool {
	shared := map[netip.Addr]bool{}
	for _, h := range w.hosts {
		if addr, ok := h.shared(); ok {
			shared[addr] = true
		}
	}
	return func(addr netip.Addr) bool { return shared[addr] }
}

// watch records what a schedule does. The states of hosts are the account of one life.
func (w *world) watch(l *life) frontier.Trace {
	return frontier.Trace{
		Taken: func(now time.Time, r frontier.Request, p frontier.Promise) {
			w.mu.Lock()
			defer w.mu.Unlock()
			path := "/robots.txt"
			if r.Kind == frontier.Page {
				path = r.Item.URL.PathQuery()
			}
			w.trace.send(w.names[r.Host], path, now, p)
		},
		Settled: func(now time.Time, r frontier.Request, e politeness.Effect) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.trace.effect(w.names[r.Host], now, e)
			_, w.names[r.Host].pace = e.Pace()
		},
		Moved: func(now time.Time, name string, from, to frontier.State) {
			l.moves = append(l.moves, move{w.names[name], now, from, to})
		},
	}
}

// number is the number of the last request decided for a URL.
func (w *world) number(u weburl.URL) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	h, path := w.names[u.Host()], u.PathQuery()
	for _, s := range slices.Backward(w.trace.sends) {
		if s.host == h && s.path == path {
			return s.number
		}
	}
	return 0
}

// ended records a finished life.
func (w *world) ended(l *life) {
	spent, problems := l.spent()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.trace.shares(spent)
	w.trace.moves = append(w.trace.moves, l.moves...)
	w.problems = append(w.problems, problems...)
}

func (w *world) problem(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.problems = append(w.problems, fmt.Sprintf("%v: ", time.Since(w.begin))+fmt.Sprintf(format, args...))
}
