package guard_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// mayDial are the folders that may open connections, with the reason.
var mayDial = map[string]string{
	"fetch/guard":           "the guard itself",
	"fetch/guard/guardtest": "a name server for tests",
	"bench/run":             "a driver of measurements that is not shipped; speaks to the lab on the loopback",
	"client":                "for other programs; connects to the one configured server",
	"lab":                   "a server; speaks to itself on the loopback",
	"internal/ownnet":       "switches the loopback of a test's own network; sends nothing, and is not shipped",
}

// Side doors: whatever opens a connection or looks up a name, by import path. A name
// ending in * is a prefix. "type" marks types that dial when used as a value; a pointer
// to one created by the guard is fine.
var (
	dialFuncs = map[string][]string{
		"net":                   {"Dial*", "Lookup*", "DefaultResolver"},
		"net/http":              {"DefaultClient", "DefaultTransport", "Get", "Head", "Post", "PostForm", "NewFileTransport*"},
		"crypto/tls":            {"Dial*"},
		"net/rpc":               {"Dial*"},
		"net/smtp":              {"Dial", "SendMail"},
		"net/textproto":         {"Dial"},
		"net/http/httputil":     {"NewSingleHostReverseProxy"},
		"syscall":               {"Connect", "Socket", "Sendto"},
		"golang.org/x/sys/unix": {"Connect", "Socket", "Sendto"},
	}
	dialTypes = map[string][]string{
		"net":               {"Dialer", "Resolver"},
		"net/http":          {"Client", "Transport"},
		"net/http/httputil": {"ReverseProxy"},
		"crypto/tls":        {"Dialer"},
	}
	dialPackages = []string{
		"github.com/miekg/dns", "golang.org/x/net/proxy", "golang.org/x/net/http2", "golang.org/x/net/websocket", "golang.org/x/net/icmp",
	}
)

// TestOnlyDialler reads the source of the whole module: only the guard may dial, look
// up names, or create an HTTP client or transport.
func TestOnlyDialler(t *testing.T) {
	root := moduleRoot(t)
	files := 0
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if rel != "." && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") || fileExists(filepath.Join(name, "go.mod"))) {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(rel) != ".go" || strings.HasSuffix(rel, "_test.go") || exempt(path.Dir(rel)) {
			return nil
		}
		files++
		src, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		doors, err := sideDoors(rel, src)
		if err != nil {
			return err
		}
		for _, door := range doors {
			t.Errorf("%s: use the Dialer, Transport or Client of headway/fetch/guard", door)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files == 0 {
		t.Error("no source found")
	}
}

// TestSideDoorsAreFound checks that the search finds what it should.
func TestSideDoorsAreFound(t *testing.T) {
	tests := []struct {
		name, imports, code string
		found               int
	}{
		{"dial", `"net"`, `var _, _ = net.Dial("tcp", "x:1")`, 1},
		{"dial with timeout", `"net"`, `var _, _ = net.DialTimeout("tcp", "x:1", 0)`, 1},
		{"renamed import", `n "net"`, `var d n.Dialer`, 1},
		{"dot import", `. "net"`, ``, 1},
		{"lookup", `"net"`, `var _, _ = net.LookupHost("x")`, 1},
		{"http get", `"net/http"`, `var _, _ = http.Get("x")`, 1},
		{"http client", `"net/http"`, `var c = &http.Client{}`, 1},
		{"new transport", `"net/http"`, `var c = new(http.Transport)`, 1},
		{"client by value", `"net/http"`, `type s struct{ c http.Client }`, 1},
		{"default client", `"net/http"`, `var c = http.DefaultClient`, 1},
		{"tls", `"crypto/tls"`, `var _, _ = tls.Dial("tcp", "x:1", nil)`, 1},
		{"a package that dials", `_ "github.com/miekg/dns"`, ``, 1},
		{"a listener is not a dialler", `"net"`, `var _, _ = net.Listen("tcp", "x:1")`, 0},
		{"a pointer is somebody else's", `"net/http"`, `type s struct{ c *http.Client; t []*http.Transport }`, 0},
		{"a header is not a client", `"net/http"`, `var h = http.Header{}`, 0},
		{"another package of that name", `http "example.com/http"`, `var _, _ = http.Get("x")`, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			doors, err := sideDoors("x.go", fmt.Appendf(nil, "package x\nimport %s\n%s\n", tt.imports, tt.code))
			if err != nil {
				t.Fatal(err)
			}
			if len(doors) != tt.found {
				t.Errorf("found %v, want %d", doors, tt.found)
			}
		})
	}
}

func moduleRoot(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for !fileExists(filepath.Join(dir, "go.mod")) {
		if dir == filepath.Dir(dir) {
			t.Fatal("no go.mod above this package")
		}
		dir = filepath.Dir(dir)
	}
	return dir
}

func fileExists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

func exempt(dir string) bool {
	for allowed := range mayDial {
		if dir == allowed || allowed == "lab" && strings.HasPrefix(dir, "lab/") {
			return true
		}
	}
	return false
}

// sideDoors returns the places where a file could open its own connection.
func sideDoors(name string, src []byte) ([]string, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var doors []string
	report := func(pos token.Pos, what string) {
		doors = append(doors, fmt.Sprintf("%s: %s", fset.Position(pos), what))
	}
	imported := map[string]string{} // name in the file → import path
	for _, spec := range file.Imports {
		imp, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		local := path.Base(imp)
		if spec.Name != nil {
			local = spec.Name.Name
		}
		if slices.ContainsFunc(dialPackages, func(p string) bool { return imp == p || strings.HasPrefix(imp, p+"/") }) {
			report(spec.Pos(), "imports "+imp)
		}
		if local == "." && (dialFuncs[imp] != nil || dialTypes[imp] != nil) {
			report(spec.Pos(), "dot import of "+imp)
		}
		imported[local] = imp
	}
	// A pointer to a client or transport created elsewhere is fine.
	pointed := map[*ast.SelectorExpr]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if star, ok := n.(*ast.StarExpr); ok {
			if sel, ok := star.X.(*ast.SelectorExpr); ok {
				pointed[sel] = true
			}
		}
		return true
	})
	ast.Inspect(file, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		pkg, ok := sel.X.(*ast.Ident)
		if !ok {
			return true
		}
		imp := imported[pkg.Name]
		if matches(dialFuncs[imp], sel.Sel.Name) || matches(dialTypes[imp], sel.Sel.Name) && !pointed[sel] {
			report(sel.Pos(), imp+"."+sel.Sel.Name)
		}
		return true
	})
	return doors, nil
}

func matches(names []string, name string) bool {
	return slices.ContainsFunc(names, func(n string) bool {
		prefix, wild := strings.CutSuffix(n, "*")
		return n == name || wild && strings.HasPrefix(name, prefix)
	})
}
