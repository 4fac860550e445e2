package doccheck

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"headway/internal/cli"
	"headway/internal/config"
	"headway/limit"
	"headway/politeness"
)

// catalogue is the names that exist in the code: what a page may refer to.
type catalogue struct {
	root     fs.FS           // the module
	settings map[string]bool // keys, variables of the environment, names of limits, presets
	flags    map[string]bool // "crawl --workers"
	tests    map[string]bool // "limit.TestMessages"; the root package is headway
}

// newCatalogue collects the names.
func newCatalogue(root fs.FS) (*catalogue, error) {
	c := &catalogue{root: root, settings: map[string]bool{}, flags: map[string]bool{}, tests: map[string]bool{}}
	for _, section := range config.Table {
		for i := range section.Settings {
			s := &section.Settings[i]
			c.settings[s.Key], c.settings[s.Env()] = true, true
		}
	}
	for _, n := range limit.Names {
		c.settings[string(n)] = true
	}
	for _, name := range politeness.PresetNames() {
		c.settings["preset "+name] = true
	}
	c.readFlags(cli.Root())
	return c, c.readTests()
}

// readFlags collects the flags of a command and its subcommands.
func (c *catalogue) readFlags(cmd *cobra.Command) {
	name := strings.TrimPrefix(strings.TrimPrefix(cmd.CommandPath(), "headway"), " ")
	cmd.NonInheritedFlags().VisitAll(func(f *pflag.Flag) { c.flags[name+" --"+f.Name] = true })
	for _, sub := range cmd.Commands() {
		c.readFlags(sub)
	}
}

// readTests parses every test file of the module.
func (c *catalogue) readTests() error {
	return fs.WalkDir(c.root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "node_modules") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, "_test.go") {
			return nil
		}
		text, err := fs.ReadFile(c.root, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		pkg := path.Dir(name)
		if pkg == "." {
			pkg = "headway"
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil {
				c.tests[pkg+"."+f.Name.Name] = true
			}
		}
		return nil
	})
}

// testSpan is a reference to a test: its package, its function, and optionally a
// script or scenario in the package's testdata.
var testSpan = regexp.MustCompile(`^([a-z0-9/]+)\.((?:Test|Fuzz|Example|Benchmark)[A-Za-z0-9_]*)(?:\(([a-z0-9-]+)\))?$`)

// checkTest returns an error for a test that does not exist.
func (c *catalogue) checkTest(name string) error {
	m := testSpan.FindStringSubmatch(name)
	if m == nil {
		return fmt.Errorf("%q does not read as a test", name)
	}
	pkg, function, script := m[1], m[2], m[3]
	if !c.tests[pkg+"."+function] {
		return fmt.Errorf("%s has no %s", pkg, function)
	}
	if script != "" {
		dir := path.Join(pkg, "testdata")
		for _, place := range []string{dir, path.Join(dir, "script")} {
			if _, err := fs.Stat(c.root, path.Join(place, script+".txtar")); err == nil {
				return nil
			}
		}
		return fmt.Errorf("%s has no %s.txtar", dir, script)
	}
	return nil
}

// checkSetting returns an error for a setting or flag that does not exist. A flag
// without a command belongs to crawl.
func (c *catalogue) checkSetting(name string) error {
	if cmd, flag, ok := strings.Cut(name, "--"); ok {
		full := strings.TrimSpace(cmd)
		if full == "" {
			full = "crawl"
		}
		if !c.flags[full+" --"+flag] {
			return fmt.Errorf("headway %s has no flag --%s", full, flag)
		}
		return nil
	}
	if !c.settings[name] {
		return fmt.Errorf("there is no setting %q", name)
	}
	return nil
}

// checkDecision returns an error for a wrong link to a decision.
func (c *catalogue) checkDecision(number, link string) error {
	if _, err := fs.Stat(c.root, path.Join("docs", link)); err != nil {
		return fmt.Errorf("there is no decision %s", link)
	}
	if !strings.HasPrefix(path.Base(link), number+"-") {
		return fmt.Errorf("%s is not decision %s", link, number)
	}
	return nil
}

// row is a line of a table on the page.
type row struct {
	line                   int
	says, here, set, shown string
}

// columns are the headings of the tables on the page.
var columns = []string{"it says", "Headway", "set by", "shown by"}

// readRows reads the tables of a page. Other headings are an error.
func readRows(page string) (rows []row, problems []string) {
	head := false
	for i, text := range strings.Split(page, "\n") {
		if !strings.HasPrefix(text, "|") {
			head = false
			continue
		}
		cells := strings.Split(strings.Trim(text, "|"), "|")
		for j := range cells {
			cells[j] = strings.TrimSpace(cells[j])
		}
		switch {
		case !head && !slices.Equal(cells, columns):
			problems = append(problems, fmt.Sprintf("line %d: a table that begins with %q", i+1, cells))
			head = true
		case !head:
			head = true
		case strings.Trim(text, "|-") == "":
		case len(cells) != len(columns):
			problems = append(problems, fmt.Sprintf("line %d: %d cells, want %d", i+1, len(cells), len(columns)))
		default:
			rows = append(rows, row{i + 1, cells[0], cells[1], cells[2], cells[3]})
		}
	}
	return rows, problems
}

var (
	codeSpan     = regexp.MustCompile("^`([^`]+)`$")
	decisionLink = regexp.MustCompile(`^\[(\d{4})\]\((adr/[^)]+)\)$`)
)

// Special contents of a cell.
const (
	setFixed   = "fixed"   // a constant without a setting
	setNothing = "nothing" // there is nothing to set
)

// later marks features that do not exist yet.
var later = []string{"comes with the fleet", "comes with the service"}

// check returns the errors in a row.
func (c *catalogue) check(r row) []string {
	var problems []string
	bad := func(err error) {
		if err != nil {
			problems = append(problems, fmt.Sprintf("line %d: %v", r.line, err))
		}
	}
	if r.says == "" || r.here == "" {
		bad(fmt.Errorf("a row that says nothing"))
	}
	if r.set != setFixed && r.set != setNothing {
		for _, part := range strings.Split(r.set, ", ") {
			if m := codeSpan.FindStringSubmatch(part); m != nil {
				bad(c.checkSetting(m[1]))
			} else {
				bad(fmt.Errorf("set by %q: neither a setting nor %q or %q", part, setFixed, setNothing))
			}
		}
	}
	for _, part := range strings.Split(r.shown, ", ") {
		switch m, link := codeSpan.FindStringSubmatch(part), decisionLink.FindStringSubmatch(part); {
		case m != nil:
			bad(c.checkTest(m[1]))
		case link != nil:
			bad(c.checkDecision(link[1], link[2]))
		case !slices.Contains(later, part):
			bad(fmt.Errorf("shown by %q: neither a test, nor a decision, nor %q", part, later))
		}
	}
	return problems
}
