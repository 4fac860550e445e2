package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"headway/store"
)

// KnownHosts is the file of hosts that all crawls of a user share, opened for
// reading. Make one with [OpenHosts].
type KnownHosts struct {
	mu sync.Mutex
	c  *conn
}

// KnownHost is what was learned of a host by whichever crawl came last.
type KnownHost struct {
	Host      store.Host
	ChangedAt time.Time
	// Owner is the process that crawls the host's domain, or did when it ended
	// uncleanly: the name of the machine and a number. Empty for none.
	Owner string
}

// OpenHosts opens the shared file of hosts for reading, also while crawls use
// it. An error that a person can do something about is a [*store.OpenError]; a
// file that is not there, because nothing was ever crawled, is fs.ErrNotExist.
func OpenHosts(ctx context.Context, path string) (*KnownHosts, error) {
	uri, err := hostsSchema.readableURI(ctx, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &store.OpenError{Path: path, Err: err, Hint: "it is made by the first crawl"}
	}
	if err != nil {
		return nil, viewError(path, err)
	}
	c, err := openReading(uri)
	if err != nil {
		return nil, viewError(path, err)
	}
	return &KnownHosts{c: c}, nil
}

const knownQuery = `select h.host, h.politeness, h.robots, h.pace_ms, h.floor_ms, h.hold_until, h.last_sent, null, h.changed_at, p.name
	from host h left join domain d on d.domain = h.domain left join process p on p.id = d.owner where `

// List returns hosts with a name behind after, by name, not more than most.
func (k *KnownHosts) List(ctx context.Context, after string, most int) ([]KnownHost, error) {
	list, err := k.query(ctx, knownQuery+"h.host > ?1 order by h.host limit ?2", after, int64(min(max(most, 0), store.MaxPage)))
	if err != nil {
		return nil, fmt.Errorf("list known hosts: %w", err)
	}
	return list, nil
}

// Host returns what was learned of one host, or ErrNotFound.
func (k *KnownHosts) Host(ctx context.Context, host string) (KnownHost, error) {
	list, err := k.query(ctx, knownQuery+"h.host = ?1", host)
	if err == nil && len(list) == 0 {
		err = store.ErrNotFound
	}
	if err != nil {
		return KnownHost{}, fmt.Errorf("known host %s: %w", host, err)
	}
	return list[0], nil
}

func (k *KnownHosts) query(ctx context.Context, query string, args ...driver.Value) ([]KnownHost, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.c == nil {
		return nil, errClosed
	}
	var list []KnownHost
	err := k.c.query(ctx, query, args, func(row []driver.Value) error {
		list = append(list, KnownHost{Host: scanHost(row), ChangedAt: instant(integer(row[hostWidth])), Owner: text(row[hostWidth+1])})
		return nil
	})
	return list, err
}

// Close closes the file.
func (k *KnownHosts) Close() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.c == nil {
		return nil
	}
	c := k.c
	k.c = nil
	return c.close()
}
