package parse

import (
	"encoding/json"
	"net/http"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"headway/weburl"
)

// oddRow is a row of testdata/html.json: HTML that is easy to get wrong, and what a
// browser finds in it.
type oddRow struct {
	Name  string   `json:"name"`
	HTML  string   `json:"html"`
	Links []string `json:"links"` // kind, rel marks and URL
	Title string   `json:"title,omitempty"`
	Base  string   `json:"base,omitempty"`
	Words int      `json:"words,omitempty"`
	Why   string   `json:"why"`
}

func oddRows(t testing.TB) []oddRow {
	t.Helper()
	data, err := os.ReadFile("testdata/html.json")
	if err != nil {
		t.Fatal(err)
	}
	var rows []oddRow
	if err := json.Unmarshal(data, &rows); err != nil {
		t.Fatal(err)
	}
	return rows
}

// pageURL is the URL of test pages.
var pageURL = mustParse("http://site.test/dir/page.html")

func mustParse(raw string) weburl.URL {
	u, err := weburl.Parse(raw)
	if err != nil {
		panic(err)
	}
	return u
}

// readHTML reads a page in UTF-8 at pageURL.
func readHTML(t testing.TB, src string, o Options) Page {
	t.Helper()
	p, err := Read(Answer{
		URL:    pageURL,
		Status: http.StatusOK,
		Header: http.Header{"Content-Type": {"text/html; charset=utf-8"}},
		Body:   []byte(src),
	}, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// lines formats links as in the rows.
func lines(links []Link) []string {
	out := []string{}
	for _, l := range links {
		line := l.Kind.String() + " "
		if l.Rel != 0 {
			line += l.Rel.String() + " "
		}
		out = append(out, line+l.URL.String())
	}
	return out
}

func TestOddHTML(t *testing.T) {
	rows := oddRows(t)
	for _, row := range rows {
		t.Run(row.Name, func(t *testing.T) {
			p := readHTML(t, row.HTML, Options{})
			if diff := cmp.Diff(row.Links, lines(p.Links)); diff != "" {
				t.Errorf("links (-want +got):\n%s", diff)
			}
			if p.Title != row.Title {
				t.Errorf("title %q, want %q", p.Title, row.Title)
			}
			if row.Base != "" && p.Base.String() != row.Base {
				t.Errorf("base %s, want %s", p.Base, row.Base)
			}
			if row.Words != 0 && p.Words != row.Words {
				t.Errorf("%d words, want %d", p.Words, row.Words)
			}
			compareEvents(t, []byte(row.HTML))
		})
	}
	if len(rows) < 60 {
		t.Errorf("%d rows of odd HTML, want 60 at least", len(rows))
	}
}
