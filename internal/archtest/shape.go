package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strings"
)

// Shape is the size of a type.
type Shape struct {
	Fields  int // of a struct; an embedded one counts as one
	Methods int
}

// Shapes counts the fields and methods of the types of a package, without tests.
func Shapes(fsys fs.FS, dir string) (map[string]Shape, error) {
	files, err := fs.Glob(fsys, path.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	shapes := map[string]Shape{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("parse %s: %w", name, err)
		}
		for _, d := range file.Decls {
			count(shapes, d)
		}
	}
	return shapes, nil
}

// count adds the types and methods of a declaration.
func count(shapes map[string]Shape, d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			return
		}
		name := receiver(d.Recv.List[0].Type)
		s := shapes[name]
		s.Methods++
		shapes[name] = s
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			t, ok := spec.(*ast.TypeSpec)
			if !ok {
				continue
			}
			body, ok := t.Type.(*ast.StructType)
			if !ok {
				continue
			}
			s := shapes[t.Name.Name]
			for _, f := range body.Fields.List {
				s.Fields += max(len(f.Names), 1)
			}
			shapes[t.Name.Name] = s
		}
	}
}

// receiver is the name of the type of a receiver.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
