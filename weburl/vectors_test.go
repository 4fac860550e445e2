package weburl

import (
	"errors"
	"testing"

	"headway/internal/vectors"
)

// row is one line of urls.json.
type row struct {
	Name  string  `json:"name"`
	In    string  `json:"in"`
	Base  *string `json:"base"`
	Out   string  `json:"out"`
	Error Code    `json:"error"`
	Rule  string  `json:"rule"`
}

const wantRows = 139

// resolve parses the row's input, against its base if it has one.
func (r row) resolve(t testing.TB) (URL, error) {
	t.Helper()
	if r.Base == nil {
		return Parse(r.In)
	}
	base, err := Parse(*r.Base)
	if err != nil {
		t.Fatalf("base: %v", err)
	}
	return base.Resolve(r.In)
}

func TestVectors(t *testing.T) {
	rows := vectors.Rows[row](t, "urls.json")
	passed := 0
	for _, r := range rows {
		ok := t.Run(r.Name, func(t *testing.T) {
			u, err := r.resolve(t)
			if r.Error != "" {
				if e, ok := errors.AsType[*Error](err); !ok || e.Code != r.Error {
					t.Fatalf("got %q, %v; want error %s (%s)", u, err, r.Error, r.Rule)
				}
				if !u.IsZero() {
					t.Fatalf("got %q beside an error", u)
				}
				return
			}
			if err != nil {
				t.Fatalf("got %v; want %q (%s)", err, r.Out, r.Rule)
			}
			if u.String() != r.Out {
				t.Fatalf("got %q; want %q (%s)", u, r.Out, r.Rule)
			}
			again, err := Parse(u.String())
			if err != nil || again != u {
				t.Fatalf("canonical form of %q is %q, %v", u, again, err)
			}
		})
		if ok {
			passed++
		}
	}
	vectors.Count(t, "urls.json", passed, wantRows)
}
