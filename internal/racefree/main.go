// Command racefree lists the tests that do more without the race detector, so that
// only these run a second time.
//
// Everything runs under the race detector. Some tests do less there: they measure
// memory, or try fewer cases. They use [race.Enabled], or are in a file with the build
// tag. A test is listed if it uses, directly or through functions of its package, the
// package race, a test helper that imports it, or a name from a file that only the
// build without the tag has. Names are compared, not the objects they refer to: it may
// list a test too many, never one too few.
//
// It prints the packages on one line and a pattern for -run on the next. It fails on
// code outside tests that depends on the tag.
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
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "racefree:", err)
		os.Exit(1)
	}
}

// racePackage is the one package that may differ under the race detector.
const racePackage = "headway/internal/race"

// pack is a package in the output of go list.
type pack struct {
	Dir, ImportPath                    string
	GoFiles, TestGoFiles, XTestGoFiles []string
	Imports, TestImports, XTestImports []string
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
	differs := importers(plain)
	var paths, names []string
	for at, p := range plain {
		other := raced[at]
		if at == racePackage {
			continue
		}
		if other == nil || !slices.Equal(p.GoFiles, other.GoFiles) {
			return fmt.Errorf("%s differs under the race detector, not only its tests", at)
		}
		imports := slices.ContainsFunc(slices.Concat(p.TestImports, p.XTestImports), func(i string) bool { return differs[i] })
		if len(p.tests()) == 0 || !differs[at] && !imports && slices.Equal(p.tests(), other.tests()) {
			continue
		}
		sources := map[string][]byte{}
		for _, name := range p.tests() {
			if sources[name], err = os.ReadFile(filepath.Join(p.Dir, name)); err != nil {
				return err
			}
		}
		found, err := touched(sources, differs, func(name string) bool { return differs[at] || !slices.Contains(other.tests(), name) })
		if err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
		paths, names = append(paths, at), append(names, found...)
	}
	slices.Sort(paths)
	slices.Sort(names)
	_, err = fmt.Fprintf(out, "%s\n^(%s)$\n", strings.Join(paths, " "), strings.Join(slices.Compact(names), "|"))
	return err
}

// importers are the package race and the packages that import it outside their tests,
// directly or not.
func importers(all map[string]*pack) map[string]bool {
	differs := map[string]bool{racePackage: true}
	for grown := true; grown; {
		grown = false
		for at, p := range all {
			if !differs[at] && slices.ContainsFunc(p.Imports, func(i string) bool { return differs[i] }) {
				differs[at], grown = true, true
			}
		}
	}
	return differs
}

// list runs go list for all packages of the module.
func list(ctx context.Context, flags ...string) (map[string]*pack, error) {
	cmd := exec.CommandContext(ctx, "go", append(append([]string{"list"}, flags...), "-json=Dir,ImportPath,GoFiles,TestGoFiles,XTestGoFiles,Imports,TestImports,XTestImports", "./...")...)
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

// touched lists the tests in the sources that use a package that differs or a name of
// a file of one build only.
func touched(sources map[string][]byte, differs map[string]bool, own func(name string) bool) ([]string, error) {
	uses := map[string]map[string]bool{} // a name of the package to all names it uses
	reached := map[string]bool{}
	for name, source := range sources {
		file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		imported := map[string]bool{} // the names of packages that differ
		for _, i := range file.Imports {
			if at, err := strconv.Unquote(i.Path.Value); err != nil {
				return nil, err
			} else if !differs[at] {
				continue
			} else if i.Name != nil {
				imported[i.Name.Name] = true
			} else {
				imported[path.Base(at)] = true
			}
		}
		for _, decl := range file.Decls {
			for _, d := range declared(decl) {
				if uses[d] == nil {
					uses[d] = map[string]bool{}
				}
				ast.Inspect(decl, func(n ast.Node) bool {
					if id, ok := n.(*ast.Ident); ok {
						uses[d][id.Name] = true
						if imported[id.Name] {
							reached[d] = true
						}
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
		return nil, errors.New("a file depends on the race detector, but no test does")
	}
	return tests, nil
}

// declared are the names that a declaration adds to the package. A method counts by
// its own name, whatever its type.
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
