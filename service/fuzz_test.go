package service_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"headway/service"
	"headway/store"
)

// Numbers of generated requests: fewer in CI, more in full.
const (
	someRequests = 400
	allRequests  = 10_000
)

// odd are values that schemas do not expect.
var odd = []string{
	"", "0", "-1", "1.5", "NaN", "9223372036854775807", "9223372036854775808", "1e309", "true", "null", "[]", "{}", "\u0000", "\ufeff", "a\r\nb", "../../etc/passwd", "%00", "%zz",
	"' or 1=1 --", "<script>", "𝕳𝖊𝖆𝖉𝖜𝖆𝖞", "\u202e", strings.Repeat("a", 3000), "http://[::1", "https://user:pass@example.com/", "re:(", "re:" + strings.Repeat("(a*)*", 50),
}

// maker generates random requests from schemas.
type maker struct {
	*rand.Rand
	d   *document
	ids []map[string]string // of existing objects, by the parameters that name them
}

// often is true with a probability in percent.
func (m *maker) often(percent int) bool { return m.IntN(100) < percent }

// text is a value for a parameter, valid or invalid.
func (m *maker) text(s *schema) string {
	if m.often(30) {
		return odd[m.IntN(len(odd))]
	}
	v := m.value(s, 0)
	if f, ok := v.(float64); ok {
		return fmt.Sprintf("%.0f", f)
	}
	return fmt.Sprint(v)
}

// value is a value for a schema, sometimes an invalid one.
func (m *maker) value(s *schema, deep int) any {
	s = m.d.resolve(s)
	if s == nil || m.often(8) || deep > 6 {
		return m.wild(deep)
	}
	if len(s.Enum) > 0 {
		return s.Enum[m.IntN(len(s.Enum))]
	}
	kind := s.Type
	if several, ok := kind.([]any); ok {
		kind = several[m.IntN(len(several))]
	}
	switch kind {
	case "object":
		out := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			if slices.Contains(s.Required, name) && m.often(95) || m.often(40) {
				out[name] = m.value(s.Properties[name], deep+1)
			}
		}
		if m.often(5) {
			out["unknown"] = m.wild(deep + 1)
		}
		return out
	case "array":
		out := []any{}
		for range m.IntN(4) {
			out = append(out, m.value(s.Items, deep+1))
		}
		return out
	case "integer", "number":
		low, high := -10.0, 1e6
		if s.Minimum != nil {
			low = *s.Minimum
		}
		if s.Maximum != nil {
			high = *s.Maximum
		}
		return float64(int64(low + m.Float64()*(high-low)))
	case "boolean":
		return m.often(50)
	case "null":
		return nil
	default:
		if m.often(50) {
			return []string{"https://example.com/", "example.org", "http://127.0.0.1:1/", "7", "job.running", "https://example.com"}[m.IntN(6)]
		}
		return odd[m.IntN(len(odd))]
	}
}

// wild is a value of any type.
func (m *maker) wild(deep int) any {
	switch m.IntN(6) {
	case 0:
		return nil
	case 1:
		return m.often(50)
	case 2:
		return m.Float64() * 1e18
	case 3:
		return odd[m.IntN(len(odd))]
	case 4:
		if deep > 6 {
			return []any{}
		}
		return []any{m.wild(deep + 1)}
	default:
		if deep > 6 {
			return map[string]any{}
		}
		return map[string]any{odd[m.IntN(len(odd))]: m.wild(deep + 1)}
	}
}

