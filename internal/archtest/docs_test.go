package archtest

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

var markdownLink = regexp.MustCompile(`\]\(([^)#\s]+)(#[^)]*)?\)`)

// TestDocLinks follows every relative link of every Markdown page.
func TestDocLinks(t *testing.T) {
	root := os.DirFS(moduleRoot)
	links := 0
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules") {
			return fs.SkipDir
		}
		if path.Ext(name) != ".md" {
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		for _, m := range markdownLink.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			links++
			if _, err := fs.Stat(root, path.Join(path.Dir(name), m[1])); err != nil {
				t.Errorf("%s links to %s, which is not there", name, m[1])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if links == 0 {
		t.Error("found no link to follow")
	}
}

var testName = regexp.MustCompile("`((?:Test|Fuzz)[A-Za-z0-9_]+)`")

// TestNamedTestsExist looks up every test that SECURITY.md gives as proof.
func TestNamedTestsExist(t *testing.T) {
	root := os.DirFS(moduleRoot)
	var sources strings.Builder
	err := fs.WalkDir(root, ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, "_test.go") {
			return err
		}
		text, err := fs.ReadFile(root, name)
		sources.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	page, err := fs.ReadFile(root, "SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	names := testName.FindAllStringSubmatch(string(page), -1)
	if len(names) < 50 {
		t.Errorf("SECURITY.md names only %d tests", len(names))
	}
	for _, m := range names {
		if !strings.Contains(sources.String(), "\nfunc "+m[1]+"(") {
			t.Errorf("SECURITY.md names %s, which is not a test", m[1])
		}
	}
}
