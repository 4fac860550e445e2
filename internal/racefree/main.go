// Command racefree lists the tests that do more without the race detector, so that
// only these run a second time.
//
// Everything runs under the race detector. Some tests do less there: they measure
// memory, or try fewer cases. They use [race.Enabled] or [race.Short], or are in a file
// with the build tag. A test is listed if it uses one of these, or a name from a file that
// only the build without the tag has, directly or through functions of its package and of
// test helpers. Names are compared, not the objects they refer to: it may list a test too
// many, never one too few.
//
// It prints a line for each package: its path and a pattern for -run. It fails on code
// outside tests that depends on the tag.
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
	"maps"
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

func (p *pack) files() []string { return slices.Concat(p.GoFiles, p.tests()) }

func run(ctx context.Context, out io.Writer) error {
	plain, err := list(ctx)
	if err != nil {
		return err
	}
	raced, err := list(ctx, "-race")
	if err != nil {
		return err
	}
	differs, err := helpers(plain)
	if err != nil {
		return err
	}
	for _, at := range slices.Sorted(maps.Keys(plain)) {
		p, other := plain[at], raced[at]
		if at == racePackage {
			continue
		}
		if other == nil || !slices.Equal(p.GoFiles, other.GoFiles) {
			return fmt.Errorf("%s differs under the race detector, not only its tests", at)
		}
		names := p.tests()
		if differs[at] != nil {
			names = slices.Concat(p.GoFiles, names)
		}
		sources, err := p.read(names)
		if err != nil {
			return err
		}
		found, err := touched(sources, differs, false, func(name string) bool { return !slices.Contains(other.files(), name) })
		if err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
		if tests := testsOf(found); len(tests) > 0 {
			if _, err := fmt.Fprintf(out, "%s ^(%s)$\n", at, strings.Join(tests, "|")); err != nil {
				return err
			}
		}
	}
	return nil
}

// helpers are the packages that use the package race outside their tests, directly or not,
// with the names in them that differ.
func helpers(all map[string]*pack) (map[string]map[string]bool, error) {
	differs := map[string]map[string]bool{racePackage: {"Enabled": true, "Short": true}}
	for grown := true; grown; {
		grown = false
		for at, p := range all {
			if at == racePackage || !slices.ContainsFunc(p.Imports, func(i string) bool { return differs[i] != nil }) {
				continue
			}
			sources, err := p.read(p.GoFiles)
			if err != nil {
				return nil, err
			}
			found, err := touched(sources, differs, true, func(string) bool { return false })
			if err != nil {
				return nil, fmt.Errorf("%s: %w", at, err)
			}
			if len(found) > len(differs[at]) {
				differs[at], grown = found, true
			}
		}
	}
	return differs, nil
}

// read returns the text of files of the package.
func (p *pack) read(names []string) (map[string][]byte, error) {
	sources := map[string][]byte{}
	for _, name := range names {
		source, err := os.ReadFile(filepath.Join(p.Dir, name))
		if err != nil {
			return nil, err
		}
		sources[name] = source
	}
	return sources, nil
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

// touched are the names declared in the sources that use a name that differs, of another
// package or of a file of one build only. In a helper so is a type that has such a method:
// whoever has a value may call the method through an interface.
func touched(sources map[string][]byte, differs map[string]map[string]bool, helper bool, own func(name string) bool) (map[string]bool, error) {
	uses := map[string]map[string]bool{} // a name of the package to all names it uses
	reached := map[string]bool{}
	receivers := map[string][]string{} // the types that have a method of a name
	for name, source := range sources {
		file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		imported := map[string]map[string]bool{} // the names that differ, by the name of their package
		for _, i := range file.Imports {
			at, err := strconv.Unquote(i.Path.Value)
			switch {
			case err != nil:
				return nil, err
			case differs[at] == nil:
			case i.Name == nil:
				imported[path.Base(at)] = differs[at]
			case i.Name.Name == ".":
				return nil, fmt.Errorf("%s imports %s without a name", name, at)
			default:
				imported[i.Name.Name] = differs[at]
			}
		}
		for _, decl := range file.Decls {
			for _, d := range declared(decl) {
				if uses[d] == nil {
					uses[d] = map[string]bool{}
				}
				if of := receiver(decl); of != "" {
					receivers[d] = append(receivers[d], of)
				}
				ast.Inspect(decl, func(n ast.Node) bool {
					switch n := n.(type) {
					case *ast.Ident:
						uses[d][n.Name] = true
					case *ast.SelectorExpr:
						if of, ok := n.X.(*ast.Ident); ok && imported[of.Name][n.Sel.Name] {
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
			for name := range names {
				if !reached[d] && reached[name] {
					reached[d], grown = true, true
				}
			}
		}
		for d, types := range receivers {
			for _, of := range types {
				if helper && reached[d] && !reached[of] {
					reached[of], grown = true, true
				}
			}
		}
	}
	for d := range reached {
		if d == "TestMain" || d == "init" || d == "_" {
			return nil, fmt.Errorf("%s depends on the race detector, and with it every test", d)
		}
	}
	return reached, nil
}

// testsOf are the tests among names.
func testsOf(names map[string]bool) (tests []string) {
	for _, name := range slices.Sorted(maps.Keys(names)) {
		for _, kind := range []string{"Test", "Fuzz", "Example"} {
			if strings.HasPrefix(name, kind) {
				tests = append(tests, name)
			}
		}
	}
	return tests
}

// receiver is the type of a method; empty for other declarations.
func receiver(decl ast.Decl) (name string) {
	f, ok := decl.(*ast.FuncDecl)
	if !ok || f.Recv == nil {
		return ""
	}
	ast.Inspect(f.Recv.List[0].Type, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && name == "" {
			name = id.Name
		}
		return name == ""
	})
	return name
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
