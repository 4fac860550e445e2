package config

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"headway/fetch/guard"
	"headway/frontier"
	"headway/limit"
	"headway/politeness"
	"headway/robots"
	"headway/scope"
)

// TestTable checks the form of every row of the table.
func TestTable(t *testing.T) {
	seen := map[string]bool{"--" + fileFlag: true, "--json": true, "--help": true}
	once := func(name string) {
		if name != "" && seen[name] {
			t.Errorf("%s stands in the table twice", name)
		}
		seen[name] = true
	}
	fields := map[uintptr]string{}
	var to Settings
	for s := range all {
		once(s.Key)
		once(s.Env())
		if s.Flag != "" {
			once("--" + s.Flag)
		}
		if s.Doc == "" || strings.HasSuffix(s.Doc, ".") || strings.Contains(s.Doc, "|") || s.Kind() == "" {
			t.Errorf("%s: doc %q, kind %q", s.Key, s.Doc, s.Kind())
		}
		if strings.ToLower(s.Key) != s.Key || strings.Count(s.Key, ".") > 1 {
			t.Errorf("%s is no key", s.Key)
		}
		v := s.at(&to)
		if s.Default != "" {
			if err := v.set([]string{s.Default}); err != nil {
				t.Errorf("default of %s: %v", s.Key, err)
			} else if got := v.texts(); !slices.Equal(got, []string{s.Default}) {
				t.Errorf("default of %s is written %q", s.Key, got)
			}
		}
		place := reflect.ValueOf(v).Field(0).Pointer()
		if other := fields[place]; other != "" {
			t.Errorf("%s and %s set the same field", s.Key, other)
		}
		fields[place] = s.Key
	}
	ofService := 0 // limits that only exist as safety limits
	for i := range limit.Rules {
		if r := &limit.Rules[i]; r.Safety && !r.Asked {
			ofService++
		}
	}
	if want := countFields(reflect.TypeFor[Settings]()) + ofService; len(fields) != want {
		t.Errorf("%d settings, but %d fields", len(fields), want)
	}
}

// countFields counts the settings, except the limits that only a service has.
func countFields(typ reflect.Type) int {
	n := 0
	if typ == reflect.TypeFor[limit.Limits]() {
		for i := range limit.Rules {
			if limit.Rules[i].Asked {
				n++
			}
		}
		return n
	}
	if typ.Kind() != reflect.Struct {
		return 1
	}
	for i := range typ.NumField() {
		n += countFields(typ.Field(i).Type)
	}
	return n
}

// TestDefaults compares defaults and bounds with the packages that use them.
func TestDefaults(t *testing.T) {
	s := mustLoad(t, nil, nil, "")
	for name, pair := range map[string][2]any{
		"dns.lookups":         {s.DNS.Lookups, int64(guard.DefaultMaxLookups)},
		"dns.entries":         {s.DNS.Entries, int64(guard.DefaultMaxEntries)},
		"dns.negative":        {s.DNS.Negative, guard.DefaultNegativeMax},
		"ip":                  {s.IP, string(guard.Auto)},
		"robots.cache":        {s.Robots.Cache, int64(robots.DefaultCacheBytes)},
		"frontier.head":       {s.Frontier.Head, int64(frontier.DefaultHead)},
		"frontier.hot_hosts":  {s.Frontier.HotHosts, int64(frontier.DefaultHotHosts)},
		"frontier.seen_cache": {s.Frontier.SeenCache, int64(frontier.DefaultSeenBytes)},
		"patience":            {s.Limits.Patience, limit.CommandPatience},
		"scope":               {scope.Mode(s.Scope), scope.Modes[0]},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s is %v here and %v there", name, pair[0], pair[1])
		}
	}
	for _, mode := range scope.Modes {
		if err := find("scope").at(new(Settings)).set([]string{string(mode)}); err != nil {
			t.Error(err)
		}
	}
	if runtime.NumCPU() > 1024 {
		t.Log("parse.workers is bounded below the CPUs of this machine")
	}
}

