// Package archtest checks which package imports which.
//
// The map below is the architecture in one place: a package may import only what its
// line lists, and a package without a line fails the test, so that the map is changed
// on purpose and in review. Test files may import anything.
package archtest

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Map says what each package may import in addition to the standard library, one
// package per line: its path in the module, then our packages by path and other
// modules by import path. A line that ends in /* is for all folders directly below
// that have no line of their own, and what it allows in this way is any of those
// folders.
const Map = `
# the journey of one URL; only the engine joins its stops
.                        content extract weburl scope frontier governor robots politeness fetch fetch/guard visit store output limit job ask gauge survey internal/control internal/engine internal/jobrun
internal/engine          content extract weburl scope frontier governor robots politeness fetch fetch/guard parse visit store store/journal output limit job ask gauge internal/committer internal/control internal/discovery internal/exchange internal/fetchpool internal/jobrun internal/loop internal/ownership internal/pace internal/redirects internal/result
survey                   weburl scope robots politeness fetch parse visit store visitor internal/borrow internal/exchange internal/pace
gauge                    ask frontier job limit politeness store visit
visitor                  content extract weburl robots politeness fetch visit internal/exchange
internal/exchange        content extract weburl robots politeness fetch fetch/guard parse visit
internal/loop            fetch/guard
internal/committer       frontier job store visit internal/discovery internal/loop
internal/jobrun          job limit politeness store visit weburl internal/discovery
internal/control         ask frontier gauge job limit politeness store visit weburl internal/borrow internal/committer internal/loop internal/pace
internal/fetchpool       content extract fetch frontier gauge internal/discovery internal/exchange internal/loop internal/redirects output parse robots store store/journal visit weburl
internal/redirects       job store visit weburl
internal/ownership       store
internal/result          job output store visit
internal/replay          content fetch internal/exchange job output output/warc robots store visit weburl
internal/archive         fetch fetch/guard internal/atomicfile output output/s3 output/warc visit weburl
internal/discovery       frontier job parse scope store visit weburl
internal/borrow          politeness store internal/pace
internal/pace            politeness store
weburl                   golang.org/x/net
scope                    weburl
frontier                 weburl visit job politeness
robots                   weburl
politeness
politeness/internal/sim  politeness
ask                      politeness visit job store weburl
answer                   ask store visit robots scope politeness limit job weburl frontier fetch fetch/guard
fetch                    weburl fetch/guard fetch/internal/inflate github.com/klauspost/compress github.com/andybalholm/brotli
fetch/internal/inflate
fetch/guard              github.com/miekg/dns
fetch/guard/guardtest    github.com/miekg/dns
internal/htmltoken
parse                    weburl internal/htmltoken golang.org/x/text github.com/zeebo/xxh3
content                  weburl parse internal/htmltoken
extract                  weburl scope internal/htmltoken github.com/andybalholm/cascadia github.com/antchfx/xpath go.yaml.in/yaml/v3 golang.org/x/net
visit                    weburl job
store                    weburl visit job limit
store/journal            weburl job
store/internal/ledger    store job
store/internal/record    store visit weburl github.com/klauspost/compress
store/memory             store store/internal/ledger weburl visit job limit
store/sqlite             store store/internal/ledger store/internal/record weburl visit job modernc.org/sqlite github.com/pressly/goose/v3 golang.org/x/sys
store/postgres           store store/internal/record weburl visit job limit github.com/jackc/pgx/v5 github.com/pressly/goose/v3
store/storetest          internal/race internal/stall store store/internal/record store/memory weburl visit job limit github.com/google/go-cmp pgregory.net/rapid
output                   visit
output/*                 output internal/atomicfile visit weburl
output/parquet           output internal/atomicfile visit github.com/parquet-go/parquet-go github.com/klauspost/compress
output/markdown          output internal/atomicfile visit weburl golang.org/x/text
output/warc              output internal/atomicfile visit weburl github.com/klauspost/compress
output/format            output output/*
output/report            answer internal/humanize store visit job weburl github.com/zeebo/xxh3
output/s3                fetch/guard github.com/aws/aws-sdk-go-v2 github.com/aws/smithy-go
output/s3/s3test         fetch/guard
output/outputtest        internal/race output internal/atomicfile visit weburl github.com/google/go-cmp

# how much, for whom
limit
governor
job

# for whom: the service
service                  fetch/guard internal/archive internal/config service/internal/api service/internal/chore service/internal/export service/internal/proof service/internal/webhook store/postgres golang.org/x/net
service/apikey
service/orders           service/internal/proof store
client
client/internal/generate
service/internal/openapi service/internal/api
service/internal/api     answer ask fetch/guard internal/config internal/jobspec job limit output/format output/report politeness service/apikey service/internal/event service/internal/export service/internal/proof service/internal/schedule service/internal/webhook service/orders store visit weburl github.com/danielgtaylor/huma/v2

# a web to prove it in
lab                      lab/temper github.com/klauspost/compress github.com/andybalholm/brotli
lab/temper
lab/labtest              lab weburl
internal/simweb          lab lab/temper
bench/run                lab

# the program
cmd/headway              internal/cli
service/internal/chore   internal/archive job service/internal/export service/internal/retention service/internal/schedule service/internal/webhook store store/postgres github.com/jackc/pgx/v5 github.com/riverqueue/river
service/internal/event   job limit store
service/internal/export  fetch/guard internal/result job output/format output/s3 store github.com/jackc/pgx/v5 github.com/riverqueue/river
service/internal/proof   fetch/guard store weburl
service/internal/retention job store github.com/riverqueue/river
service/internal/schedule answer store github.com/jackc/pgx/v5 github.com/riverqueue/river github.com/robfig/cron/v3
service/internal/webhook fetch/guard job service/internal/event store github.com/jackc/pgx/v5 github.com/riverqueue/river
internal/cli             internal/cli/command internal/cli/crawl internal/cli/export internal/cli/fleet internal/cli/inspect internal/cli/lab internal/config github.com/spf13/cobra github.com/spf13/pflag
internal/cli/command     answer ask fetch fetch/guard internal/atomicfile internal/config internal/humanize internal/jobspec job store store/sqlite visit weburl github.com/spf13/cobra github.com/spf13/pflag golang.org/x/term
internal/cli/crawl       . answer ask content extract fetch fetch/guard governor internal/check internal/cli/command internal/cli/export internal/config internal/humanize internal/jobspec internal/view internal/warm job limit output output/format output/jsonl output/warc robots scope store store/sqlite survey visit weburl github.com/spf13/cobra github.com/spf13/pflag golang.org/x/sys golang.org/x/term
internal/cli/export      answer content fetch/guard internal/atomicfile internal/cli/command internal/config internal/replay internal/result job output/format output/report output/s3 output/warc store/sqlite github.com/spf13/cobra github.com/spf13/pflag
internal/cli/fleet       . answer ask client fetch/guard gauge internal/archive internal/cli/command internal/cli/crawl internal/cli/export internal/cli/inspect internal/config internal/humanize internal/jobspec internal/metrics internal/traces job limit output/s3 output/warc politeness scope service service/apikey service/orders store store/postgres visit weburl github.com/spf13/cobra github.com/spf13/pflag
internal/cli/inspect     . answer ask content extract fetch fetch/guard internal/cli/command internal/config job output/format politeness robots store store/sqlite visit visitor weburl github.com/spf13/cobra github.com/spf13/pflag
internal/cli/lab         fetch/guard internal/cli/command lab lab/temper weburl github.com/spf13/cobra github.com/spf13/pflag
internal/warm            internal/atomicfile job store visit weburl
internal/view            . internal/humanize ask frontier job limit store visit charm.land/bubbletea/v2 charm.land/lipgloss/v2 golang.org/x/sys
internal/humanize         store visit
internal/check           internal/atomicfile job store visit weburl output fetch/guard scope
internal/jobspec         answer fetch internal/config job limit store weburl
internal/config          content extract internal/machine output/format limit politeness weburl fetch/guard github.com/spf13/pflag go.yaml.in/yaml/v3
internal/traces          fetch/guard output visit go.opentelemetry.io/otel
internal/metrics         gauge frontier politeness visit job github.com/prometheus/client_golang
internal/refgen          gauge job output/format visit internal/cli internal/cli/command internal/config internal/metrics github.com/spf13/cobra github.com/spf13/pflag
internal/archtest
internal/doccheck
internal/doctest
internal/e2e
internal/fleettest
internal/machine
internal/ownnet          golang.org/x/sys
internal/pgtest          github.com/jackc/pgx/v5
internal/stall
internal/race
internal/racefree
internal/vectors
internal/atomicfile       golang.org/x/sys
`

