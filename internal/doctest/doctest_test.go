package doctest

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	root   = "../.."
	readme = "README.md"
)

// documents are the pages whose commands are run.
func documents(t *testing.T) []string {
	t.Helper()
	guides, err := filepath.Glob(filepath.Join(root, "docs/guide/*.md"))
	if err != nil {
		t.Fatal(err)
	}
	list := []string{readme}
	for _, g := range guides {
		name, err := filepath.Rel(root, g)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, filepath.ToSlash(name))
	}
	return list
}

// elsewhere lists documents that other tests run, and where.
var elsewhere = map[string]struct{ test, file string }{
	"docs/guide/api.md":      {"TestAPIGuide", "internal/fleettest/api_test.go"},
	"docs/guide/fetch.md":    {"TestFetchTour", "internal/cli/fetch_test.go"},
	"docs/guide/fleet.md":    {"TestGuide", "internal/fleettest/guide_test.go"},
	"docs/guide/library.md":  {"TestLibraryGuide", "library_test.go"},
	"docs/guide/operate.md":  {"TestOperate", "internal/fleettest/operate_test.go"},
	"docs/guide/webhooks.md": {"TestGuide", "service/internal/webhook/guide_test.go"},
}

// notRunHere counts the blocks that the tests cannot run, so that a reviewer sees a
// new one.
var notRunHere = map[string]int{
	"docs/guide/corpus.md":  3, // TestContentCorpus of internal/e2e runs them in DuckDB
	"docs/guide/outputs.md": 1,
}

// silent are the documents without commands.
var silent = []string{"docs/guide/politeness.md"}

// TestCommands counts the commands of each document, so that none is left out
// unnoticed.
func TestCommands(t *testing.T) {
	skipped := map[string]int{}
	for _, name := range documents(t) {
		page, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := elsewhere[name]; ok {
			source, err := os.ReadFile(filepath.Join(root, e.file))
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(source), "\nfunc "+e.test+"(") || !strings.Contains(string(source), name) {
				t.Errorf("%s: %s in %s does not run it", name, e.test, e.file)
			}
			continue
		}
		doc, err := read(string(page))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if n := len(doc.commands); (n == 0) != slices.Contains(silent, name) {
			t.Errorf("%s: %d commands", name, n)
		}
		for _, b := range doc.notRun {
			skipped[name]++
			t.Logf("%s:%d is not run: %s", name, b.line, b.reason)
		}
	}
	if diff := cmp.Diff(notRunHere, skipped); diff != "" {
		t.Errorf("blocks that are not run, expected (-) and found (+):\n%s", diff)
	}
}

func TestRead(t *testing.T) {
	const page = "# A page\n\nText `headway crawl` in a line.\n\n```sh\nmake build\nprintf 'a\\n' \\\n  > file\ncat <<'EOF'\nheadway\nEOF\n```\n\n" +
		"<!-- stays -->\n```console\n$ headway lab up\nlab ready\n```\n\nOr\n\n    $ echo 1\n    1\n\n    $ false\n    $ echo $?\n    1\n\n" +
		"- a list\n\n<!-- not run: needs a fleet -->\n\n```sh\nheadway fleet\n```\n\n```text\nno command\n```\n"
	got, err := read(page)
	if err != nil {
		t.Fatal(err)
	}
	want := document{
		commands: []command{
			{line: 6, text: "make build"},
			{line: 7, text: "printf 'a\\n' \\\n  > file"},
			{line: 9, text: "cat <<'EOF'\nheadway\nEOF"},
			{line: 16, text: "headway lab up", output: []string{"lab ready"}, stays: true},
			{line: 22, text: "echo 1", output: []string{"1", ""}},
			{line: 25, text: "false", output: []string{}},
			{line: 26, text: "echo $?", output: []string{"1", ""}},
		},
		notRun: []notRun{{34, "needs a fleet"}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(document{}, command{}, notRun{})); diff != "" {
		t.Error(diff)
	}
}

func TestReadRefuses(t *testing.T) {
	for name, page := range map[string]string{
		"a command among text":           "\n\n    headway crawl https://example.com\n",
		"a prompt in a block of text":    "```text\n$ headway crawl\n```\n",
		"output before a command":        "```console\ncomplete\n$ headway crawl\n```\n",
		"a command without an end":       "```sh\nheadway crawl \\\n```\n",
		"two commands in one terminal":   "<!-- stays -->\n```sh\nheadway lab up\nheadway crawl\n```\n",
		"a mark on what is no command":   "<!-- not run: too slow -->\n```text\nwords\n```\n",
		"a here-document without an end": "```sh\ncat <<EOF\n```\n",
	} {
		t.Run(name, func(t *testing.T) {
			if d, err := read(page); err == nil {
				t.Errorf("read as %+v", d)
			}
		})
	}
}

func TestMatches(t *testing.T) {
	for name, tc := range map[string]struct {
		lines          []string
		stdout, stderr string
		want           bool
	}{
		"the same":              {[]string{"a", "b"}, "a\nb\n", "", true},
		"another line":          {[]string{"a"}, "b\n", "", false},
		"a line more":           {[]string{"a"}, "a\nb\n", "", false},
		"a line less":           {[]string{"a", "b"}, "a\n", "", false},
		"nothing":               {[]string{}, "", "", true},
		"nothing expected":      {[]string{}, "a\n", "", false},
		"any text":              {[]string{"a … c"}, "a b c\n", "", true},
		"any text is one line":  {[]string{"a … c"}, "a\nc\n", "", false},
		"any lines":             {[]string{"a", "…", "d"}, "a\nb\nc\nd\n", "", true},
		"any lines, none":       {[]string{"a", "…", "d"}, "a\nd\n", "", true},
		"counts count":          {[]string{"seen 12 = 12 fetched"}, "seen 13 = 13 fetched\n", "", false},
		"durations differ":      {[]string{"in 1m4s (0.9 pages/s), 5.2 %"}, "in 12.5s (1.1 pages/s), 44.0 %\n", "", true},
		"columns move":          {[]string{"a  b"}, "a     b\n", "", true},
		"dates differ":          {[]string{"seen 2026-11-15 09:50:39 UTC"}, "seen 2027-01-02 03:04:05 UTC\n", "", true},
		"a point is a point":    {[]string{"a.b"}, "acb\n", "", false},
		"an error":              {[]string{"headway: error: no"}, "", "progress\nheadway: error: no\n", true},
		"another error":         {[]string{"headway: error: no"}, "", "headway: error: yes\n", false},
		"an error is no output": {[]string{"headway: error: no"}, "headway: error: no\n", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			if err := matches(tc.lines, tc.stdout, tc.stderr); (err == nil) != tc.want {
				t.Error(err)
			}
		})
	}
}

// TestNotRunIsKnown: the list of exceptions names only documents that exist.
func TestNotRunIsKnown(t *testing.T) {
	known := documents(t)
	for _, name := range slices.Concat(slices.Sorted(maps.Keys(notRunHere)), slices.Sorted(maps.Keys(elsewhere)), silent) {
		if !slices.Contains(known, name) {
			t.Errorf("%s does not exist", name)
		}
	}
}