// TestPresets: each preset sets exactly its policy.
func TestPresets(t *testing.T) {
	for _, name := range politeness.PresetNames() {
		s := mustLoad(t, []string{"--preset", name}, nil, "")
		got, err := s.Policy()
		want, _ := politeness.Preset(name)
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, want)
		}
		asked := s.Limits
		asked.Patience = 0
		if asked != limit.Preset(name) {
			t.Errorf("%s: limits %+v", name, asked)
		}
	}
}

func flagSet(t *testing.T, args []string) *pflag.FlagSet {
	t.Helper()
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	Register(fs)
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	return fs
}

// load writes the file to a new folder and works there.
func load(t *testing.T, args, environ []string, file string) (*Settings, []Origin, error) {
	t.Helper()
	t.Chdir(t.TempDir())
	if file != "" {
		if err := os.WriteFile(DefaultFile, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return Load(flagSet(t, args), environ)
}

func mustLoad(t *testing.T, args, environ []string, file string) *Settings {
	t.Helper()
	s, _, err := load(t, args, environ, file)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestPrecedence removes the layers one by one, the strongest first.
func TestPrecedence(t *testing.T) {
	args := []string{"--delay", "1m", "--max-pages=7"}
	environ := []string{"PATH=/bin", "HEADWAY_PACE_DELAY=2m", "HEADWAY_MAX_PAGES=8", "HEADWAY_PACE_JITTER="}
	file := "preset: audit\npace:\n  delay: 3m\n  jitter: 9\nmax_pages: 9\n"
	for name, tc := range map[string]struct {
		args, environ []string
		file          string
		delay, pages  string
	}{
		"flags":       {args, environ, file, "1m flag --delay", "7 flag --max-pages"},
		"environment": {nil, environ, file, "2m environment HEADWAY_PACE_DELAY", "8 environment HEADWAY_MAX_PAGES"},
		"file":        {nil, nil, file, "3m file headway.yaml:3", "9 file headway.yaml:5"},
		"preset":      {nil, nil, "preset: audit\n", "200ms preset audit", "200 preset audit"},
		"default":     {nil, nil, "", "1s preset polite", "0 default"},
	} {
		t.Run(name, func(t *testing.T) {
			_, origins, err := load(t, tc.args, tc.environ, tc.file)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for _, o := range origins {
				got[o.Setting.Key] = strings.Join(o.Values, " ") + " " + o.String()
			}
			if got["pace.delay"] != tc.delay || got["max_pages"] != tc.pages {
				t.Errorf("pace.delay %s, max_pages %s; want %s, %s", got["pace.delay"], got["max_pages"], tc.delay, tc.pages)
			}
			if tc.file == file && got["pace.jitter"] != "9 file headway.yaml:4" {
				t.Errorf("an empty variable counts: %s", got["pace.jitter"])
			}
		})
	}
}

func TestLists(t *testing.T) {
	want := []string{"/a,b/**", "re:x{1,3}"}
	for name, tc := range map[string]struct {
		args, environ []string
		file          string
	}{
		"flags":           {[]string{"--exclude", want[0], "--exclude=" + want[1]}, nil, "exclude: [/z]"},
		"environment":     {nil, []string{"HEADWAY_EXCLUDE=" + strings.Join(want, "\n") + "\n"}, "exclude: [/z]"},
		"file":            {nil, nil, "exclude:\n  - /a,b/**\n  - re:x{1,3}\n"},
		"file with dots":  {nil, nil, "exclude: ['/a,b/**', 're:x{1,3}']"},
		"a list of lines": {nil, []string{"HEADWAY_EXCLUDE=\n " + want[0] + " \n\n" + want[1]}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if s := mustLoad(t, tc.args, tc.environ, tc.file); !slices.Equal(s.Exclude, want) {
				t.Errorf("got %q, want %q", s.Exclude, want)
			}
		})
	}
	if s := mustLoad(t, nil, nil, "exclude: /one\nscope_hosts: []\n"); !slices.Equal(s.Exclude, []string{"/one"}) || s.ScopeHosts != nil {
		t.Errorf("%q, %q", s.Exclude, s.ScopeHosts)
	}
	// Values of a closed set contain no commas.
	formats := []string{"csv", "parquet", "jsonl"}
	for name, s := range map[string]*Settings{
		"commas": mustLoad(t, []string{"--format", "csv, parquet,csv,jsonl"}, nil, ""), "flags": mustLoad(t, []string{"--format=csv", "--format=parquet,jsonl"}, nil, ""),
		"environment": mustLoad(t, nil, []string{"HEADWAY_FORMAT=csv,parquet\njsonl"}, ""), "file": mustLoad(t, nil, nil, "format: [csv, 'parquet,jsonl']"),
	} {
		if !slices.Equal(s.Format, formats) {
			t.Errorf("%s: got %q", name, s.Format)
		}
	}
}

func TestErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		args, environ []string
		file          string
		want, hint    string
	}{
		"unknown key":           {file: "\nmax_page: 5\n", want: `headway.yaml:2: unknown setting "max_page"`, hint: "did you mean max_pages?"},
		"unknown in a section":  {file: "pace:\n  dealy: 5s\n", want: `headway.yaml:2: unknown setting "pace.dealy"`, hint: "did you mean pace.delay?"},
		"unknown section":       {file: "paces:\n  delay: 5s\n", want: `headway.yaml:1: unknown setting "paces"`, hint: "headway config lists"},
		"missing its section":   {file: "in_flight: 5\n", want: `headway.yaml:1: unknown setting "in_flight"`, hint: "did you mean pace.in_flight?"},
		"a section with dots":   {file: "pace.dely: 5s\n", want: `headway.yaml:1: unknown setting "pace.dely"`, hint: "did you mean pace.delay?"},
		"unknown variable":      {environ: []string{"HEADWAY_MAXPAGES=5"}, want: `environment: unknown setting HEADWAY_MAXPAGES`, hint: "did you mean HEADWAY_MAX_PAGES?"},
		"bad value in a flag":   {args: []string{"--max-pages", "many"}, want: `invalid number "many" for --max-pages`, hint: "give a whole number, 0 or more"},
		"bad value in the env":  {environ: []string{"HEADWAY_PACE_DELAY=5"}, want: `invalid duration "5" for HEADWAY_PACE_DELAY`, hint: "add a unit, for example 5s"},
		"bad value in the file": {file: "pace:\n  in_flight: 0\n", want: `headway.yaml:2: invalid number "0" for pace.in_flight`, hint: "give a whole number from 1 to 10000"},
		"bad word":              {args: []string{"--preset=rude"}, want: `invalid value "rude" for --preset`, hint: "choose one of polite, audit, warm, map, owned"},
		"bad size":              {args: []string{"--max-bytes=1MB"}, want: `invalid size "1MB" for --max-bytes`, hint: "give a size of at least 0, in bytes or with a unit, for example 64KiB, 256MiB or 1GiB"},
		"bad bool":              {file: "fresh: yes\n", want: `headway.yaml:1: invalid value "yes" for fresh`, hint: "choose one of true, false"},
		"bad host":              {args: []string{"--owned=https://example.com/"}, want: `invalid host "https://example.com/" for --owned`, hint: "for example example.com or example.com:8080"},
		"bad range":             {args: []string{"--allow-private=10.0.0.0/99"}, want: `invalid address range "10.0.0.0/99" for --allow-private: "10.0.0.0/99" is not a CIDR block`, hint: "write CIDR[:PORT,…] within a private block"},
		"bad block":             {file: "pace.address_ranges: [all]", want: `headway.yaml:1: invalid address block "all" for pace.address_ranges`, hint: "give a block such as 10.0.0.0/8, or public"},
		"bad resolver":          {args: []string{"--resolver=dns.example"}, want: `invalid address "dns.example" for --resolver`, hint: "write IP:PORT, for example 127.0.0.1:53"},
		"bad seed":              {file: "seeds: ['http://']", want: `headway.yaml:1: invalid URL "http://" for seeds`, hint: "give a URL or a host"},
		"bad format":            {args: []string{"--format=csv,xls"}, want: `invalid value "xls" for --format`, hint: "choose one of jsonl, csv"},
		"bad agent":             {args: []string{"--user-agent=My Bot"}, want: `invalid product name "My Bot" for --user-agent`, hint: "for example examplebot/1.2"},
		"a disguise":            {args: []string{"--user-agent=Mozilla/5.0"}, want: `invalid product name "Mozilla/5.0" for --user-agent: it belongs to another program, and headway does not disguise itself`, hint: "choose a name of your own"},
		"a secret":              {args: []string{"--basic-auth=hunter2"}, want: `invalid credentials for --basic-auth`, hint: "write them as user:password"},
		"a secret field":        {args: []string{"--header=hunter2"}, want: `invalid header for --header`, hint: "write it as Name: value"},
		"a list for one":        {file: "max_pages: [1, 2]\n", want: `headway.yaml:1: max_pages takes one value, not a list`, hint: "max_pages: "},
		"no value":              {file: "max_pages:\n", want: `headway.yaml:1: max_pages has no value`, hint: "give it a value"},
		"a mapping":             {file: "max_pages: {a: 1}\n", want: `headway.yaml:1: max_pages must be a plain value or a list`},
		"a nested list":         {file: "exclude: [[a]]\n", want: `headway.yaml:1: exclude has an entry that is not a plain value`},
		"twice":                 {file: "pace: {delay: 1s}\npace.delay: 2s\n", want: `headway.yaml:2: pace.delay is set twice`, hint: "keep one"},
		"no settings":           {file: "- a\n", want: `headway.yaml:1: expected settings, each with a name`, hint: "max_pages: 500"},
		"no YAML":               {file: "a: b: c\n", want: `headway.yaml: yaml: `, hint: "max_pages: 500"},
		"two documents":         {file: "files: true\n---\nfiles: false\n", want: `headway.yaml: more than one document`, hint: "---"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := load(t, tc.args, tc.environ, tc.file)
			problem, ok := errors.AsType[*Error](err)
			if !ok || !strings.HasPrefix(err.Error(), tc.want) || !strings.Contains(problem.Hint(), tc.hint) {
				t.Fatalf("got %v\n(%v), want %s\n(%s)", err, problem, tc.want, tc.hint)
			}
			if strings.Contains(err.Error()+problem.Hint(), "hunter2") {
				t.Error("a secret was printed")
			}
		})
	}
}

