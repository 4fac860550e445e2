package postgres_test

import (
	"context"
	"fmt"

	"headway/store"
	"headway/store/postgres"
)

// A worker of a fleet names the primary and its standby, so that it finds the
// primary also after a failover.
func ExampleOpen() {
	ctx := context.Background()
	s, err := postgres.Open(ctx, postgres.Config{
		DSN: "postgres://headway@db1,db2/headway?target_session_attrs=read-write&pool_max_conns=8",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	var _ store.Store = s
}
