package fleettest

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// stamp is a stored page: when its request was sent, by the clock of the worker that
// sent it.
type stamp struct {
	host string
	job  int64
	sent time.Time
}

// sql opens a connection to the database for as long as do takes.
func (f *fleet) sql(do func(*pgx.Conn) error) {
	f.Helper()
	conn, err := pgx.Connect(f.Context(), f.db.DSN("postgres")+"&search_path=headway")
	if err != nil {
		f.Fatal(err)
	}
	defer conn.Close(f.Context())
	if err := do(conn); err != nil {
		f.Fatal(err)
	}
}

// stamps are all page requests with a stored response, by host and in order, from all
// workers.
func (f *fleet) stamps() map[string][]stamp {
	f.Helper()
	list := map[string][]stamp{}
	f.sql(func(conn *pgx.Conn) error {
		rows, err := conn.Query(f.Context(), "select id from shelf")
		if err != nil {
			return err
		}
		shelves, err := pgx.CollectRows(rows, pgx.RowTo[int])
		if err != nil {
			return err
		}
		for _, s := range shelves {
			rows, err := conn.Query(f.Context(), fmt.Sprintf(`select h.name, o.job, o.visit from outcome_%[1]d o join host h on h.id = o.host where o.visit is not null
				union all select h.name, a.job, a.visit from attempt_%[1]d a join url_%[1]d u on u.id = a.url join host h on h.id = u.host`, s))
			if err != nil {
				return err
			}
			var one stamp
			var text string
			_, err = pgx.ForEachRow(rows, []any{&one.host, &one.job, &text}, func() error {
				var v struct {
					Timing struct {
						Sent time.Time `json:"sent"`
					} `json:"timing"`
				}
				if err := json.Unmarshal([]byte(text), &v); err != nil {
					return err
				}
				if one.sent = v.Timing.Sent; !one.sent.IsZero() {
					list[one.host] = append(list[one.host], one)
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	for _, of := range list {
		slices.SortFunc(of, func(a, b stamp) int { return a.sent.Compare(b.sent) })
	}
	return list
}
