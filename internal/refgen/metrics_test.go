package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"headway/visit"
)

const sample = `package p

import "time"

// Sum is what there is. And more.
type Sum struct {
	part.Inner
	Pages int ` + "`json:\"pages\"`" + ` // of all | runs
	// Waited is how long
	// it was waited.
	Waited Seconds ` + "`json:\"waited_seconds,omitempty\"`" + `
	By     map[visit.Outcome]time.Duration ` + "`json:\"by\"`" + ` // outcome
	List   []*Sum ` + "`json:\"list\"`" + `
	Hidden int ` + "`json:\"-\"`" + `
	silent int
}
`

// TestFields reads keys, values and words from a source.
func TestFields(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"p/p.go": sample, "part/part.go": "package part\ntype Inner struct {\n\tHost string `json:\"host\"`\n}\ntype Empty struct{ A int }\n",
		"p/p_test.go": "package p\nnot Go",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := newSources(root)
	rows, about, err := s.fields(typeName{"p", "Sum"})
	if err != nil {
		t.Fatal(err)
	}
	got := []string{about}
	for _, r := range rows {
		got = append(got, r.key+": "+r.value(map[string]bool{"Sum": true})+": "+r.meaning)
	}
	want := []string{
		"What there is.", "host: text: ", `pages: whole number: of all \| runs`, "waited_seconds: seconds: how long it was waited",
		"by: nanoseconds by outcome: outcome", "list: list of [Sum](#sum): ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, missing := range []typeName{{"p", "Gone"}, {"nowhere", "Sum"}, {"part", "Empty"}} {
		if _, _, err := s.fields(missing); err == nil {
			t.Errorf("%v was found", missing)
		}
	}
	if _, err := s.layerSettings(); err == nil {
		t.Error("layers were found where there are none")
	}
}

// TestPages checks that the pages contain what they must name.
func TestPages(t *testing.T) {
	var b bytes.Buffer
	outcomes(&b)
	for _, o := range visit.Outcomes {
		if !strings.Contains(b.String(), "| `"+string(o)+"` |") {
			t.Errorf("no row for %s", o)
		}
		for _, r := range visit.Reasons[o] {
			if !strings.Contains(b.String(), "| `"+string(r)+"` |") {
				t.Errorf("no row for %s", r)
			}
		}
	}
	b.Reset()
	if err := metrics(&b, "../.."); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"| `spent_seconds` |", "| `pace_seconds` |", "| `peak_concurrency` |", "| `waits` |", "| `inside_retry_after` |", "| free disk (bytes) | `store.min_free` |"} {
		if !strings.Contains(b.String(), key) {
			t.Errorf("no %s", key)
		}
	}
}
