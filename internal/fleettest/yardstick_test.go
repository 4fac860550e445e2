package fleettest

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"headway/internal/pgtest"
)

// yardstick is a second PostgreSQL server, which inserts rows while a fleet uses the first
// one. The processor time of a page varies with the machine and its other load; divided by
// that of a row in the same interval, it varies much less.
type yardstick struct {
	*testing.T
	db    *pgtest.Cluster
	conn  *pgx.Conn
	began time.Duration // processor time of the server at the last reset
	rows  int64         // inserted since then
}

// newYardstick starts the server. Autovacuum would add its own processor time.
func newYardstick(t *testing.T) *yardstick {
	t.Helper()
	y := &yardstick{T: t, db: pgtest.StartFor(t, pgtest.Config{Settings: []string{"autovacuum=off"}})}
	var err error
	if y.conn, err = pgx.Connect(t.Context(), y.db.DSN("postgres")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = y.conn.Close(context.Background()) }) // the server ends next
	y.exec("create table yardstick (key text primary key, other text not null, data text not null)")
	y.exec("create index on yardstick (other)")
	y.insert() // fills caches
	return y
}

// reset starts a measurement.
func (y *yardstick) reset() {
	y.Helper()
	y.began, y.rows = cpuOf(y.T, y.db), 0
}

// insert adds 5,000 rows in one transaction, each at a random place of both indexes. The
// table is emptied at 100,000 rows. Called twice a second, this takes 5 to 10 % of a processor.
func (y *yardstick) insert() {
	y.Helper()
	const batch, most = 5000, 100_000
	inside := y.rows % most
	if inside == 0 {
		y.exec("truncate yardstick")
	}
	y.exec("insert into yardstick select md5(i::text), md5((-i)::text), repeat('x', 200) from generate_series($1::bigint + 1, $1 + $2) i", inside, batch)
	y.rows += batch
}

// row is the processor time of one row since the last reset.
func (y *yardstick) row() time.Duration {
	y.Helper()
	return (cpuOf(y.T, y.db) - y.began) / time.Duration(y.rows)
}

func (y *yardstick) exec(sql string, args ...any) {
	y.Helper()
	if _, err := y.conn.Exec(y.Context(), sql, args...); err != nil {
		y.Fatal(err)
	}
}
