package sqlite

import (
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"headway/store"
	"headway/visit"
)

// Queries that people run on a crawl file, each in one line. They are also in the guide.
var questions = []struct{ question, query, answer string }{
	{
		"How did it go?",
		`select outcome, reason, count(*) from urls group by 1, 2 order by 3 desc, 1, 2`,
		"fetched||3\ndead||2\npending||1\nskipped|robots_disallow|1",
	},
	{
		"Which links are dead, and which page contains them?",
		`select url, status, found_on from urls where outcome = 'dead' order by url`,
		"http://a.example/gone|404|http://a.example/\nhttp://b.example/gone|410|http://a.example/about",
	},
	{
		"Which pages were slowest?",
		`select url, ms from urls where ms is not null order by ms desc, url limit 2`,
		"http://a.example/about|950\nhttp://a.example/|30",
	},
	{
		"What is still to be fetched, by host?",
		`select host, count(*) from urls where outcome = 'pending' group by 1`,
		"http://b.example|1",
	},
	{
		"What is the pace (the interval between two requests) of each host, and which hosts pushed back?",
		`select host, pace_ms, floor_ms, datetime(hold_until / 1000, 'unixepoch') from host where pace_ms > 0`,
		"http://a.example|1500|1000|2026-11-15 11:00:00",
	},
	{
		"Which rule of robots.txt excluded a URL?",
		`select url, fact ->> '$.rule' from urls, json_each(visit, '$.evidence') e, evidence where evidence.id = e.value ->> '$.fact' and reason = 'robots_disallow'`,
		"http://a.example/private|Disallow: /private",
	},
}

// TestQuestions runs them with the sqlite3 tool, or with our own driver if there is none.
func TestQuestions(t *testing.T) {
	dir := t.TempDir()
	askable(t, dir)
	path := filepath.Join(dir, crawlFile)
	text, err := os.ReadFile("../../docs/guide/questions.md")
	if err != nil {
		t.Fatal(err)
	}
	guide := string(text)
	for _, q := range questions {
		t.Run(q.question, func(t *testing.T) {
			if got := answerByDriver(t, path, q.query); got != q.answer {
				t.Errorf("got\n%s\nwant\n%s", got, q.answer)
			}
			if !strings.Contains(guide, "    "+q.query+"\n") || !strings.Contains(guide, q.question) {
				t.Error("the guide does not have it")
			}
			tool, err := exec.LookPath("sqlite3")
			if err != nil && os.Getenv("CI") != "" {
				t.Fatal("install the sqlite3 tool")
			}
			if err != nil {
				t.Skip("there is no sqlite3 here; our own driver has answered")
			}
			out, err := exec.CommandContext(t.Context(), tool, path, q.query).CombinedOutput()
			if got := strings.TrimSpace(string(out)); err != nil || got != q.answer {
				t.Errorf("sqlite3 answers %v\n%s\nwant\n%s", err, got, q.answer)
			}
		})
	}
}

func answerByDriver(t *testing.T, path, query string) string {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for rows.Next() {
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new(any)
		}
		if err := rows.Scan(values...); err != nil {
			t.Fatal(err)
		}
		texts := make([]string, len(values))
		for i, v := range values {
			if x := *v.(*any); x != nil {
				texts[i] = fmt.Sprint(x)
			}
		}
		lines = append(lines, strings.Join(texts, "|"))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

// askable makes a small crawl. The file stays open while it is queried, like that of a
// running crawl.
func askable(t *testing.T, dir string) *Store {
	t.Helper()
	s := openTest(t, dir, nil)
	o := newOwner(t, s, 0)
	o.add("http://a.example/")
	found := func(raw, via string) store.Found {
		return store.Found{Item: visit.Item{Job: o.job, URL: o.url(raw), Via: o.url(via), Found: visit.FoundLink, Depth: 1}}
	}
	commit := func(c store.Commit) {
		t.Helper()
		if _, err := o.commit(c); err != nil {
			t.Fatal(err)
		}
	}
	commit(store.Commit{
		Visits: o.visits("http://a.example/"),
		Found: []store.Found{
			found("http://a.example/about", "http://a.example/"), found("http://a.example/gone", "http://a.example/"), found("http://a.example/private", "http://a.example/"),
			found("http://b.example/", "http://a.example/"),
		},
		Hosts: []store.Host{{Host: "http://a.example", Pace: 1500 * time.Millisecond, Floor: time.Second, HoldUntil: o.now.Add(time.Hour)}},
	})
	about, gone, private := o.visits("http://a.example/about")[0], o.visits("http://a.example/gone")[0], o.visits("http://a.example/private")[0]
	about.Timing.Total = 950 * time.Millisecond
	gone.Outcome, gone.Answer.Status, gone.Timing = visit.Dead, 404, visit.Timing{}
	private.Outcome, private.Reason, private.Answer, private.Timing = visit.Skipped, visit.RobotsDisallow, visit.Answer{}, visit.Timing{}
	private.Evidence = []visit.Evidence{{Kind: visit.BlockedByRobots, At: o.now, Rule: "Disallow: /private", Line: 2}}
	commit(store.Commit{
		Visits: []visit.Visit{about, gone, private},
		Found:  []store.Found{found("http://b.example/gone", "http://a.example/about"), found("http://b.example/next", "http://a.example/about")},
	})
	far, home := o.visits("http://b.example/gone")[0], o.visits("http://b.example/")[0]
	far.Outcome, far.Answer.Status, far.Timing = visit.Dead, 410, visit.Timing{}
	home.Timing = visit.Timing{}
	commit(store.Commit{Visits: []visit.Visit{far, home}})
	return s
}
