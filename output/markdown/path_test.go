package markdown

import (
	"path"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"headway/output/outputtest"
	"headway/weburl"
)

// TestPath pins names: they are the same in every crawl.
func TestPath(t *testing.T) {
	for raw, want := range map[string]string{
		"https://example.com/":                            "example.com/index.md",
		"https://example.com/docs/":                       "example.com/docs/index.md",
		"https://example.com/docs":                        "example.com/docs.md",
		"https://example.com/docs/install.html":           "example.com/docs/install.html.md",
		"https://example.com/a_b-c.1/d":                   "example.com/a_b-c.1/d.md",
		"http://example.com/":                             "http_example.com/index.md",
		"http://127.0.0.1:8780/a":                         "http_127.0.0.1_8780/a.md",
		"https://example.com:8443/a":                      "example.com_8443/a.md",
		"https://example.com/list?q=1&p=2":                "example.com/list-q-1-p-2~*.md",
		"https://example.com/?q=1":                        "example.com/q-1~*.md",
		"https://example.com/README":                      "example.com/readme~*.md",
		"https://example.com/wiki/Go_(game)":              "example.com/wiki/go_-game~*.md",
		"https://example.com/%E6%BC%A2%E5%AD%97":          "example.com/漢字~*.md",
		"https://example.com/caf%C3%A9":                   "example.com/café~*.md",
		"https://example.com/cafe%CC%81":                  "example.com/café~*.md",
		"https://example.com/%FF":                         "example.com/ff~*.md",
		"https://example.com/con":                         "example.com/_con~*.md",
		"https://example.com/aux.txt":                     "example.com/_aux.txt~*.md",
		"https://example.com/lpt9/a":                      "example.com/_lpt9~*/a.md",
		"https://example.com/docs.md/a":                   "example.com/docs.md~*/a.md",
		"https://example.com/index":                       "example.com/index~*.md",
		"https://example.com/a./b":                        "example.com/a~*/b.md",
		"https://example.com/.git/config":                 "example.com/git~*/config.md",
		"https://example.com/-rf":                         "example.com/rf~*.md",
		"https://example.com/a~b":                         "example.com/a-b~*.md",
		"https://example.com//a":                          "example.com/~*/a.md",
		"https://example.com/%2E%2E%2Fetc%5Cpasswd":       "example.com/etc-passwd~*.md",
		"https://example.com/a%00b%0Ac":                   "example.com/a-b-c~*.md",
		"https://nul/":                                    "_nul~*/index.md",
		"https://[2001:db8::1]/":                          "2001-db8-1~*/index.md",
		"https://example.com/" + strings.Repeat("x", 65):  "example.com/" + strings.Repeat("x", 64) + "~*.md",
		"https://example.com/" + strings.Repeat("a/", 80): "example.com/a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a~*.md",
	} {
		got := Path(outputtest.URL(t, raw))
		if ok, err := path.Match(want, got); !ok || err != nil {
			t.Errorf("%s is at %s, want %s", raw, got, want)
		}
	}
}

// fold is a name as file systems compare it that treat upper and lower case, and the forms of
// a letter, as equal.
func fold(name string) string { return norm.NFD.String(strings.ToLower(strings.ToUpper(name))) }

// TestPathsDiffer: different URLs have different files, on any file system, and no file is
// where another needs a folder.
func TestPathsDiffer(t *testing.T) {
	taken := map[string]string{}
	folders := map[string]string{}
	for _, raw := range []string{
		"https://example.com/a", "https://example.com/A", "https://example.com/a/", "https://example.com/a/index", "https://example.com/a/INDEX",
		"https://example.com/a.md", "https://example.com/a.md/", "https://example.com/a?", "https://example.com/a?b", "https://example.com/a?B", "https://example.com/a%3Fb",
		"https://example.com/a//", "https://example.com/a/b", "https://example.com/a%2Fb", "https://example.com/a-b", "https://example.com/a.", "https://example.com/a%20",
		"https://example.com/%C3%A9", "https://example.com/e%CC%81", "https://example.com/%C3%89", "https://example.com/ss", "https://example.com/%C3%9F",
		"https://example.com/con", "https://example.com/_con", "https://example.com/CON",
		"http://example.com/a", "https://http_example.com/a", "https://example.com:8080/a", "https://example.com_8080/a", "http://example.com:8080/a",
		"https://example.com/" + strings.Repeat("x", 64), "https://example.com/" + strings.Repeat("x", 65), "https://example.com/" + strings.Repeat("x", 66),
		"https://example.com/" + strings.Repeat("a/", 80), "https://example.com/" + strings.Repeat("a/", 81),
	} {
		u, err := weburl.Parse(raw)
		if err != nil {
			t.Logf("not a URL: %v", err)
			continue
		}
		file := fold(Path(u))
		if other, ok := taken[file]; ok && other != u.String() {
			t.Errorf("%s and %s are both at %s", raw, other, file)
		}
		taken[file] = u.String()
		for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
			folders[dir] = raw
		}
	}
	for dir, raw := range folders {
		if other, ok := taken[dir]; ok {
			t.Errorf("%s is the file of %s and a folder of %s", dir, other, raw)
		}
	}
}

// FuzzPath: every name is valid on every file system, and the file is below the folder.
func FuzzPath(f *testing.F) {
	for _, seed := range []string{"/", "/a/../b", "/%2e%2e/%5C", "/COM1.x/%F0%9F%98%80?a=b&c", "//", "/aux/%E2%80%AE.", "/" + strings.Repeat("%E6%BC%A2", 300)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, below string) {
		u, err := weburl.Parse("https://example.com/" + below)
		if err != nil {
			t.Skip("not a URL")
		}
		got := Path(u)
		if len(got) > len("example.com/")+maxPath+len(extension) || !utf8.ValidString(got) || path.Clean(got) != got || !strings.HasPrefix(got, "example.com/") {
			t.Fatalf("%s is at %q", u, got)
		}
		for name := range strings.SplitSeq(got, "/") {
			base, _, _ := strings.Cut(name, ".")
			if name == "" || len(name) > 255 || name[0] == '.' || name[0] == '-' || strings.HasSuffix(name, ".") || strings.ContainsAny(name, "<>:\"\\|?* \x00\n") || isReserved(base) || name != strings.ToLower(name) {
				t.Fatalf("%s is at %q, of which %q is not valid everywhere", u, got, name)
			}
		}
	})
}
