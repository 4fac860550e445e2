package doccheck

import (
	"bytes"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"

	"headway/internal/cli"
	"headway/internal/cli/command"
)

// example is a robots.txt on a page and the output of the command below it.
var example = regexp.MustCompile("(?ms)^```robots\n(.*?)^```\n```verdicts\n\\$ headway (.*?)\n(.*?)^```$")

// shownBy is a list of tests on a page.
var shownBy = regexp.MustCompile(`(?m)^Shown by ((?:.+\n)+)`)

var codeSpans = regexp.MustCompile("`([^`]+)`")

// TestRobotsAndYou runs the examples of the page for site owners, and looks up the
// tests it names.
func TestRobotsAndYou(t *testing.T) {
	c, err := ours()
	if err != nil {
		t.Fatal(err)
	}
	text, err := fs.ReadFile(c.root, "docs/robots-and-you.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	parts := shownBy.FindAllStringSubmatch(page, -1)
	if sections := strings.Count(page, "\n## "); len(parts) != sections {
		t.Errorf("%d of %d parts name tests", len(parts), sections)
	}
	for _, m := range parts {
		for _, name := range codeSpans.FindAllStringSubmatch(m[1], -1) {
			if err := c.checkTest(name[1]); err != nil {
				t.Error(err)
			}
		}
	}
	examples := example.FindAllStringSubmatch(page, -1)
	if fences := strings.Count(page, "```robots\n"); len(examples) != fences || fences == 0 {
		t.Fatalf("%d of %d examples can be read", len(examples), fences)
	}
	for _, m := range examples {
		checkExample(t, m[1], m[2], m[3])
	}
}

// checkExample runs the command next to the robots.txt.
func checkExample(t *testing.T, robots, line, want string) {
	t.Helper()
	t.Chdir(t.TempDir())
	if err := os.WriteFile("robots.txt", []byte(robots), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, problems bytes.Buffer
	code := cli.Main(strings.Fields(line), strings.NewReader(""), &out, &problems)
	wantCode := command.ExitOK
	if strings.Contains(want, "blocked") {
		wantCode = command.ExitBlocked
	}
	if out.String() != want || code != wantCode {
		t.Errorf("%s\nheadway %s printed (exit code %d)\n%s%s\nwant (exit code %d)\n%s", robots, line, code, &out, &problems, wantCode, want)
	}
}
