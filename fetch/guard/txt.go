package guard

import (
	"context"
	"errors"
	"net"
	"strings"

	"github.com/miekg/dns"
)

// maxTXT limits the TXT records read for a name.
const maxTXT = 100

// LookupTXT returns the TXT records of a name, used to prove ownership. They count towards
// the lookup limits and are not cached.
func (d *Dialer) LookupTXT(ctx context.Context, name string) ([]string, error) {
	host, addr, why := readHost(name)
	if why != "" || addr.IsValid() {
		return nil, &DNSError{Host: name, Kind: NXDomain}
	}
	if err := d.lookups.enter(ctx); err != nil {
		return nil, err
	}
	defer d.lookups.leave()
	ctx, cancel := context.WithTimeout(ctx, d.cfg.LookupTimeout)
	defer cancel()
	return d.resolver.lookupTXT(ctx, host)
}

// lookupTXT queries each name server in turn until one answers.
func (r *resolver) lookupTXT(ctx context.Context, name string) ([]string, error) {
	servers, err := r.nameServers()
	if err != nil {
		return nil, &DNSError{Host: name, Kind: Unreachable, Err: err}
	}
	if len(servers) == 0 {
		return net.DefaultResolver.LookupTXT(ctx, name+".")
	}
	var last error
	for _, server := range servers {
		texts, err := queryTXT(ctx, server, name)
		if err == nil {
			return texts, nil
		}
		last = err
	}
	return nil, last
}

// queryTXT queries one name server.
func queryTXT(ctx context.Context, server, name string) (texts []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	replies, err := exchange(ctx, server, name, []uint16{dns.TypeTXT})
	if err != nil {
		return nil, &DNSError{Host: name, Kind: Unreachable, Err: err}
	}
	for _, m := range replies {
		switch m.Rcode {
		case dns.RcodeSuccess:
		case dns.RcodeNameError:
			return nil, &DNSError{Host: name, Kind: NXDomain}
		default:
			return nil, &DNSError{Host: name, Kind: ServFail, Err: errors.New(dns.RcodeToString[m.Rcode])}
		}
		for _, rr := range m.Answer {
			if t, ok := rr.(*dns.TXT); ok && len(texts) < maxTXT {
				texts = append(texts, strings.Join(t.Txt, ""))
			}
		}
	}
	return texts, nil
}
