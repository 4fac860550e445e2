package scope

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"headway/visit"
	"headway/weburl"
)

// TestLeaves includes URLs that would be refused for their host or extension, as leaves.
func TestLeaves(t *testing.T) {
	seed := mustURL(t, "https://example.com/docs/")
	r, err := New(Config{Mode: Prefix, Seeds: []weburl.URL{seed}, Exclude: []string{"https://tracker.example/**", "/docs/old/**"}, MaxDepth: 2, Leaves: true})
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		url   string
		depth int
		want  Decision
	}{
		"in scope":              {"https://example.com/docs/a", 1, Decision{In: true}},
		"another folder":        {"https://example.com/blog/", 1, Decision{In: true, Leaf: true}},
		"another host, deep":    {"https://other.example/x", 9, Decision{In: true, Leaf: true}},
		"a file":                {"https://example.com/docs/a.zip", 1, Decision{In: true, Leaf: true}},
		"excluded":              {"https://example.com/docs/old/a", 1, Decision{Reason: Excluded}},
		"another host excluded": {"https://tracker.example/x", 1, Decision{Reason: Excluded}},
		"too deep":              {"https://example.com/docs/a", 3, Decision{Reason: Depth}},
	} {
		got := r.Decide(mustURL(t, tc.url), tc.depth)
		if got.Rule == "" {
			t.Errorf("%s: no rule", name)
		}
		if got.Rule = ""; got != tc.want {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
	}
	if d := r.DecideSeed(mustURL(t, "https://other.example/")); !d.In || !d.Leaf {
		t.Errorf("a seed that redirects away: %+v", d)
	}
	for u, want := range map[string]bool{"https://example.com/blog/": false, "http://www.example.com/": false, "https://other.example/docs/": true} {
		if got := r.Foreign(mustURL(t, u)); got != want {
			t.Errorf("foreign %s: %v", u, got)
		}
	}
}

