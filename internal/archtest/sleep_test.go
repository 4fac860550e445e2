package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

// TestSleepsGiveReasons: each sleep in real time in a test has a comment with the
// reason.
func TestSleepsGiveReasons(t *testing.T) {
	problems, err := unexplainedSleeps(os.DirFS(moduleRoot))
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range problems {
		t.Errorf("%s: a wait outside a synctest bubble: wait for the event, use testing/synctest, or give the reason in a comment on this line or the one above", problem)
	}
}

// TestSleepsFound: the check reports missing reasons.
func TestSleepsFound(t *testing.T) {
	for name, tc := range map[string]struct {
		body string
		want []string
	}{
		"bare":                      {"func TestX(t *testing.T) {\n\ttime.Sleep(1)\n}", []string{"a_test.go:4"}},
		"in a loop":                 {"func TestX(t *testing.T) {\n\tfor ; ; time.Sleep(1) {\n\t}\n}", []string{"a_test.go:4"}},
		"passed on":                 {"func TestX(t *testing.T) {\n\twait(time.Sleep)\n}", []string{"a_test.go:4"}},
		"ticker":                    {"func TestX(t *testing.T) {\n\tfor tick := time.NewTicker(1); ; <-tick.C {\n\t}\n}", []string{"a_test.go:4"}},
		"after":                     {"func TestX(t *testing.T) {\n\t<-time.After(1)\n}", []string{"a_test.go:4"}},
		"after as a bound":          {"func TestX(t *testing.T) {\n\tselect {\n\tcase <-c:\n\tcase <-time.After(1):\n\t}\n}", nil},
		"package variable":          {"var x = func() {\n\ttime.Sleep(1)\n}", []string{"a_test.go:4"}},
		"another package's Sleep":   {"func TestX(t *testing.T) {\n\tclock.Sleep(1)\n}", nil},
		"a package of its name":     {"import \"m/x\"\nfunc TestX(t *testing.T) { synctest.Test(t, func(t *testing.T) { a{}.x() }); x.Y() }\nfunc (a) x() { time.Sleep(1) }", nil},
		"comment beside":            {"func TestX(t *testing.T) {\n\ttime.Sleep(1) // why\n}", nil},
		"comment above":             {"func TestX(t *testing.T) {\n\t// why\n\ttime.Sleep(1)\n}", nil},
		"comment two lines above":   {"func TestX(t *testing.T) {\n\t// why\n\n\ttime.Sleep(1)\n}", []string{"a_test.go:6"}},
		"another line's comment":    {"func TestX(t *testing.T) {\n\tx() // x\n\ttime.Sleep(1)\n}", []string{"a_test.go:5"}},
		"bubble":                    {"func TestX(t *testing.T) {\n\tsynctest.Test(t, func(t *testing.T) { time.Sleep(1) })\n}", nil},
		"bubble, then not":          {"func TestX(t *testing.T) {\n\tsynctest.Test(t, func(t *testing.T) {})\n\ttime.Sleep(1)\n}", []string{"a_test.go:5"}},
		"bubble by name":            {"func TestX(t *testing.T) { synctest.Test(t, x) }\nfunc x(t *testing.T) { time.Sleep(1) }", nil},
		"called in a bubble":        {"func TestX(t *testing.T) { synctest.Test(t, func(t *testing.T) { x() }) }\nfunc x() { y{}.z() }\nfunc (y) z() { time.Sleep(1) }", nil},
		"called in one and not":     {"func TestX(t *testing.T) { synctest.Test(t, x); x(t) }\nfunc x(t *testing.T) { time.Sleep(1) }", []string{"a_test.go:4"}},
		"called by what is not":     {"func TestX(t *testing.T) { x() }\nfunc x() { y{}.z() }\nfunc (y) z() { time.Sleep(1) }", []string{"a_test.go:5"}},
		"called by nobody in tests": {"func (y) Read([]byte) (int, error) { time.Sleep(1) }", []string{"a_test.go:3"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := unexplainedSleeps(fstest.MapFS{"a_test.go": {Data: []byte("package a\n\n" + tc.body)}})
			if err != nil || !slices.Equal(got, tc.want) {
				t.Errorf("got %q and %v, want %q", got, err, tc.want)
			}
		})
	}
}

// waits are the functions of package time that let time pass, and the tickers of poll loops. A bare receive
// from time.After counts too; in a select it is mostly a bound.
var waits = []string{"Sleep", "Tick", "NewTicker"}

// testCode is the test files of one folder.
type testCode struct {
	sleeps []use            // without a comment
	calls  map[string][]use // uses of each function or method
}

