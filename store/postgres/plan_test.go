package postgres

import (
	"encoding/json"
	"testing"
)

// TestPlansOfEmptyTables makes plans while the tables are known to be empty, as after the
// vacuum that follows the end of the only job, and then fills the tables again: the plans
// still look up their few rows one by one.
func TestPlansOfEmptyTables(t *testing.T) {
	s := openBound(t, t.TempDir(), nil, bound{})
	defer s.Close()
	conn, err := s.pool.Acquire(t.Context())
	fatal(t, err)
	defer conn.Release()
	const rows = "generate_series(1, 5000) as g"
	fill := func() {
		for _, text := range []string{
			"insert into url_0 (id, host, seen_at, fp, job, rank, depth, priority, slot, hops, found, path, via) select g, g, 0, md5(g::text)::uuid, 7, 0, 0, 0, 0, 0, 0, '/', '' from " + rows,
			"insert into outcome_0 (id, host, ended_at, fp, job, attempt, slot, ending) select g, g, 0, md5(g::text)::uuid, 7, 0, 0, 26 from " + rows + " where g <> 5",
			"insert into queue_0 (id, host, not_before, fp, job, rank, attempt, slot) select g, g, 0, md5(g::text)::uuid, 7, 0, 0, 0 from " + rows + " where g <> 2",
			"insert into errand_0 (id, host, fp, job, nested, path) select g, g, md5(g::text)::uuid, 7, 0, '/' from " + rows,
		} {
			_, err := s.pool.Exec(t.Context(), text)
			fatal(t, err)
		}
	}
	fill()
	for _, text := range []string{"delete from url_0", "delete from outcome_0", "delete from queue_0", "delete from errand_0", "vacuum analyze"} {
		_, err := s.pool.Exec(t.Context(), text)
		fatal(t, err)
	}
	jt := newJobTables(0)
	statements := map[string]struct{ text, args string }{
		"readmit":     {jt.readmit, `('{0}', '{1}', array[md5('1')::uuid], '{7}', '{0}')`},
		"reopen":      {jt.reopen, `(7, '{2}', array[md5('2')::uuid], '{0}')`},
		"endErrands":  {jt.endErrands, `('{3}', '{7}', array[md5('3')::uuid])`},
		"ended":       {jt.end, `(1, '{5}', array[md5('5')::uuid], '{7}', '{0}', '{1}', '{200}', '{x}')`},
		"retry":       {jt.retry, `('{8}', array[md5('8')::uuid], '{7}', '{0}', '{1}', '{5}', '{x}')`},
		"head":        {jt.head, `(1, '{0}', '{6}', '{7}', '{0}', '{1}')`},
		"parkErrands": {jt.parkErrands, `('{4}', '{7}')`},
	}
	for name, st := range statements {
		_, err = conn.Exec(t.Context(), "prepare "+name+" as "+st.text)
		fatal(t, err)
		_, err = conn.Exec(t.Context(), "explain execute "+name+st.args)
		fatal(t, err)
	}
	fill()
	for name, st := range statements {
		var text []byte
		err := conn.QueryRow(t.Context(), "explain (analyze, format json) execute "+name+st.args).Scan(&text)
		fatal(t, err)
		var plans []struct{ Plan planNode }
		fatal(t, json.Unmarshal(text, &plans))
		if n := plans[0].Plan.read(); n == 0 || n > 20 {
			t.Errorf("%s reads %v rows for one URL:\n%s", name, n, text)
		}
	}
}
