package guard

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"github.com/miekg/dns"
)

const (
	resolvConf = "/etc/resolv.conf"
	// resolvConfAge is how long a parsed resolv.conf is used: machines change
	// networks during a crawl.
	resolvConfAge = 5 * time.Second
	// tryTimeout limits one question to one name server.
	tryTimeout = 2 * time.Second
	// tryRounds is how often the list of name servers is tried.
	tryRounds = 2
	// familyGrace is how long the answer for one address family waits for the other
	// (RFC 8305 says 50 ms; a crawler has time for the complete answer).
	familyGrace = 250 * time.Millisecond
	// systemTTL is the TTL assumed for answers of the system's resolver, which does
	// not report one.
	systemTTL = time.Minute
	// udpSize is the largest answer that is not fragmented.
	udpSize = 1232
)

// resolver queries name servers over UDP and TCP.
type resolver struct {
	family Family
	fixed  string // the configured name server, or "" for those of the system

	mu      sync.Mutex
	servers []string
	read    time.Time // when servers was read
}

func newResolver(cfg Config) *resolver {
	return &resolver{family: cfg.IP, fixed: cfg.Resolver}
}

// lookup queries each name server in turn until one gives a definite answer:
// addresses, or that there are none.
func (r *resolver) lookup(ctx context.Context, host string) (Answer, error) {
	servers, err := r.nameServers()
	if err != nil {
		return Answer{}, &DNSError{Host: host, Kind: Unreachable, Err: err}
	}
	if len(servers) == 0 {
		return r.systemLookup(ctx, host)
	}
	var last *DNSError
	for range tryRounds {
		for _, server := range servers {
			answer, failure := r.ask(ctx, server, host)
			if failure == nil {
				return answer, nil
			}
			if failure.Definite() || ctx.Err() != nil {
				return answer, failure
			}
			last = failure
		}
	}
	return Answer{}, last
}

// nameServers returns the name servers, as IP:PORT. It fails only when there is no
// file descriptor to read resolv.conf.
func (r *resolver) nameServers() ([]string, error) {
	if r.fixed != "" {
		return []string{r.fixed}, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.read.IsZero() || time.Since(r.read) > resolvConfAge {
		// Keep the last list if the file cannot be read now, or is empty while the
		// network changes.
		servers, err := readResolvConf(resolvConf)
		if NoDescriptor(err) && len(r.servers) == 0 {
			return nil, err
		}
		r.read = time.Now()
		if len(servers) > 0 {
			r.servers = servers
		}
	}
	return r.servers, nil
}

func readResolvConf(path string) ([]string, error) {
	conf, err := dns.ClientConfigFromFile(path)
	if err != nil {
		return nil, err
	}
	var servers []string
	for _, s := range conf.Servers {
		servers = append(servers, net.JoinHostPort(s, conf.Port))
	}
	return servers, nil
}

// systemLookup uses the platform's own resolver, without its search list.
func (r *resolver) systemLookup(ctx context.Context, host string) (Answer, error) {
	network := map[Family]string{Auto: "ip", IPv4: "ip4", IPv6: "ip6"}[r.family]
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, network, host+".")
	if err == nil {
		for i, a := range addrs {
			addrs[i] = a.Unmap() // the platform hands IPv4 out in mapped form
		}
		return Answer{Addrs: addrs, TTL: systemTTL}, nil
	}
	failure := &DNSError{Host: host, Kind: ServFail, Err: err}
	if cause, ok := errors.AsType[*net.DNSError](err); ok {
		switch {
		case cause.IsNotFound:
			failure.Kind, failure.Err = NXDomain, nil
		case cause.IsTimeout:
			failure.Kind = Timeout
		}
	}
	return Answer{TTL: systemTTL}, failure
}

// ask queries one name server for the configured families over one socket, and
// merges the answers.
func (r *resolver) ask(ctx context.Context, server, host string) (Answer, *DNSError) {
	types := map[Family][]uint16{
		Auto: {dns.TypeA, dns.TypeAAAA}, IPv4: {dns.TypeA}, IPv6: {dns.TypeAAAA},
	}[r.family]
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	replies, err := exchange(ctx, server, host, types)
	var join joined
	for _, reply := range replies {
		join.add(reply)
	}
	switch {
	case len(join.addrs) > 0:
		return Answer{Addrs: join.addrs, TTL: join.ttl()}, nil
	case join.nxdomain:
		return Answer{TTL: join.negativeTTL()}, &DNSError{Host: host, Kind: NXDomain}
	case len(replies) == len(types) && join.failed == "":
		return Answer{TTL: join.negativeTTL()}, &DNSError{Host: host, Kind: NoAddress}
	case join.failed != "":
		return Answer{}, &DNSError{Host: host, Kind: ServFail, Err: errors.New(join.failed)}
	case ctx.Err() != nil || isTimeout(err):
		return Answer{}, &DNSError{Host: host, Kind: Timeout, Err: err}
	default:
		return Answer{}, &DNSError{Host: host, Kind: Unreachable, Err: err}
	}
}

