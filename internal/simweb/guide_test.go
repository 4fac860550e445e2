package simweb_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"headway/politeness"
)

const guidePage = "../../docs/guide/politeness.md"

// simulated matches the timelines of the guide: a comment that names a scenario, and the
// block below it.
var simulated = regexp.MustCompile("(?s)<!-- simulated: ([a-z0-9-]+) -->\n```\n(.*?)```\n")

// presetTable matches the table of presets.
var presetTable = regexp.MustCompile(`(?s)<!-- presets -->\n.*<!-- end of presets -->\n`)

// TestGuide checks the page for site owners: its timelines are those of the scenarios,
// which TestScenarios compares with the simulation, and its presets those of package
// politeness.
func TestGuide(t *testing.T) {
	b, err := os.ReadFile(guidePage)
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	timelines := 0
	want := simulated.ReplaceAllStringFunc(page, func(block string) string {
		timelines++
		name := simulated.FindStringSubmatch(block)[1]
		archive, err := txtar.ParseFile("testdata/" + name + ".txtar")
		if err != nil {
			t.Fatal(err)
		}
		timeline := string(archive.Files[1].Data)
		if *update { // it may not be written yet
			timeline = scenario(t, string(archive.Files[0].Data))
		}
		return fmt.Sprintf("<!-- simulated: %s -->\n```\n%s```\n", name, timeline)
	})
	if timelines != 3 {
		t.Errorf("the guide has %d timelines, want 3", timelines)
	}
	if !presetTable.MatchString(page) {
		t.Error("the guide has no table of presets")
	}
	want = presetTable.ReplaceAllLiteralString(want, "<!-- presets -->\n"+presets(t)+"\n<!-- end of presets -->\n")
	if *update {
		if err := os.WriteFile(guidePage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(page, "\n")); diff != "" {
		t.Errorf("the guide no longer says what is (-update rewrites it):\n%s", diff)
	}
}

// presets renders the table of presets.
func presets(t *testing.T) string {
	uses := map[string]string{
		"polite": "any public site", "audit": "short audits", "warm": "your own site, to fill caches",
		"map": "mapping many sites and their links", "owned": "your own hosts, without a delay",
	}
	lines := []string{
		"| preset | base pace | concurrent requests per host | backoff without `Retry-After` | refusals | while robots.txt cannot be read | for |",
		"|---|---|---|---|---|---|---|",
	}
	for _, name := range politeness.PresetNames() {
		p, _ := politeness.Preset(name)
		if uses[name] == "" {
			t.Errorf("the guide does not know what preset %s is for", name)
		}
		label := "`" + name + "`"
		if name == politeness.DefaultPreset {
			label += " (default)"
		}
		base := shortDuration(p.Base)
		if p.Spread > 0 {
			base = fmt.Sprintf("%s to %s, random", base, shortDuration(p.Base+p.Spread))
		}
		refusals, robots := "429, 503", "nothing is fetched"
		if p.Refuses403 {
			refusals = "429, 403, 503"
		}
		if p.AllowUnreachableRobots {
			robots = "the last copy applies, or no rules; `headway why --json` then shows `\"confidence\": \"low\"`"
		}
		lines = append(lines, fmt.Sprintf("| %s | %s | up to %d | %s, doubling to %s | %s | %s | %s |", label, base, p.InFlight,
			shortDuration(p.Refusing.Start), shortDuration(p.Refusing.Max), refusals, robots, uses[name]))
	}
	return strings.Join(lines, "\n")
}

// TestGuideNumbers compares the numbers in the guide's prose about preset polite with the
// preset.
func TestGuideNumbers(t *testing.T) {
	p, ok := politeness.Preset(politeness.DefaultPreset)
	if !ok {
		t.Fatal("no default preset")
	}
	type numbers struct {
		RefusalRetries, FailureRetries, FailureThreshold, Need, LatencyRise, Jitter int
		Refusing, Failing                                                           politeness.Backoff
	}
	got := numbers{p.RefusalRetries, p.FailureRetries, p.FailureThreshold, p.Need, p.LatencyRise, p.Jitter, p.Refusing, p.Failing}
	want := numbers{
		3, 2, 20, 5, 300, 5,
		politeness.Backoff{Start: 5 * time.Second, Max: time.Hour},
		politeness.Backoff{Start: 2 * time.Second, Max: time.Hour},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the preset changed, change docs/guide/politeness.md too:\n%s", diff)
	}
}
