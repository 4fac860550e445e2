package lab

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the tables of README.md")

func choiceTable(choices []Choice) string {
	var b strings.Builder
	b.WriteString("| name | |\n|---|---|\n")
	for _, c := range choices {
		fmt.Fprintf(&b, "| `%s` | %s |\n", c.Name, c.About)
	}
	return b.String()
}

// readmeTables are the parts of README.md generated from the code.
func readmeTables() map[string]string {
	tables := map[string]string{
		"traps": choiceTable(TrapChoices()), "robots": choiceTable(RobotsKinds()), "sitemaps": choiceTable(SitemapKinds()),
		"caches": choiceTable(CacheStyles()), "challenges": choiceTable(Challenges()),
	}
	var b strings.Builder
	b.WriteString("| temper | pages | |\n|---|---|---|\n")
	for _, t := range Tempers() {
		fmt.Fprintf(&b, "| `%s` | %d | %s |\n", t.Name, t.Site.Pages, t.About)
	}
	tables["tempers"] = b.String()
	b.Reset()
	b.WriteString("| path | |\n|---|---|\n")
	for _, e := range Exhibits() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", e.Path, strings.ReplaceAll(e.About, "|", "\\|"))
	}
	tables["exhibits"] = b.String()
	var names []Choice
	for _, e := range DNSExhibits() {
		names = append(names, Choice{Name: e.Name, About: e.About})
	}
	tables["names"] = choiceTable(names)
	return tables
}

// TestReadme compares the tables of README.md with the code. After a change:
//
//	go test ./lab -run TestReadme -update
func TestReadme(t *testing.T) {
	raw, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	for name, table := range readmeTables() {
		before, rest, ok1 := strings.Cut(text, "<!-- "+name+" -->\n")
		_, after, ok2 := strings.Cut(rest, "<!-- end -->")
		if !ok1 || !ok2 {
			t.Fatalf("README.md has no place for %s", name)
		}
		text = before + "<!-- " + name + " -->\n" + table + "<!-- end -->" + after
	}
	if text == string(raw) {
		return
	}
	if !*update {
		t.Fatal("the tables of README.md are not those of the code; run with -update and read the diff")
	}
	if err := os.WriteFile("README.md", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