// TestFile: a named file must exist, and has a maximum size.
func TestFile(t *testing.T) {
	t.Chdir(t.TempDir())
	if _, _, err := Load(flagSet(t, []string{"--config", "other.yaml"}), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a named file is missing: %v", err)
	}
	if err := os.WriteFile("other.yaml", []byte("# nothing\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Load(flagSet(t, []string{"--config", "other.yaml"}), nil); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile("other.yaml", make([]byte, maxFile+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Load(flagSet(t, []string{"--config", filepath.Join(".", "other.yaml")}), nil); err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("a huge file: %v", err)
	}
}

func TestSettings(t *testing.T) {
	s := mustLoad(t, []string{"--preset", "warm", "--delay", "100ms", "--ignore-robots", "--header", "A: b", "--basic-auth", "u:p", "--user-agent", "examplebot/1.2", "--max-pages", "100"},
		[]string{"HEADWAY_SAFETY_MAX_PAGES=50"}, "")
	if diff := cmp.Diff([]string{"preset warm", "pace.delay 100ms", "ignore_robots", "header", "basic_auth"}, s.OwnedOnly()); diff != "" {
		t.Error(diff)
	}
	if token, version := s.Product(); token != "examplebot" || version != "1.2" {
		t.Errorf("product %s %s", token, version)
	}
	if got, want := limit.Resolve(s.Layers()...).Of(limit.Pages).String(), "max_pages 50 (safety; requested 100)"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if only := mustLoad(t, nil, nil, "").OwnedOnly(); len(only) != 0 {
		t.Errorf("defaults are only for owned hosts: %v", only)
	}
	s = mustLoad(t, nil, nil, "backoff: {failing_start: 2h}\n")
	if _, err := s.Policy(); err == nil {
		t.Error("a hold that starts above its end was accepted")
	}
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "1": 1, "1KiB": 1 << 10, "64 MiB": 64 << 20, "1536KiB": 3 << 19, "1TiB": 1 << 40, strconv.Itoa(math.MaxInt64): math.MaxInt64,
		"-1": -1, "9999999TiB": -1, "1kib": -1, "MiB": -1, "": -1, "1.5GiB": -1,
	} {
		got, err := parseSize(text)
		if err != nil {
			got = -1
		}
		if got != want {
			t.Errorf("%q: %d, %v, want %d", text, got, err, want)
		}
		if err == nil {
			if again, err := parseSize(formatSize(got)); err != nil || again != got {
				t.Errorf("%d is written %s and read %d, %v", got, formatSize(got), again, err)
			}
		}
	}
	for d, want := range map[time.Duration]string{0: "0s", time.Hour: "1h", 90 * time.Second: "1m30s", 10 * time.Second: "10s", time.Minute: "1m", 100 * time.Hour: "100h"} {
		if short(d) != want {
			t.Errorf("%v is written %s, want %s", d, short(d), want)
		}
	}
}

