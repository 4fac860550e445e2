package postgres

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/jackc/pgx/v5"

	"headway/store"
)

var _ store.AddressLoads = (*Store)(nil)

// ShareAddressLoad implements [store.AddressLoads].
func (s *Store) ShareAddressLoad(ctx context.Context, w store.WorkerID, mine []store.AddressLoad) ([]store.AddressLoad, error) {
	if err := store.CheckAddressLoads(mine); err != nil {
		return nil, err
	}
	addresses, hosts := make([]netip.Addr, len(mine)), make([]int32, len(mine))
	for i, m := range mine {
		addresses[i], hosts[i] = m.Address, int32(m.Hosts)
	}
	var others []store.AddressLoad
	err := s.change(ctx, func(ctx context.Context, c *change) error {
		others = nil
		c.queue("select from worker where id = $1 for key share", w).QueryRow(func(row pgx.Row) error {
			if err := row.Scan(); noRows(err) {
				return store.ErrFenced
			} else if err != nil {
				return err
			}
			return nil
		})
		if err := c.send(ctx); err != nil {
			return err
		}
		c.exec("delete from crowd where worker = $1 and not address = any($2)", w, addresses)
		c.exec(`insert into crowd (worker, address, hosts) select $1, * from unnest($2::inet[], $3::integer[])
			on conflict (address, worker) do update set hosts = excluded.hosts where crowd.hosts <> excluded.hosts`, w, addresses, hosts)
		var sum store.AddressLoad
		c.queue("select address, sum(hosts) from crowd where address = any($2) and worker <> $1 group by address order by address", w, addresses).
			Query(rows([]any{&sum.Address, &sum.Hosts}, func() error { others = append(others, sum); return nil }))
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("worker %d shares its address load: %w", w, err)
	}
	return others, nil
}
