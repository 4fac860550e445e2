package metrics_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"headway/internal/metrics"
)

// Files for operators of a fleet.
const (
	configFile = "../../deploy/prometheus/prometheus.yml"
	rulesFile  = "../../deploy/prometheus/headway.rules.yml"
	rulesTest  = "../../deploy/prometheus/headway.test.yml"
	boardFile  = "../../deploy/grafana/headway.json"
)

// installed finds a program of Prometheus.
func installed(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("this test needs %s of the Debian package prometheus, which .ci/run installs: %v", name, err)
	}
	return path
}

// TestRules lets promtool read the rules and run their tests.
func TestRules(t *testing.T) {
	promtool := installed(t, "promtool")
	for _, args := range [][]string{{"check", "config", configFile}, {"check", "rules", rulesFile}, {"test", "rules", rulesTest}} {
		if out, err := exec.CommandContext(t.Context(), promtool, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	rules, tests := read(t, rulesFile), read(t, rulesTest)
	for _, m := range regexp.MustCompile(`alert: (\w+)`).FindAllStringSubmatch(rules, -1) {
		if n := strings.Count(tests, "alertname: "+m[1]); n < 2 {
			t.Errorf("%s is tested %d times: want once quiet and once fired", m[1], n)
		}
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// panel is what a test wants to know of a panel of the board.
type panel struct {
	ID      int
	Title   string
	Type    string
	Targets []struct{ Expr string }
}

// board reads the board.
func board(t *testing.T) []panel {
	t.Helper()
	var b struct{ Panels []panel }
	if err := json.Unmarshal([]byte(read(t, boardFile)), &b); err != nil {
		t.Fatal(err)
	}
	return b.Panels
}

var (
	quoted   = regexp.MustCompile(`"[^"]*"`)
	measured = regexp.MustCompile(`\b(headway[_:][a-z0-9_:]+|process_[a-z_]+|go_[a-z_]+)\b`)
	grouped  = regexp.MustCompile(`(?:by|on|ignoring) \(([a-z, ]*)\)`)
	matched  = regexp.MustCompile(`([a-z]+)(?:=~|=|!=)"`)
)

// ofProcess are the metrics of others that the board shows.
var ofProcess = []string{"process_resident_memory_bytes", "process_cpu_seconds_total", "go_goroutines"}

// TestBoard wants every query of the board and every rule to ask for what is
// shown, by labels it has, and everything that is shown to be on the board.
func TestBoard(t *testing.T) {
	rules := read(t, rulesFile)
	labels := map[string][]string{"headway_build_info": {"version", "go"}}
	shown := slices.Concat(metrics.Metrics(), metrics.ServerMetrics())
	for _, m := range shown {
		labels[m.Name] = strings.Split(m.Label, ", ")
		if m.Kind == "histogram" {
			labels[m.Name+"_bucket"], labels[m.Name+"_count"], labels[m.Name+"_sum"] = []string{m.Label}, nil, nil
		}
	}
	for _, name := range ofProcess {
		labels[name] = nil
	}
	var recorded []string
	for _, m := range regexp.MustCompile(`record: (\S+)`).FindAllStringSubmatch(rules, -1) {
		recorded = append(recorded, m[1])
	}
	used := map[string]bool{}
	check := func(where, expr string) {
		known := []string{"job", "instance"}
		for _, name := range measured.FindAllString(quoted.ReplaceAllString(expr, `""`), -1) {
			own, ok := labels[name]
			if !ok && !slices.Contains(recorded, name) {
				t.Errorf("%s uses %s, which is not exposed", where, name)
			}
			known = append(known, own...)
			used[strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_count")] = true
		}
		for _, m := range grouped.FindAllStringSubmatch(expr, -1) {
			for label := range strings.SplitSeq(m[1], ",") {
				if label = strings.TrimSpace(label); label != "" && !slices.Contains(known, label) {
					t.Errorf("%s groups by %s, which nothing in it has", where, label)
				}
			}
		}
		for _, m := range matched.FindAllStringSubmatch(expr, -1) {
			if !slices.Contains(known, m[1]) {
				t.Errorf("%s matches %s, which nothing in it has", where, m[1])
			}
		}
	}
	ids := map[int]bool{}
	for _, p := range board(t) {
		if ids[p.ID] {
			t.Errorf("two panels have the number %d", p.ID)
		}
		ids[p.ID] = true
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("%s asks for nothing", p.Title)
		}
		for _, q := range p.Targets {
			check(p.Title, q.Expr)
		}
	}
	for _, m := range shown {
		if !used[m.Name] {
			t.Errorf("%s is not on the board", m.Name)
		}
	}
	for line := range strings.Lines(rules) {
		if text := strings.TrimSpace(line); !strings.HasPrefix(text, "description:") && !strings.HasPrefix(text, "#") && !strings.HasPrefix(text, "- name:") {
			for _, name := range measured.FindAllString(quoted.ReplaceAllString(text, `""`), -1) {
				if _, ok := labels[name]; !ok && !slices.Contains(recorded, name) {
					t.Errorf("a rule uses %s, which is not exposed", name)
				}
			}
		}
	}
}