func TestNearest(t *testing.T) {
	for name, want := range map[string]string{
		"max_page": "max_pages", "maxpages": "max_pages", "excldue": "exclude", "delay": "pace.delay", "MAX_PAGES": "max_pages",
		"governer.enabled": "governor.enabled", "commit_gap": "store.commit_gap", strings.Repeat("x", 10_000): "store.commit_gap",
	} {
		got := nearest(name, keys())
		if len(name) < 100 && got != want || got == "" {
			t.Errorf("%.20s: got %s, want %s", name, got, want)
		}
	}
}

func TestNear(t *testing.T) {
	known := []string{"max-pages", "max-depth", "allow-private", "quiet", "dir", "pace"}
	for name, want := range map[string]string{
		"max-page": "max-pages", "maxpages": "max-pages", "alow-private": "allow-private", "allow": "allow-private", "depth": "max-depth",
		"Quiet": "quiet", "dri": "dir", "zebra": "", "d": "dir", "x": "", "": "",
	} {
		if got := Near(name, known); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
	if got := Near("x", nil); got != "" {
		t.Errorf("of nothing: %q", got)
	}
}

func FuzzFile(f *testing.F) {
	f.Add([]byte("preset: audit\npace:\n  delay: 3m\nexclude: [a, b]\n"))
	f.Add([]byte("a: &a [*a]\n<<: *a\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		byKey, err := parseFile("f", data)
		if err != nil {
			return
		}
		for key, g := range byKey {
			if s := find(key); s == nil || g.source == "" {
				t.Fatalf("%q from %q", key, g.source)
			} else if err := s.at(new(Settings)).set(g.texts); err == nil && s.at(new(Settings)).texts() == nil && !s.List() && s.Kind() == "" {
				t.Fatal("a value without a kind")
			}
		}
	})
}

// TestGiven returns the value of a flag in a form that can be set again.
func TestGiven(t *testing.T) {
	fs := pflag.NewFlagSet("t", pflag.ContinueOnError)
	Register(fs)
	fs.StringArray("more", nil, "")
	fs.Bool("plain", false, "")
	if err := fs.Parse([]string{"--exclude=a,b", "--exclude=c", "--max-pages=1", "--max-pages=2", "--basic-auth=ann:x", "--more=1", "--more=2,3", "--plain"}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]string{
		"exclude": {"a,b", "c"}, "max-pages": {"2"}, "basic-auth": {"ann:x"}, "more": {"1", "2,3"}, "plain": {"true"},
	} {
		got, secret := Given(fs.Lookup(name), new(Settings))
		if !slices.Equal(got, want) || secret != (name == "basic-auth") {
			t.Errorf("%s: %q, secret %v", name, got, secret)
		}
	}
}

// TestPatienceOfJobs: the default patience of a fleet job is a day.
func TestPatienceOfJobs(t *testing.T) {
	for _, test := range []struct {
		name    string
		args    []string
		environ []string
		asked   Asked
		want    time.Duration
	}{
		{name: "nobody", want: limit.ServicePatience},
		{name: "job", asked: Asked{"patience": {"3m"}}, args: []string{"--patience", "2h"}, want: 3 * time.Minute},
		{name: "flag", args: []string{"--patience", "10m"}, want: 10 * time.Minute},
		{name: "environment", environ: []string{"HEADWAY_PATIENCE=2h"}, want: 2 * time.Hour},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, err := LoadJob(flagSet(t, test.args), test.environ, test.asked)
			if err != nil || s.Limits.Patience != test.want {
				t.Errorf("%v (%v), want %v", s.Limits.Patience, err, test.want)
			}
		})
	}
}

