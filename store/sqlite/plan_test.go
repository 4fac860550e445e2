package sqlite

import (
	"database/sql/driver"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"headway/store"
	"headway/visit"
)

// mayScan are statements that read a whole table on purpose.
var mayScan = map[string]bool{
	"auditWaiting": true, "auditEnded": true, "auditAside": true, "auditSeen": true,
}

// TestPlans checks that every statement on the tables of a job uses an index: a changed
// query plan would cost a full scan per commit.
func TestPlans(t *testing.T) {
	s := openTest(t, t.TempDir(), nil)
	o := newOwner(t, s, 0)
	if err := s.w.script(t.Context(), forJob(contentSchema+";"+linksSchema, o.job)); err != nil { // created with the first text and links
		t.Fatal(err)
	}
	v := reflect.ValueOf(s.jobs[o.job]).Elem()
	checked := 0
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		var queries []string
		switch f := v.Field(i); f.Kind() {
		case reflect.String:
			queries = append(queries, f.String())
		case reflect.Struct:
			for k := range len(bulkSizes) {
				queries = append(queries, f.FieldByName("queries").Index(k).String())
			}
		default:
			continue
		}
		for _, q := range queries {
			if strings.HasPrefix(q, "exists") || strings.HasPrefix(q, "(") {
				q = "select " + q + " from host h where h.host = ''" // a part of a statement
			}
			checked++
			for _, step := range plan(t, s.w, q) {
				table, ok := strings.CutPrefix(step, "SCAN ")
				if !ok || mayScan[name] {
					continue
				}
				switch strings.Fields(table)[0] {
				case "w", "CONSTANT", "json_each":
				default:
					if !strings.Contains(table, "-ROW VALUES") && !strings.Contains(table, "CONSTANT ROWS") && !bounded(step, name) {
						t.Errorf("%s scans %s\n%s", name, table, brief(q))
					}
				}
			}
		}
	}
	if checked < 60 {
		t.Errorf("only %d statements were looked at", checked)
	}
}

// TestLimits: no limit of a statement is a bare parameter, because SQLite would plan the
// statement again in each execution.
func TestLimits(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	limits := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		limits += strings.Count(string(source), "limit 0 + ?")
		for i, line := range strings.Split(string(source), "\n") {
			if strings.Contains(line, "limit ?") {
				t.Errorf("%s:%d: write the limit as 0 + ?", name, i+1)
			}
		}
	}
	if limits == 0 {
		t.Error("no statement has a limit")
	}
}

// TestWantedPlan: what other crawls want is read twice a second, at a cost that does not grow
// with the domains this crawl owns.
func TestWantedPlan(t *testing.T) {
	s := openShares(t, filepath.Join(t.TempDir(), "hosts.db"), nil)
	steps := plan(t, s.shared.c, wantedDomains)
	if len(steps) == 0 || !strings.HasPrefix(steps[0], "SCAN r") {
		t.Errorf("the plan does not begin with the requests: %q", steps)
	}
}

// bounded reports whether a scan stops at the first row.
func bounded(step, name string) bool {
	return name == "idle" && strings.HasPrefix(step, "SCAN queue_")
}

// plan returns the steps of a statement.
func plan(t *testing.T, c *conn, query string) []string {
	t.Helper()
	args := make([]driver.Value, max(strings.Count(query, "?"), 4))
	var steps []string
	err := c.query(t.Context(), "explain query plan "+query, args, func(row []driver.Value) error {
		steps = append(steps, text(row[3]))
		return nil
	})
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	c.forget()
	return steps
}

// TestRankSQL compares the rank in SQL with that in Go.
func TestRankSQL(t *testing.T) {
	s := openTest(t, t.TempDir(), nil)
	for _, path := range []string{"/", "/?", "/x", "/?q=1"} {
		for _, depth := range []int{0, 1, 65534, 65535, 65536, 1 << 30} {
			for _, priority := range []int{-1000, -127, -1, 0, 10, 127, 128} {
				u := mustURL(t, "http://a.example"+path)
				want := store.Rank(&visit.Item{URL: u, Depth: depth, Priority: priority})
				var got int64
				query := fmt.Sprintf("select %s from (select ?1 as path, ?2 as depth, ?3 as priority) u", rankSQL)
				if _, err := s.w.one(t.Context(), query, []driver.Value{u.PathQuery(), int64(depth), int64(priority)}, &got); err != nil {
					t.Fatal(err)
				}
				if got != int64(want) {
					t.Errorf("%s, depth %d, priority %d: %d, want %d", path, depth, priority, got, want)
				}
			}
		}
	}
}