func isTimeout(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		return true
	}
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout()
}

// exchange sends one question per type and collects the replies that arrive.
// Once addresses are known the missing reply gets familyGrace.
func exchange(ctx context.Context, server, host string, types []uint16) ([]*dns.Msg, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "udp", server)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()

	open := map[uint16]*dns.Msg{} // questions without a reply, by type
	for _, t := range types {
		q := question(host, t)
		packed, err := q.Pack()
		if err != nil {
			return nil, fmt.Errorf("question for %q: %w", host, err)
		}
		if _, err := conn.Write(packed); err != nil {
			return nil, err
		}
		open[t] = q
	}
	var replies []*dns.Msg
	buf := make([]byte, dns.MaxMsgSize)
	for len(open) > 0 {
		size, err := conn.Read(buf)
		if err != nil {
			return replies, err
		}
		reply := new(dns.Msg)
		// Ignore a reply that does not parse or answers another question: it may be
		// forged, and the right reply may follow.
		if reply.Unpack(buf[:size]) != nil || len(reply.Question) != 1 {
			continue
		}
		q := open[reply.Question[0].Qtype]
		if q == nil || !answers(reply, q) {
			continue
		}
		if reply.Truncated {
			if reply, err = exchangeTCP(ctx, server, q); err != nil {
				return replies, err
			}
		}
		delete(open, q.Question[0].Qtype)
		replies = append(replies, reply)
		if len(open) > 0 && hasAddress(reply) {
			if err := conn.SetReadDeadline(time.Now().Add(familyGrace)); err != nil {
				return replies, err
			}
		}
	}
	return replies, nil
}

// exchangeTCP repeats a truncated query over TCP.
func exchangeTCP(ctx context.Context, server string, q *dns.Msg) (*dns.Msg, error) {
	client := dns.Client{Net: "tcp", Timeout: tryTimeout}
	reply, _, err := client.ExchangeContext(ctx, q, server)
	if err != nil {
		return nil, err
	}
	if !answers(reply, q) || reply.Truncated {
		return nil, errors.New("DNS server answered a different question")
	}
	return reply, nil
}

func question(host string, t uint16) *dns.Msg {
	q := new(dns.Msg)
	q.SetQuestion(dns.Fqdn(host), t)
	q.SetEdns0(udpSize, false)
	return q
}

// answers reports whether reply belongs to q.
func answers(reply, q *dns.Msg) bool {
	return reply.Response && reply.Id == q.Id && len(reply.Question) == 1 &&
		reply.Question[0].Qtype == q.Question[0].Qtype &&
		reply.Question[0].Qclass == q.Question[0].Qclass &&
		dns.CanonicalName(reply.Question[0].Name) == dns.CanonicalName(q.Question[0].Name)
}

func hasAddress(m *dns.Msg) bool {
	var j joined
	j.add(m)
	return len(j.addrs) > 0
}

// joined collects what the replies for one name say.
type joined struct {
	addrs    []netip.Addr
	nxdomain bool
	failed   string // a reply without a definite answer
	least    uint32 // smallest TTL
	seen     bool   // least is set
	negative uint32 // TTL of a negative answer, from the SOA record
	hasSOA   bool
}

func (j *joined) add(m *dns.Msg) {
	switch m.Rcode {
	case dns.RcodeSuccess:
	case dns.RcodeNameError:
		j.nxdomain = true
	default:
		j.failed = dns.RcodeToString[m.Rcode]
		if j.failed == "" {
			j.failed = fmt.Sprintf("code %d", m.Rcode)
		}
		return
	}
	for _, rr := range m.Answer {
		switch rr := rr.(type) {
		case *dns.A:
			if a, ok := netip.AddrFromSlice(rr.A.To4()); ok {
				j.addrs = append(j.addrs, a)
			}
		case *dns.AAAA:
			// A mapped address is kept as it is: no legitimate record contains one.
			if a, ok := netip.AddrFromSlice(rr.AAAA); ok {
				j.addrs = append(j.addrs, a)
			}
		case *dns.CNAME:
		default:
			continue
		}
		if ttl := rr.Header().Ttl; !j.seen || ttl < j.least {
			j.least, j.seen = ttl, true
		}
	}
	for _, rr := range m.Ns {
		if soa, ok := rr.(*dns.SOA); ok {
			j.negative, j.hasSOA = min(soa.Minttl, soa.Hdr.Ttl), true
		}
	}
}

func (j *joined) ttl() time.Duration { return time.Duration(j.least) * time.Second }

// defaultNegativeTTL is the TTL of a negative answer without a SOA record.
const defaultNegativeTTL = 30 * time.Second

func (j *joined) negativeTTL() time.Duration {
	if !j.hasSOA {
		return defaultNegativeTTL
	}
	return time.Duration(j.negative) * time.Second
}