// request makes a request of an operation.
func (m *maker) request(o *operation, base string) (*http.Request, error) {
	path, query, header := o.path, url.Values{}, http.Header{}
	for _, p := range o.Parameters {
		switch {
		case p.In == "path":
			id := m.text(p.Schema)
			if id == "" || m.often(70) { // a path without it is another path
				id = fmt.Sprint(1 + m.IntN(20))
			}
			if m.often(50) {
				id = m.ids[m.IntN(len(m.ids))][p.Name]
			}
			path = strings.Replace(path, "{"+p.Name+"}", url.PathEscape(id), 1)
		case p.In == "query" && (p.Required && m.often(90) || m.often(25)):
			query.Add(p.Name, m.text(p.Schema))
		case p.In == "header" && m.often(30):
			header.Set(p.Name, strings.Map(func(r rune) rune {
				if r < ' ' || r == 0x7f {
					return -1
				}
				return r
			}, m.text(p.Schema)))
		}
	}
	if m.often(3) {
		query.Add("unknown", "1")
	}
	var body []byte
	if s := o.body(); s != nil && m.often(97) {
		var err error
		if body, err = json.Marshal(m.value(s, 0)); err != nil {
			return nil, err
		}
		if m.often(3) {
			body = body[:len(body)/2]
		}
		header.Set("Content-Type", []string{"application/json", "application/json; charset=utf-8", "", "text/plain", "application/x-www-form-urlencoded"}[max(0, m.IntN(24)-19)])
	}
	method := o.method
	if m.often(2) {
		method = []string{http.MethodDelete, http.MethodPut, http.MethodPatch, http.MethodHead, http.MethodOptions}[m.IntN(5)]
	}
	r, err := http.NewRequest(method, base+path+"?"+query.Encode(), bytes.NewReader(body))
	if err == nil {
		r.Header = header
	}
	return r, err
}

// TestGeneratedRequests sends valid and invalid requests generated from the document's
// schemas: none causes a server error, and every response matches the document.
func TestGeneratedRequests(t *testing.T) {
	t.Parallel()
	n := someRequests
	if os.Getenv("HEADWAY_FULL") != "" {
		n = allRequests
	}
	s := start(t, service.Config{Store: openStore(t), Exports: service.Exports{To: t.TempDir()}})
	var ids []map[string]string
	for range 3 {
		ids = append(ids, things(t, s, "acme"))
	}
	k := key(t, s.st, "acme", store.ScopeOperator)
	d, v := readDocument(t), newValidator(t)
	operations := d.operations()
	seed := uint64(n)
	m := &maker{rand.New(rand.NewPCG(seed, 1)), d, ids}
	statuses := map[int]int{}
	for i := range n {
		o := operations[i%len(operations)]
		r, err := m.request(o, s.base)
		if err != nil {
			t.Fatal(err)
		}
		r = r.WithContext(t.Context())
		r.Header.Set("Authorization", "Bearer "+k)
		asked := fmt.Sprintf("%d: %s %s", i, r.Method, r.URL)
		a, err := web.RoundTrip(r)
		if err != nil {
			t.Fatalf("%s: %v", asked, err)
		}
		statuses[a.StatusCode]++
		text := []byte(nil)
		if !(o.streams() && a.StatusCode == http.StatusOK) {
			text, err = io.ReadAll(a.Body)
		}
		if closed := a.Body.Close(); err != nil || closed != nil {
			t.Fatalf("%s: %v, %v", asked, err, closed)
		}
		switch {
		case a.StatusCode >= http.StatusInternalServerError:
			t.Errorf("%s: %d %s", asked, a.StatusCode, text)
		case r.Method == http.MethodHead || a.StatusCode >= 300 && a.StatusCode < 400:
		case a.StatusCode >= http.StatusBadRequest:
			answered{a.StatusCode, a.Header, text}.problem(t)
			var p struct{ Code string }
			if err := json.Unmarshal(text, &p); err != nil {
				t.Error(err)
			}
			if elsewhere := p.Code == "unknown_path" || p.Code == "method_not_allowed"; !elsewhere && r.Method == o.method && !slices.Contains(o.Responses[fmt.Sprint(a.StatusCode)].Codes, p.Code) {
				t.Errorf("%s: %d with the code %s, which is not described", asked, a.StatusCode, p.Code)
			}
		}
		if a.Header.Get("Content-Type") == "application/x-ndjson" {
			for line := range bytes.Lines(text) {
				if !json.Valid(line) || !bytes.HasSuffix(line, []byte("\n")) {
					t.Errorf("%s: a line %q", asked, line)
				}
			}
		} else if r.Method == o.method && a.Header.Get("Content-Type") != "text/event-stream" && a.StatusCode != http.StatusNotFound {
			a.Body = io.NopCloser(bytes.NewReader(text))
			if ok, errs := v.ValidateHttpResponse(r, a); !ok {
				t.Errorf("%s: %d is not as described: %v: %s", asked, a.StatusCode, errs[0], text)
			}
		}
		if t.Failed() {
			break
		}
	}
	t.Logf("%d requests to %d operations: %v", n, len(operations), statuses)
}
