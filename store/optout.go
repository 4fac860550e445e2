package store

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"headway/weburl"
)

// OptOuts is a further ability of stores that many processes share: who asked not
// to be crawled. Workers hear of a change by [NewOptOuts].
type OptOuts interface {
	// AddOptOut puts a name on the list, and returns its entry: one that is there
	// already stays as it is. ErrConflict says that there are MaxOptOuts.
	AddOptOut(ctx context.Context, o OptOut) (entry OptOut, added bool, err error)
	// DropOptOut takes a name off the list, or says ErrNotFound.
	DropOptOut(ctx context.Context, name string) error
	// OptOuts returns the list by name, from after a name on, not more than most.
	OptOuts(ctx context.Context, after string, most int) ([]OptOut, error)
	// CoveringOptOut is the name on the list that speaks for a host, the host's own
	// or the nearest above it; empty for none.
	CoveringOptOut(ctx context.Context, hostname string) (string, error)
	// OptOutNames returns all names and a mark of the list as it is now. Whoever
	// has read the list with that mark is told no names.
	OptOutNames(ctx context.Context, mark string) (names []string, now string, err error)
}

// MaxOptOuts is how many names the list holds: every worker has it in memory.
const MaxOptOuts = 100_000

// OptOut is a host or domain whose owner asked not to be crawled. It stands for
// itself and all names below it.
type OptOut struct {
	Name string // as [weburl.URL.Hostname] writes it
	At   time.Time
	By   string // who put it on the list
}

// Check reports what makes an entry impossible to store.
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

// Covering is the host, or the nearest name above it, that is in the set; empty for
// none.
func (n Names) Covering(host string) string {
	for name := range Above(host) {
		if _, ok := n[name]; ok {
			return name
		}
	}
	return ""
}

// Above are a host and the names above it, the nearest first.
func Above(host string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for host != "" && yield(host) {
			_, host, _ = strings.Cut(host, ".")
		}
	}
}
