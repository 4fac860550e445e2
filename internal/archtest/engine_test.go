package archtest

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// floors are the packages of the engine from low to high: each imports only those
// before it.
var floors = []string{
	"internal/loop", "internal/result", "internal/pace", "internal/borrow", "internal/exchange", "internal/discovery", "internal/redirects", "internal/ownership",
	"internal/committer", "internal/jobrun", "internal/fetchpool", "internal/control", "internal/engine", ".",
}

// TestFloors: imports between the packages of the engine go downward only.
func TestFloors(t *testing.T) {
	imports, err := Imports(os.DirFS(moduleRoot))
	if err != nil {
		t.Fatal(err)
	}
	for i, room := range floors {
		for _, imp := range imports[room] {
			if at := slices.Index(floors, strings.TrimPrefix(imp, "headway/")); at >= i {
				t.Errorf("%s imports %s, which is above it", room, imp)
			}
		}
	}
}

// maxRoot is how many lines the root package may have, without tests: it is only the
// API.
const maxRoot = 900

// TestRootIsSmall counts the lines of the root package.
func TestRootIsSmall(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(moduleRoot, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		lines += bytes.Count(text, []byte("\n"))
	}
	if lines == 0 || lines > maxRoot {
		t.Errorf("the root package has %d lines, at most %d", lines, maxRoot)
	}
}

// engineFiles are the files of the engine, without tests.
func engineFiles(t *testing.T) []*ast.File {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(moduleRoot, "internal/engine/*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	if len(files) == 0 {
		t.Fatal("the engine has no files")
	}
	return files
}

// TestNoBackPointer: no part of the engine holds a pointer to the engine.
func TestNoBackPointer(t *testing.T) {
	for _, file := range engineFiles(t) {
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok || spec.Name.Name == "Crawl" { // the root package's handle
				return true
			}
			ast.Inspect(spec.Type, func(n ast.Node) bool {
				if star, ok := n.(*ast.StarExpr); ok {
					if id, ok := star.X.(*ast.Ident); ok && id.Name == "crawler" {
						t.Errorf("%s points back to the crawler", spec.Name.Name)
					}
				}
				return true
			})
			return true
		})
	}
}

// TestBackground: functions that run in the background (arguments of loop.Ask, Once,
// Do or Go) do not use a part of the engine, except the methods of its loop, which are
// safe for concurrent use.
func TestBackground(t *testing.T) {
	checked := 0
	for _, file := range engineFiles(t) {
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv == nil || len(f.Recv.List[0].Names) == 0 {
				continue
			}
			part := f.Recv.List[0].Names[0].Name
			ast.Inspect(f, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				if work := background(call); work != nil {
					checked++
					if mentions(work, part) {
						t.Errorf("%s does something in the background that reaches %s", f.Name.Name, part)
					}
				}
				return true
			})
		}
	}
	if checked == 0 {
		t.Error("nothing is done in the background: is this test up to date?")
	}
}

// background is the function that a call runs in the background, nil for other calls.
func background(call *ast.CallExpr) ast.Expr {
	fun := call.Fun
	if x, ok := fun.(*ast.IndexExpr); ok {
		fun = x.X
	}
	sel, ok := fun.(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	switch pkg, _ := sel.X.(*ast.Ident); {
	case pkg != nil && pkg.Name == "loop" && slices.Contains([]string{"Ask", "Once", "Do"}, sel.Sel.Name):
		return call.Args[2]
	case sel.Sel.Name == "Go":
		return call.Args[0]
	}
	return nil
}

// mentions reports whether a function uses a part other than through its loop. What is
// passed to the loop runs there.
func mentions(work ast.Expr, part string) (found bool) {
	ast.Inspect(work, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if sel, ok := n.Fun.(*ast.SelectorExpr); ok && (sel.Sel.Name == "Post" || sel.Sel.Name == "Offer") {
				return false
			}
		case *ast.SelectorExpr:
			if id, ok := n.X.(*ast.Ident); ok && id.Name == part && n.Sel.Name == "loop" {
				return false
			}
		case *ast.Ident:
			found = found || n.Name == part
		}
		return true
	})
	return found
}
