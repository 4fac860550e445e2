package store

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"headway/weburl"
)

// OptOuts is an optional interface of stores that many processes share: the hosts and
// domains that opted out. Workers are notified of a change by [NewOptOuts].
type OptOuts interface {
	// AddOptOut adds a name to the list, and returns its entry; an existing one stays as it
	// is. ErrConflict says that there are MaxOptOuts.
	AddOptOut(ctx context.Context, o OptOut) (entry OptOut, added bool, err error)
	// DropOptOut removes a name from the list; ErrNotFound if it is not there.
	DropOptOut(ctx context.Context, name string) error
	// OptOuts returns the list sorted by name, starting after a name, up to most.
	OptOuts(ctx context.Context, after string, most int) ([]OptOut, error)
	// CoveringOptOut is the name on the list that covers a host: the host itself or its
	// nearest parent domain; empty for none.
	CoveringOptOut(ctx context.Context, hostname string) (string, error)
	// OptOutNames returns all names and a mark of the current list. If mark is that of
	// the current list, no names are returned.
	OptOutNames(ctx context.Context, mark string) (names []string, now string, err error)
}

// MaxOptOuts is how many names the list holds: every worker has it in memory.
const MaxOptOuts = 100_000

// OptOut is a host or domain whose owner asked not to be crawled. It covers all its
// subdomains.
type OptOut struct {
	Name string // as [weburl.URL.Hostname] writes it
	At   time.Time
	By   string // who added it
}

// Check reports why an entry is invalid.
func (o *OptOut) Check() error {
	u, err := weburl.Parse("http://" + o.Name + "/")
	if err != nil || u.Hostname() != o.Name {
		return fmt.Errorf("opt-out %q: not a valid host or domain name", o.Name)
	}
	return nil
}

// Names is a set of hosts and domains.
type Names map[string]struct{}

// NewNames makes a set.
func NewNames(list []string) Names {
	n := make(Names, len(list))
	for _, name := range list {
		n[name] = struct{}{}
	}
	return n
}

// Covering is the host, or its nearest parent domain, that is in the set; empty for none.
func (n Names) Covering(host string) string {
	for name := range Above(host) {
		if _, ok := n[name]; ok {
			return name
		}
	}
	return ""
}

// Above iterates over a host and its parent domains, the nearest first.
func Above(host string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for host != "" && yield(host) {
			_, host, _ = strings.Cut(host, ".")
		}
	}
}