// use is where something is used: in which function, and whether in a literal that
// runs in a bubble.
type use struct {
	at, in string
	bubble bool
}

// unexplainedSleeps returns the sleeps in test files without a comment on their line
// or the one above that may run outside a bubble. A function runs in a bubble if all
// tests of its folder that use it do so there; one that they never use may run
// anywhere.
func unexplainedSleeps(tree fs.FS) ([]string, error) {
	folders := map[string]*testCode{}
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, "_test.go") {
			return err
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		dir := path.Dir(name)
		if folders[dir] == nil {
			folders[dir] = &testCode{calls: map[string][]use{}}
		}
		return folders[dir].read(name, text)
	})
	var found []string
	for _, dir := range slices.Sorted(maps.Keys(folders)) {
		found = append(found, folders[dir].unexplained()...)
	}
	return found, err
}

// read adds a file's sleeps and the names it uses.
func (c *testCode) read(name string, text []byte) error {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, text, parser.ParseComments)
	if err != nil {
		return err
	}
	line := func(p token.Pos) int { return files.Position(p).Line }
	commented, code := map[int]bool{}, strings.Split(string(text), "\n")
	for _, group := range file.Comments {
		for _, comment := range group.List {
			last := line(comment.End())
			commented[last] = true
			if strings.HasPrefix(strings.TrimSpace(code[last-1]), "//") { // alone on its line: it is about the next one
				commented[last+1] = true
			}
		}
	}
	imported := map[string]bool{}
	for _, spec := range file.Imports {
		imported[path.Base(strings.Trim(spec.Path.Value, `"`))] = spec.Name == nil
	}
	for _, decl := range file.Decls {
		in := ""
		if f, ok := decl.(*ast.FuncDecl); ok {
			in = f.Name.Name
		}
		note := func(p token.Pos, bubble bool) {
			if !commented[line(p)] {
				c.sleeps = append(c.sleeps, use{name + ":" + strconv.Itoa(line(p)), in, bubble})
			}
		}
		var visit func(bubble bool) func(ast.Node) bool
		visit = func(bubble bool) func(ast.Node) bool {
			return func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.FuncDecl:
					ast.Inspect(n.Type, visit(bubble))
					if n.Body != nil {
						ast.Inspect(n.Body, visit(bubble))
					}
					return false
				case *ast.CallExpr:
					if isName(n.Fun, "synctest", "Test") {
						for _, arg := range n.Args {
							ast.Inspect(arg, visit(true))
						}
						return false
					}
				case *ast.CommClause:
					if wait, ok := n.Comm.(*ast.ExprStmt); ok {
						ast.Inspect(wait.X, visit(bubble))
						ast.Inspect(&ast.BlockStmt{List: n.Body}, visit(bubble))
						return false
					}
				case *ast.ExprStmt:
					if wait, ok := n.X.(*ast.UnaryExpr); ok && wait.Op == token.ARROW && isCall(wait.X, "time", "After") {
						note(n.Pos(), bubble)
					}
				case *ast.SelectorExpr:
					if slices.ContainsFunc(waits, func(name string) bool { return isName(n, "time", name) }) {
						note(n.Pos(), bubble)
					}
					x, ok := n.X.(*ast.Ident)
					return !ok || !imported[x.Name]
				case *ast.Ident:
					c.calls[n.Name] = append(c.calls[n.Name], use{in: in, bubble: bubble})
				}
				return true
			}
		}
		ast.Inspect(decl, visit(false))
	}
	return nil
}

// unexplained returns the sleeps that may run outside a bubble.
func (c *testCode) unexplained() []string {
	outside := map[string]bool{} // functions known to run there
	free := func(u use) bool { return !u.bubble && (outside[u.in] || len(c.calls[u.in]) == 0) }
	for grown := true; grown; {
		grown = false
		for name, uses := range c.calls {
			if !outside[name] && slices.ContainsFunc(uses, free) {
				outside[name], grown = true, true
			}
		}
	}
	var at []string
	for _, sleep := range c.sleeps {
		if free(sleep) {
			at = append(at, sleep.at)
		}
	}
	return at
}

// isCall reports whether an expression calls a function of a package.
func isCall(n ast.Expr, pkg, name string) bool {
	call, ok := n.(*ast.CallExpr)
	return ok && isName(call.Fun, pkg, name)
}

// isName reports whether an expression names a function of a package.
func isName(n ast.Expr, pkg, name string) bool {
	s, ok := n.(*ast.SelectorExpr)
	if !ok || s.Sel.Name != name {
		return false
	}
	x, ok := s.X.(*ast.Ident)
	return ok && x.Name == pkg
}
