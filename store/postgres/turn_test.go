package postgres

import (
	"encoding/json"
	"strconv"
	"testing"

	"headway/job"
)

// TestTurnReadsLittle checks that the place of a job in a long queue is found without reading
// the queue, also by a plan that was made while the queue was empty.
func TestTurnReadsLittle(t *testing.T) {
	const jobs = 5000
	s := openTest(t, t.TempDir(), nil)
	defer s.Close()
	ctx := t.Context()
	conn, err := s.pool.Acquire(ctx)
	fatal(t, err)
	defer conn.Release()
	for _, do := range []string{
		"prepare turn (integer) as " + queueTurn,
		"execute turn (1)",
		"insert into job (shelf, tenant, name, state, reason, max_pages, spec, created_at, layers, since, settings, turn) select 0, 'acme', '', 'queued', '', 3, '', 1, '[]', 0, 0, nextval('turn') from generate_series(1, " + strconv.Itoa(jobs) + ")",
	} {
		_, err := conn.Exec(ctx, do)
		fatal(t, err)
	}
	for place, want := range map[int]int64{1: 1, 50: 50, jobs - 1: 0} {
		var id int
		fatal(t, conn.QueryRow(ctx, "select id from job order by turn offset $1 limit 1", place-1).Scan(&id))
		got, ok, err := s.Turn(ctx, job.ID(id))
		if fatal(t, err); !ok || got.Place != want {
			t.Errorf("job %d has place %d, want %d", id, got.Place, want)
		}
		var text []byte
		fatal(t, conn.QueryRow(ctx, "explain (analyze, format json) execute turn ("+strconv.Itoa(id)+")").Scan(&text))
		var plans []struct{ Plan planNode }
		fatal(t, json.Unmarshal(text, &plans))
		if n := plans[0].Plan.read(); n == 0 || n > 1000 {
			t.Errorf("place %d: %v rows were read:\n%s", place, n, text)
		}
	}
}