// Rules is a parsed import map: package path to what it may import.
type Rules map[string][]string

// ParseMap parses the format of [Map].
func ParseMap(text string) (Rules, error) {
	rules := Rules{}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if _, ok := rules[fields[0]]; ok {
			return nil, fmt.Errorf("import map: %s has two lines", fields[0])
		}
		rules[fields[0]] = fields[1:]
	}
	return rules, nil
}

// Check returns one sentence for each import that the map does not allow, each package
// it does not list and each line that is not needed.
func (r Rules) Check(module string, imports map[string][]string) []string {
	var problems []string
	used := map[string]bool{}
	for pkg, paths := range imports {
		line := pkg
		if _, ok := r[line]; !ok {
			line = path.Dir(pkg) + "/*"
		}
		allowed, ok := r[line]
		used[line] = true
		if !ok {
			problems = append(problems, fmt.Sprintf("package %s has no line in the import map", pkg))
			continue
		}
		for _, imp := range paths {
			own, ok := strings.CutPrefix(imp, module+"/")
			if imp == module {
				own, ok = ".", true
			}
			if ok {
				if !slices.Contains(allowed, own) && !slices.Contains(allowed, path.Dir(own)+"/*") {
					problems = append(problems, fmt.Sprintf("package %s may not import %s", pkg, own))
				}
				continue
			}
			if isStandard(imp) {
				continue
			}
			if !slices.ContainsFunc(allowed, func(a string) bool { return imp == a || strings.HasPrefix(imp, a+"/") }) {
				problems = append(problems, fmt.Sprintf("package %s may not import %s", pkg, imp))
			}
		}
	}
	for pkg := range r {
		if !used[pkg] {
			problems = append(problems, fmt.Sprintf("the import map names %s, which has no code", pkg))
		}
	}
	slices.Sort(problems)
	return problems
}

