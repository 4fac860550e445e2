package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"headway/lab"
	"headway/output/jsonl"
	"headway/visit"
)

// TestContentExtract crawls the lab's catalogue with extraction rules and compares the fields
// in pages.jsonl with those that Parsel finds on the same pages.
func TestContentExtract(t *testing.T) {
	t.Parallel()
	python := pythonWithParsel(t)
	text, err := os.ReadFile("testdata/extract.yaml")
	if err != nil {
		t.Fatal(err)
	}
	plain := lab.Plain()
	plain.Site.Pages = 1
	w := newWorld(t, lab.Config{Hosts: lab.Uniform(1, plain)})
	rules := filepath.Join(w.dir, "rules.yaml")
	if err := os.WriteFile(rules, text, 0o600); err != nil {
		t.Fatal(err)
	}
	catalogue := strings.TrimSuffix(w.lab.Seeds()[0], "/") + "/exhibit/catalogue/"
	w.run(w.command("crawl", catalogue, "--scope", "prefix", "--max-depth", "1", "--preset", "owned", "--dir", "out",
		"--allow-private", fmt.Sprintf("127.0.0.0/8:%d", w.port), "--extract", "rules.yaml"), 0, 3)

	fields, html := map[string]any{}, map[string]string{}
	for line := range strings.Lines(string(mustRead(t, filepath.Join(w.dir, "out", "pages.jsonl")))) {
		var l jsonl.Line
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		if l.Outcome == string(visit.Fetched) {
			fields[l.URL], html[l.URL] = decoded(t, l.Fields), get(t, l.URL)
		}
	}
	want := parselFields(t, python, text, html)
	if len(fields) != 6 || len(want) != len(fields) {
		t.Fatalf("%d pages were fetched, %d read by Parsel", len(fields), len(want))
	}
	names := map[string]int{}
	for url, by := range want {
		got, _ := fields[url].(map[string]any)
		for name, value := range by {
			names[name]++
			if !reflect.DeepEqual(got[name], value) {
				t.Errorf("%s: %s is %v, Parsel has %v", url, name, got[name], value)
			}
		}
		for name := range got {
			if by[name] == nil {
				t.Errorf("%s: %s is %v, Parsel has none", url, name, got[name])
			}
		}
	}
	var all map[string]any
	if err := yaml.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	for name := range all {
		if names[name] == 0 {
			t.Errorf("no page has %s", name)
		}
	}
	if len(names) < 30 {
		t.Errorf("%d rules were compared", len(names))
	}
	if !t.Failed() {
		t.Logf("%d rules on %d pages: the same as Parsel", len(names), len(want))
	}
}

// pythonWithParsel finds a Python that has Parsel.
func pythonWithParsel(t *testing.T) string {
	t.Helper()
	for _, python := range []string{"/usr/bin/python3", "python3"} { // Debian's package is for the first
		if exec.CommandContext(t.Context(), python, "-c", "import parsel").Run() == nil {
			return python
		}
	}
	t.Fatal("Parsel is missing, which checks the extracted fields: apt-get install python3-parsel")
	return ""
}

// parselFields applies the rules to pages with Parsel.
func parselFields(t *testing.T, python string, rules []byte, html map[string]string) map[string]map[string]any {
	t.Helper()
	var all map[string]map[string]any
	if err := yaml.Unmarshal(rules, &all); err != nil {
		t.Fatal(err)
	}
	var list []map[string]any
	for name, rule := range all {
		rule["name"] = name
		list = append(list, rule)
	}
	slices.SortFunc(list, func(a, b map[string]any) int { return strings.Compare(a["name"].(string), b["name"].(string)) })
	given, err := json.Marshal(map[string]any{"rules": list, "pages": html})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), python, "../../scripts/extract-parsel")
	var errs bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(given), &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, errs.String())
	}
	var fields map[string]map[string]any
	if err := json.Unmarshal(out, &fields); err != nil {
		t.Fatal(err)
	}
	return fields
}

func decoded(t *testing.T, text visit.Object) (is any) {
	t.Helper()
	if text == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(text), &is); err != nil {
		t.Fatal(err)
	}
	return is
}

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// get fetches a page without Headway.
func get(t *testing.T, url string) string {
	t.Helper()
	body, err := fetched(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// fetched is the body of a page, without Headway.
func fetched(ctx context.Context, url string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return string(body), err
}