// TestRules: a setting names a file of rules; a job, and a flag that is restored, has its
// text, and can name no file.
func TestRules(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rules.yaml")
	const text = "name: {css: h1}\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	load := func(asked Asked, change func(*pflag.FlagSet)) (*Settings, *pflag.FlagSet, error) {
		fs := pflag.NewFlagSet("t", pflag.ContinueOnError)
		RegisterJob(fs)
		change(fs)
		s, err := LoadJob(fs, nil, asked)
		return s, fs, err
	}
	none := func(*pflag.FlagSet) {}
	byFlag, fs, err := load(nil, func(fs *pflag.FlagSet) { _ = fs.Set("extract", path) })
	if err != nil || byFlag.Extract.Text() != text {
		t.Fatalf("flag: %v, %v", byFlag, err)
	}
	if asked := AskedBy(fs, byFlag); len(asked["extract"]) != 1 || asked["extract"][0] != text {
		t.Errorf("asked: %q", asked)
	}
	if given, secret := Given(fs.Lookup("extract"), byFlag); len(given) != 1 || given[0] != text || secret {
		t.Errorf("given: %q", given)
	}
	restored, _, err := load(nil, func(fs *pflag.FlagSet) { _ = Restore(fs, "extract", text) })
	if err != nil || restored.Extract.Text() != text {
		t.Errorf("restored: %v, %v", restored, err)
	}
	byJob, _, err := load(Asked{"extract": {text}}, none)
	if err != nil || byJob.Extract.Text() != text {
		t.Errorf("job: %v, %v", byJob, err)
	}
	cleared, fs, err := load(nil, func(fs *pflag.FlagSet) { _ = fs.Set("extract", "") })
	if err != nil || cleared.Extract != nil {
		t.Fatalf("an empty flag: %v, %v", cleared, err)
	}
	if s, _, err := load(AskedBy(fs, cleared), none); err != nil || s.Extract != nil {
		t.Errorf("a job without rules: %v, %v", s, err)
	}
	if s, _, err := load(AskedBy(fs, cleared), func(fs *pflag.FlagSet) { _ = fs.Set("extract", path) }); err != nil || s.Extract != nil {
		t.Errorf("a job without rules on a worker with rules: %v, %v", s, err)
	}
	if _, _, err := load(Asked{"extract": {path}}, none); err == nil || !strings.Contains(err.Error(), "extract:1: expected fields") {
		t.Errorf("a job that names a file: %v", err)
	}
}