// isStandard reports whether an import is of the standard library: its first element
// has no dot.
func isStandard(imp string) bool {
	first, _, _ := strings.Cut(imp, "/")
	return !strings.Contains(first, ".")
}

// Imports reads the imports of every package below root from its non-test files.
// Folders with their own go.mod, testdata and hidden folders are skipped.
func Imports(root fs.FS) (map[string][]string, error) {
	imports := map[string][]string{}
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name == "." {
				return nil
			}
			if d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") {
				return fs.SkipDir
			}
			if _, err := fs.Stat(root, path.Join(name, "go.mod")); err == nil {
				return fs.SkipDir
			}
			return nil
		}
		if filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		return addImports(imports, root, name)
	})
	return imports, err
}

// addImports adds the imports of one file to its package.
func addImports(imports map[string][]string, root fs.FS, name string) error {
	src, err := fs.ReadFile(root, name)
	if err != nil {
		return err
	}
	file, err := parser.ParseFile(token.NewFileSet(), name, src, parser.ImportsOnly)
	if err != nil {
		return err
	}
	pkg := path.Dir(name)
	list := imports[pkg]
	for _, spec := range file.Imports {
		imp, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if !slices.Contains(list, imp) {
			list = append(list, imp)
		}
	}
	imports[pkg] = list
	return nil
}
