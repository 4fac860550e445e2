// Command unraced names the tests that are others without the race detector, so
// that these alone need to run a second time.
//
// Everything runs under the race detector. Some tests do less there: they measure
// memory, or draw fewer cases. They can tell by the build tag alone, so a package
// that is the same with and without the tag has no such test. In the others it
// is any test that reaches, by whatever function of its package, a name of a file
// that only the build without the tag has. Names are compared, not what they stand
// for: it may name a test too many, never one too few.
//
// It prints the packages on one line and a pattern for -run on the next. It refuses
// code outside tests that depends on the tag, because there importers would be
// others too.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "unraced:", err)
		os.Exit(1)
	}
}

// pack is a package as go list shows it.
type pack struct {
	Dir, ImportPath                    string
	GoFiles, TestGoFiles, XTestGoFiles []string
}

// tests are the files of its tests.
func (p *pack) tests() []string { return slices.Concat(p.TestGoFiles, p.XTestGoFiles) }

func run(ctx context.Context, out io.Writer) error {
	plain, err := list(ctx)
	if err != nil {
		return err
	}
	raced, err := list(ctx, "-race")
	if err != nil {
		return err
	}
	var paths, names []string
	for path, p := range plain {
		other := raced[path]
		if other == nil || !slices.Equal(p.GoFiles, other.GoFiles) {
			return fmt.Errorf("%s is another under the race detector, not only its tests", path)
		}
		if slices.Equal(p.tests(), other.tests()) {
			continue
		}
		sources := map[string][]byte{}
		for _, name := range p.tests() {
			if sources[name], err = os.ReadFile(filepath.Join(p.Dir, name)); err != nil {
				return err
			}
		}
		found, err := touched(sources, func(name string) bool { return !slices.Contains(other.tests(), name) })
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		paths, names = append(paths, path), append(names, found...)
	}
	slices.Sort(paths)
	slices.Sort(names)
	_, err = fmt.Fprintf(out, "%s\n^(%s)$\n", strings.Join(paths, " "), strings.Join(slices.Compact(names), "|"))
	return err
}

// list asks go list for all packages of the module.
func list(ctx context.Context, flags ...string) (map[string]*pack, error) {
	cmd := exec.CommandContext(ctx, "go", append(append([]string{"list"}, flags...), "-json=Dir,ImportPath,GoFiles,TestGoFiles,XTestGoFiles", "./...")...)
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	all := map[string]*pack{}
	for dec := json.NewDecoder(pipe); ; {
		var p pack
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, errors.Join(err, cmd.Wait())
		}
		all[p.ImportPath] = &p
	}
	if err := cmd.Wait(); err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	return all, nil
}

// touched lists the tests among the sources that reach a name of an own file.
func touched(sources map[string][]byte, own func(name string) bool) ([]string, error) {
	uses := map[string]map[string]bool{} // a name of the package to all names it uses
	reached := map[string]bool{}
	for name, source := range sources {
		file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, decl := range file.Decls {
			for _, d := range declared(decl) {
				if uses[d] == nil {
					uses[d] = map[string]bool{}
				}
				ast.Inspect(decl, func(n ast.Node) bool {
					if id, ok := n.(*ast.Ident); ok {
						uses[d][id.Name] = true
					}
					return true
				})
				if own(name) {
					reached[d] = true
				}
			}
		}
	}
	for grown := true; grown; {
		grown = false
		for d, names := range uses {
			if reached[d] {
				continue
			}
			for name := range names {
				if reached[name] {
					reached[d], grown = true, true
					break
				}
			}
		}
	}
	var tests []string
	for d := range reached {
		switch {
		case d == "TestMain" || d == "init" || d == "_":
			return nil, fmt.Errorf("%s depends on the race detector, and with it every test", d)
		case strings.HasPrefix(d, "Test"), strings.HasPrefix(d, "Fuzz"), strings.HasPrefix(d, "Example"):
			tests = append(tests, d)
		}
	}
	if len(tests) == 0 {
		return nil, errors.New("a file depends on the race detector, and no test on it")
	}
	return tests, nil
}

// declared are the names a declaration gives to the package. A method counts by
// its own name, whatever it belongs to.
func declared(decl ast.Decl) (names []string) {
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		names = append(names, decl.Name.Name)
	case *ast.GenDecl:
		for _, spec := range decl.Specs {
			switch spec := spec.(type) {
			case *ast.ValueSpec:
				for _, name := range spec.Names {
					names = append(names, name.Name)
				}
			case *ast.TypeSpec:
				names = append(names, spec.Name.Name)
			}
		}
	}
	return names
}