func mustURL(t testing.TB, raw string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func seeds(t testing.TB, raw ...string) []weburl.URL {
	t.Helper()
	list := make([]weburl.URL, len(raw))
	for i, r := range raw {
		list[i] = mustURL(t, r)
	}
	return list
}

func TestDecide(t *testing.T) {
	for name, tc := range map[string]struct {
		config Config
		seeds  []string
		in     []string
		out    map[string]Reason
	}{
		"host is the default": {
			seeds: []string{"https://example.com/shop/"},
			in: []string{
				"https://example.com/", "http://example.com/a", "https://www.example.com/b?c", "http://www.example.com/",
				"http://example.com:443/", "https://example.com:80/",
			},
			out: map[string]Reason{
				"https://blog.example.com/": OutOfScope, "https://example.org/": OutOfScope, "https://example.com:8443/": OutOfScope,
				"https://notexample.com/": OutOfScope, "https://www.www.example.com/": OutOfScope,
			},
		},
		"a seed with www": {
			seeds: []string{"http://www.example.co.uk/"},
			in:    []string{"https://example.co.uk/", "https://www.example.co.uk/a"},
			out:   map[string]Reason{"https://www.co.uk/": OutOfScope, "https://co.uk/": OutOfScope},
		},
		"www that belongs to somebody else": {
			seeds: []string{"https://github.io/", "https://www.blogspot.com/"},
			in:    []string{"https://github.io/x", "https://www.blogspot.com/x"},
			out:   map[string]Reason{"https://www.github.io/": OutOfScope, "https://blogspot.com/": OutOfScope},
		},
		"addresses and ports": {
			seeds: []string{"http://127.1.0.1:8780/", "http://[::1]:80/", "http://localhost/"},
			in:    []string{"http://127.1.0.1:8780/a", "https://127.1.0.1:8780/a", "https://[::1]/", "https://localhost/"},
			out:   map[string]Reason{"http://127.1.0.1/": OutOfScope, "http://127.1.0.2:8780/": OutOfScope, "http://www.localhost/": OutOfScope},
		},
		"domain": {
			config: Config{Mode: Domain},
			seeds:  []string{"https://www.example.co.uk/", "https://me.github.io/"},
			in:     []string{"http://example.co.uk/", "https://a.b.example.co.uk:8443/", "https://me.github.io/x"},
			out:    map[string]Reason{"https://other.co.uk/": OutOfScope, "https://you.github.io/": OutOfScope, "https://github.io/": OutOfScope},
		},
		"prefix": {
			config: Config{Mode: Prefix},
			seeds:  []string{"https://example.com/docs/v2/intro.html", "https://example.com/blog/", "https://example.com/blog/2024/", "https://b.example/docs"},
			in: []string{
				"https://example.com/docs/v2/", "http://www.example.com/docs/v2/a/b", "https://example.com/blog/x", "https://example.com/blog/2024/a",
				"https://b.example/anything",
			},
			out: map[string]Reason{
				"https://example.com/docs/": OutOfScope, "https://example.com/docs/v2": OutOfScope, "https://example.com/docs/v20/": OutOfScope,
				"https://example.com/": OutOfScope, "https://example.com/blog": OutOfScope, "https://example.com/zebra/": OutOfScope,
				"https://other.example.com/docs/v2/": OutOfScope,
			},
		},
		"prefix, whole and part of a host": {
			config: Config{Mode: Prefix, Hosts: []string{"c.example", "www.d.example/x/", "d.example/x/"}},
			seeds: []string{
				"https://a.example/docs/", "https://a.example/", "https://b.example/", "https://www.b.example/docs/",
				"https://c.example/docs/", "https://d.example/docs/",
			},
			in: []string{
				"https://a.example/x", "https://www.a.example/x", "https://b.example/x", "https://www.b.example/x", "https://c.example/x",
				"https://www.c.example/docs/", "https://d.example/x/", "https://www.d.example/x/", "https://www.d.example/docs/",
			},
			out: map[string]Reason{"https://www.c.example/x": OutOfScope, "https://d.example/y/": OutOfScope, "https://www.d.example/y/": OutOfScope},
		},
		"list": {
			config: Config{Mode: List, Hosts: []string{"b.example", "c.example:8080", "https://d.example"}},
			seeds:  []string{"https://www.example.com/"},
			in:     []string{"http://www.example.com/", "https://b.example/x", "http://c.example:8080/", "http://d.example/"},
			out:    map[string]Reason{"https://example.com/": OutOfScope, "https://www.b.example/": OutOfScope, "https://c.example/": OutOfScope},
		},
		"any": {
			config: Config{Mode: Any, Exclude: []string{"https://evil.example/**"}},
			seeds:  []string{"https://example.com/"},
			in:     []string{"https://anything.example/", "http://10.0.0.1:99/"},
			out:    map[string]Reason{"https://evil.example/x": Excluded, "https://anything.example/a.png": NonDocument},
		},
		"include and exclude": {
			config: Config{Include: []string{"/docs/**", "*.pdf"}, Exclude: []string{"/docs/old/**", `re:[?&]print=1(&|$)`}},
			seeds:  []string{"https://example.com/"},
			in:     []string{"https://example.com/docs/", "https://example.com/docs/a?x=1", "https://example.com/files/Paper.pdf", "https://example.com/a.pdf?v=2"},
			out: map[string]Reason{
				"https://example.com/": OutOfScope, "https://example.com/docs/old/a": Excluded, "https://example.com/docs/a?print=1": Excluded,
				"https://example.com/docs/a.png": NonDocument, "https://example.com/docs/a.PDF": NonDocument, "https://other.example/docs/": OutOfScope,
			},
		},
		"files": {
			config: Config{Files: true},
			seeds:  []string{"https://example.com/"},
			in:     []string{"https://example.com/a.png", "https://example.com/a.zip"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tc.config.Seeds = seeds(t, tc.seeds...)
			r, err := New(tc.config)
			if err != nil {
				t.Fatal(err)
			}
			for _, u := range tc.in {
				if d := r.Decide(mustURL(t, u), 1); !d.In || d.Reason != "" || d.Rule == "" {
					t.Errorf("%s: %+v, want it in", u, d)
				}
			}
			for u, want := range tc.out {
				if d := r.Decide(mustURL(t, u), 1); d.In || d.Reason != want || d.Rule == "" {
					t.Errorf("%s: %+v, want %s", u, d, want)
				}
			}
			for _, u := range tc.config.Seeds {
				if d := r.DecideSeed(u); !d.In {
					t.Errorf("seed %s: %+v", u, d)
				}
			}
			if d := r.Decide(weburl.URL{}, 0); d.In {
				t.Error("the zero URL is in")
			}
		})
	}
}

func TestRuleText(t *testing.T) {
	r, err := New(Config{
		Seeds: seeds(t, "https://example.com/"), Include: []string{"/**"}, Exclude: []string{"/cart"}, MaxDepth: 2,
	})
	if err != nil {
		t.Fatal(err)
	}
	for raw, want := range map[string]string{
		"https://example.com/a":        "include /**",
		"https://example.com/cart?a=1": "exclude /cart",
		"https://example.org/a":        "host is not a seed host",
		"https://example.com/a.jpg":    ".jpg is an image; use --files to include it",
	} {
		if d := r.Decide(mustURL(t, raw), 2); d.Rule != want {
			t.Errorf("%s: %q, want %q", raw, d.Rule, want)
		}
	}
	// Depth is provisional; final reasons come first.
	if d := r.Decide(mustURL(t, "https://example.com/a"), 3); d != (Decision{Reason: Depth, Rule: "more than 2 links from a seed"}) {
		t.Errorf("%+v", d)
	}
	if d := r.Decide(mustURL(t, "https://example.com/cart"), 3); d.Reason != Excluded {
		t.Errorf("%+v", d)
	}
}

func TestSeedsPass(t *testing.T) {
	r, err := New(Config{Seeds: seeds(t, "https://example.com/"), Include: []string{"/docs/**"}, Exclude: []string{"/private/**"}})
	if err != nil {
		t.Fatal(err)
	}
	for raw, want := range map[string]Reason{
		"https://example.com/":          "",
		"https://www.example.com/de.gz": "", // requested, or a redirect target of a seed
		"https://example.com/private/a": Excluded,
		"https://example.org/":          OutOfScope,
	} {
		if d := r.DecideSeed(mustURL(t, raw)); d.Reason != want || d.In != (want == "") {
			t.Errorf("%s: %+v", raw, d)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		config Config
		want   string // substring of the error
		hint   string // substring of the hint
	}{
		"mode":             {Config{Mode: "planet"}, `invalid scope mode "planet"; choose one of host, domain, prefix, list, any`, ""},
		"depth":            {Config{MaxDepth: -1}, "max depth -1", ""},
		"zero seed":        {Config{Seeds: make([]weburl.URL, 1)}, "zero URL", ""},
		"empty":            {Config{Include: []string{""}}, `invalid include pattern "": is empty`, `"**"`},
		"no slash":         {Config{Exclude: []string{"docs/**"}}, `invalid exclude pattern "docs/**": must start with a slash or a scheme`, "/docs/**"},
		"host only":        {Config{Exclude: []string{"https://example.com"}}, "has a host but no path", "https://example.com/**"},
		"international":    {Config{Exclude: []string{"https://bücher.example/**"}}, "has a non-ASCII host", "xn--"},
		"backslash":        {Config{Exclude: []string{`/a\`}}, "ends in a backslash", `\\`},
		"fragment":         {Config{Exclude: []string{"/a#b"}}, "fragment", "#"},
		"long":             {Config{Exclude: []string{"/" + strings.Repeat("a", MaxPattern)}}, "longer than the maximum of 512 bytes", "*"},
		"long escaped":     {Config{Exclude: []string{"/" + strings.Repeat("ü", MaxPattern/3)}}, "when percent-encoded", "*"},
		"regexp":           {Config{Exclude: []string{"re:(a"}}, `invalid exclude pattern "re:(a": missing closing )`, "RE2"},
		"regexp of a path": {Config{Include: []string{"re:^/docs/"}}, "can never match", "re:^https?://[^/]+/docs/"},
		"too many":         {Config{Include: make([]string, MaxPatterns+1)}, "too many include and exclude patterns: 1001, maximum 1000", ""},
		"host":             {Config{Hosts: []string{"a b"}}, `host "a b":`, "example.com"},
		"host with path":   {Config{Hosts: []string{"example.com/docs/"}}, "it has a path", "prefix"},
		"no folder":        {Config{Mode: Prefix, Hosts: []string{"example.com/docs"}}, "the path must end in a slash", "example.com/docs/"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := New(tc.config)
			if err == nil || r != nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("%v, %v; want %q", r, err, tc.want)
			}
			var hinter interface{ Hint() string }
			if tc.hint != "" && (!errors.As(err, &hinter) || !strings.Contains(hinter.Hint(), tc.hint)) {
				t.Errorf("the hint of %v does not say %q", err, tc.hint)
			}
		})
	}
	_, err := New(Config{Mode: "planet", Include: []string{"", "a/b"}, Hosts: []string{"a b"}})
	if n := strings.Count(err.Error(), "\n") + 1; n != 4 {
		t.Errorf("%d problems, want 4: %v", n, err)
	}
}

func TestWiden(t *testing.T) {
	for name, tc := range map[string]struct {
		config   Config
		from, to string
		want     bool
		now      string // in scope afterwards
		hosts    []string
	}{
		"same domain":            {Config{}, "https://example.com/", "https://www2.example.com/en", true, "http://www2.example.com/x", []string{"www2.example.com"}},
		"port":                   {Config{}, "https://example.com/", "https://example.com:8443/", true, "https://example.com:8443/x", []string{"example.com:8443"}},
		"www needs nothing":      {Config{}, "https://example.com/", "https://www.example.com/", false, "https://www.example.com/", nil},
		"another domain":         {Config{}, "https://example.com/", "https://example.org/", false, "", nil},
		"from out of scope":      {Config{}, "https://blog.example.com/", "https://www2.example.com/", false, "", nil},
		"prefix, other host":     {Config{Mode: Prefix}, "https://example.com/docs/", "https://docs.example.com/v2/a", true, "https://docs.example.com/v2/b", []string{"docs.example.com/v2/"}},
		"prefix, other folder":   {Config{Mode: Prefix}, "https://example.com/docs/", "https://example.com/en/docs/", true, "https://example.com/en/docs/x", []string{"example.com/en/docs/"}},
		"prefix, the root":       {Config{Mode: Prefix}, "https://example.com/docs/", "https://docs.example.com/", true, "https://docs.example.com/x", []string{"docs.example.com"}},
		"domain needs nothing":   {Config{Mode: Domain}, "https://example.com/", "https://a.example.com/", false, "https://a.example.com/", nil},
		"a list is a list":       {Config{Mode: List}, "https://example.com/", "https://a.example.com/", false, "", nil},
		"with hosts from before": {Config{Hosts: []string{"b.example"}}, "https://example.com/", "https://a.example.com/", true, "https://a.example.com/", []string{"a.example.com", "b.example"}},
	} {
		t.Run(name, func(t *testing.T) {
			tc.config.Seeds = seeds(t, "https://example.com/docs/")
			r, err := New(tc.config)
			if err != nil {
				t.Fatal(err)
			}
			if got := r.Widen(mustURL(t, tc.from), mustURL(t, tc.to)); got != tc.want {
				t.Errorf("widened: %v", got)
			}
			if r.Widen(mustURL(t, tc.from), mustURL(t, tc.to)) {
				t.Error("widened twice by one redirect")
			}
			if got := r.Hosts(); !slices.Equal(got, tc.hosts) {
				t.Errorf("hosts %q, want %q", got, tc.hosts)
			}
			// A resumed crawl decides the same.
			tc.config.Hosts = r.Hosts()
			again, err := New(tc.config)
			if err != nil {
				t.Fatal(err)
			}
			if got := again.Hosts(); !slices.Equal(got, tc.hosts) {
				t.Errorf("resumed: hosts %q, want %q", got, tc.hosts)
			}
			for _, r := range []*Rules{r, again} {
				if tc.now != "" && !r.Decide(mustURL(t, tc.now), 1).In {
					t.Errorf("%s is out", tc.now)
				}
				if tc.now == "" && r.Decide(mustURL(t, tc.to), 1).In {
					t.Errorf("%s is in", tc.to)
				}
			}
		})
	}
}

func TestWidenIsBounded(t *testing.T) {
	r, err := New(Config{Seeds: seeds(t, "https://example.com/")})
	if err != nil {
		t.Fatal(err)
	}
	r.addedCount = MaxAdded
	if r.Widen(mustURL(t, "https://example.com/"), mustURL(t, "https://a.example.com/")) {
		t.Error("one host too many was added")
	}
}

func TestConcurrentUse(t *testing.T) {
	r, err := New(Config{Seeds: seeds(t, "https://example.com/")})
	if err != nil {
		t.Fatal(err)
	}
	from, to := mustURL(t, "https://example.com/"), mustURL(t, "https://www2.example.com/")
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 100 {
				r.Widen(from, to)
				if !r.Decide(to, 1).In {
					t.Error("forgotten")
				}
				r.Hosts()
			}
		})
	}
	wg.Wait()
}

// TestFolders compares the search for a folder with a linear scan.
func TestFolders(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	path := func() string {
		b := []byte("/")
		for range r.IntN(8) {
			b = append(b, "/ab0~"[r.IntN(5)])
		}
		return string(b)
	}
	for range 2000 {
		p := &place{}
		for range 1 + r.IntN(6) {
			p.folders = append(p.folders, folderOf(path()))
		}
		all := slices.Clone(p.folders)
		p.settle()
		for range 20 {
			at := path()
			want := slices.ContainsFunc(all, func(f string) bool { return strings.HasPrefix(at, f) })
			if got := p.has(at); got != want {
				t.Fatalf("%q in %q: %v", at, all, got)
			}
		}
	}
}

func TestFileOf(t *testing.T) {
	for path, want := range map[string]string{
		"/a.jpg": ".jpg", "/a/b.JPEG": ".jpeg", "/a.png;v=1": ".png", "/x.tar.gz": ".gz", "/f.woff2": ".woff2", "/paper.pdf": ".pdf",
		"/js/app.js": ".js", "/app.min.js": ".js", "/_next/static/x.js": ".js", "/main.js.map": ".map", "/sheet.css": ".css", "/data.csv": ".csv",
		"/": "", "/a": "", "/jpg": "", "/a.html": "", "/a.php": "", "/a.jpg/": "", "/sites/example.com": "", "/docs/node.js": "", "/package/chart.js": "",
		"/wiki/File:Cat.jpg": "", "/wiki/Node.js": "", "/o/r/blob/main/logo.svg": "", "/v1.2.3": "", "/feed.xml": "", "/robots.txt": "", "/a.verylongending": "",
		"/.": "", "/a.": "", "/.png": ".png",
	} {
		got := ""
		if f := fileOf(path); f != nil {
			got = f.dotted
		}
		if got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	for ending := range files {
		if len(ending) > maxEnding || ending != strings.ToLower(ending) {
			t.Errorf("ending %q cannot be found", ending)
		}
	}
}

func TestPatterns(t *testing.T) {
	for pattern, tc := range map[string]struct{ yes, no string }{
		"/docs/**":                 {"/docs/ /docs/a /docs/a/b.html?x=1", "/docs /docsa/ /a/docs/"},
		"/docs/*":                  {"/docs/ /docs/a /docs/a?b=/c", "/docs/a/b"},
		"/*/edit":                  {"/a/edit /a/edit?x", "/a/b/edit /edit"},
		"**/print/**":              {"/print/ /a/print/b", "/printer/ /a/print"},
		"*.pdf":                    {"/a.pdf /a/b.pdf /a/b.pdf?x=1", "/a.pdf/x /a.pdfx"},
		"cart":                     {"/cart /a/cart /cart?x", "/cart/ /carts"},
		"/search?q=*":              {"/search?q= /search?q=a", "/search /search?q=a/b /search?p=1"},
		"/file?.html":              {"/file1.html", "/file.html /file1.html?x /file/.html"},
		`/**\?**`:                  {"/?a /a/b?c", "/ /a/b"},
		"https://a.example/docs/*": {"/docs/x /docs/x?y", "/x"},
		"http://a.example/**":      {"", "/"},
		"*://*.example/**":         {"/ /a/b", ""},
		"HTTPS://A.Example/Docs":   {"/Docs", "/docs"},
		"/büro/**":                 {"/b%C3%BCro/ /büro/x", "/buro/"},
		"/b%c3%bcro":               {"/büro", "/buro"},
		"/a b%7Ec/**":              {"/a%20b~c/", "/ab~c/"},
		"re:/docs/.*[?]x":          {"/docs/a?x /b/docs/?x", "/docs/a"},
		`re:\.example/$`:           {"/", "/a"},
		"**":                       {"/ /a/b?c", ""},
	} {
		list, problems := compileAll("include", []string{pattern}, nil)
		if len(problems) > 0 {
			t.Errorf("%s: %v", pattern, problems)
			continue
		}
		for path := range strings.FieldsSeq(tc.yes) {
			if matching(list, mustURL(t, "https://a.example"+path)) == nil {
				t.Errorf("%s does not match %s", pattern, path)
			}
		}
		for path := range strings.FieldsSeq(tc.no) {
			if matching(list, mustURL(t, "https://a.example"+path)) != nil {
				t.Errorf("%s matches %s", pattern, path)
			}
		}
	}
}

func TestReasonsAreThoseOfOutcomes(t *testing.T) {
	for _, r := range []Reason{OutOfScope, Excluded, NonDocument, Depth, TrapPath, TrapQuery, DuplicateContent} {
		if !slices.Contains(visit.Reasons[visit.Skipped], visit.Reason(r)) {
			t.Errorf("%s is not a reason of skipped URLs", r)
		}
	}
	if !visit.Reason(Depth).Provisional() {
		t.Error("depth is final elsewhere")
	}
}
