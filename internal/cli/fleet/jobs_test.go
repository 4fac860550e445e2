package fleet

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"headway/internal/config"
)

// TestJobListOfServer asks a server once for each page of jobs.
func TestJobListOfServer(t *testing.T) {
	var asked []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.String())
		if r.URL.Query().Get("cursor") == "" {
			fmt.Fprint(w, `{"jobs":[{"id":3,"pages":7,"waiting":2,"outcomes":{"fetched":7}},{"id":2}],"next_cursor":"b"}`)
			return
		}
		fmt.Fprint(w, `{"jobs":[{"id":1,"name":"first"}]}`)
	}))
	defer s.Close()
	f, err := openServer(&config.Settings{Server: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := f.list(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 3 || rows[0].Name != "first" || rows[2].Pages != 7 || rows[2].Waiting != 2 || rows[2].Outcomes["fetched"] != 7 {
		t.Errorf("read %+v", rows)
	}
	if len(asked) != 2 {
		t.Errorf("asked for %q", asked)
	}
}
