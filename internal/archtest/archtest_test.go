package archtest

import (
	"bufio"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

const moduleRoot = "../.."

// TestImportMap compares the imports of the module with the map.
func TestImportMap(t *testing.T) {
	rules, err := ParseMap(Map)
	if err != nil {
		t.Fatal(err)
	}
	imports, err := Imports(os.DirFS(moduleRoot))
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range rules.Check("headway", imports) {
		t.Error(problem)
	}
}

// TestCheckFinds: the check reports mistakes.
func TestCheckFinds(t *testing.T) {
	tree := fstest.MapFS{
		"a/a.go":          {Data: []byte("package a\nimport (\n\"fmt\"\n\"m/b\"\n\"x.org/y/z\"\n)\nvar _ = fmt.Sprint")},
		"a/a_test.go":     {Data: []byte("package a\nimport \"m/secret\"")},
		"b/b.go":          {Data: []byte("package b\nimport \"m/a\"")},
		"c/c.go":          {Data: []byte("package c")},
		"d/go.mod":        {Data: []byte("module d")},
		"d/d.go":          {Data: []byte("package d\nimport \"m/a\"")},
		"a/testdata/t.go": {Data: []byte("package t\nimport \"m/a\"")},
	}
	imports, err := Imports(tree)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		rules string
		want  []string
	}{
		"all allowed":      {"a b x.org/y\nb a\nc", nil},
		"own package":      {"a x.org/y\nb a\nc", []string{"package a may not import b"}},
		"other module":     {"a b x.org/yy\nb a\nc", []string{"package a may not import x.org/y/z"}},
		"package unnamed":  {"a b x.org/y\nb a", []string{"package c has no line in the import map"}},
		"folders":          {"a b x.org/y\nb a\n./* ", nil},
		"line without use": {"a b x.org/y\nb a\nc\ne", []string{"the import map names e, which has no code"}},
	} {
		t.Run(name, func(t *testing.T) {
			rules, err := ParseMap(tc.rules)
			if err != nil {
				t.Fatal(err)
			}
			if got := rules.Check("m", imports); !slices.Equal(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
	if _, err := ParseMap("a\na"); err == nil {
		t.Error("a package with two lines was accepted")
	}
}

// TestDependenciesDocumented: docs/dependencies.md has a line for every module that
// go.mod requires directly.
func TestDependenciesDocumented(t *testing.T) {
	doc, err := os.ReadFile(moduleRoot + "/docs/dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.Open(moduleRoot + "/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	defer mod.Close()
	direct := 0
	for lines := bufio.NewScanner(mod); lines.Scan(); {
		fields := strings.Fields(strings.TrimPrefix(lines.Text(), "require "))
		if len(fields) != 2 || !strings.HasPrefix(fields[1], "v") {
			continue // not a requirement, or one marked indirect
		}
		direct++
		if !strings.Contains(string(doc), "`"+fields[0]+"`") {
			t.Errorf("docs/dependencies.md has no line for %s", fields[0])
		}
	}
	if direct == 0 {
		t.Error("found no direct requirement in go.mod")
	}
}
