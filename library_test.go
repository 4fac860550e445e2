package headway_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// tempDir is a folder for an example.
func tempDir() (dir string, remove func()) {
	dir, err := os.MkdirTemp("", "headway-example-*")
	if err != nil {
		panic(err)
	}
	return dir, func() {
		if err := os.RemoveAll(dir); err != nil {
			panic(err)
		}
	}
}

// TestLibraryGuide finds every block of code of the guide in the examples, which are
// compiled and run.
func TestLibraryGuide(t *testing.T) {
	guide, err := os.ReadFile("docs/guide/library.md")
	if err != nil {
		t.Fatal(err)
	}
	var examples string
	for _, name := range []string{"example_test.go", "example_pages_test.go"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		examples += string(text)
	}
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(guide), -1)
	if len(blocks) < 6 {
		t.Errorf("%d blocks of code", len(blocks))
	}
	for _, b := range blocks {
		if !strings.Contains(examples, b[1]) && !strings.Contains(examples, indented(b[1])) {
			t.Errorf("no example has this code:\n%s", b[1])
		}
	}
}

// TestExampleLength: the first program is short.
func TestExampleLength(t *testing.T) {
	text, err := os.ReadFile("example_pages_test.go")
	if err != nil {
		t.Fatal(err)
	}
	body := regexp.MustCompile(`(?s)func Example_program\(\) \{\n(.*?)\n\}\n`).FindStringSubmatch(string(text))
	if body == nil || strings.Count(body[1], "\n")+1 > 25 {
		t.Errorf("the program is missing or longer than 25 lines: %q", body)
	}
}

// indented is code as it is in a function.
func indented(code string) string {
	lines := strings.SplitAfter(code, "\n")
	for i, l := range lines {
		if strings.TrimSpace(l) != "" {
			lines[i] = "\t" + l
		}
	}
	return strings.Join(lines, "")
}
