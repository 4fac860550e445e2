package fleettest

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

const operateGuide = "../../docs/guide/operate.md"

// notRun is how many blocks of the operator's guide no test can run, so that a
// reviewer sees a new one.
const notRun = 7

// TestOperate runs docs/guide/operate.md. The leases of workers that a backup brings
// back expire, which takes little time here.
func TestOperate(t *testing.T) {
	t.Parallel()
	runGuide(t, operateGuide, []string{"--lease", lease.String()}, "8780", "9464", "9465", "9466", "8788")
}

// TestOperateNames checks the names in the operator's guide that are not run.
func TestOperateNames(t *testing.T) {
	text, err := os.ReadFile(operateGuide)
	if err != nil {
		t.Fatal(err)
	}
	guide := string(text)
	marked := 0
	blocks := strings.Split(guide, "\n```") // before, in and after each block
	for i := 1; i < len(blocks); i += 2 {
		if strings.HasSuffix(strings.TrimSpace(blocks[i-1]), "-->") && strings.Contains(blocks[i-1], "<!-- not run: ") {
			marked++
		} else {
			t.Errorf("a block is neither run nor marked as not run:\n%s", blocks[i])
		}
	}
	if marked != notRun {
		t.Errorf("%d blocks are not run, want %d", marked, notRun)
	}
	rules, err := os.ReadFile("../../deploy/prometheus/headway.rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	alerts := regexp.MustCompile(`\bHeadway[A-Z]\w+`).FindAllString(guide, -1)
	if len(alerts) == 0 {
		t.Error("the guide names no alert")
	}
	for _, name := range alerts {
		if !strings.Contains(string(rules), "alert: "+name+"\n") {
			t.Errorf("there is no alert %s", name)
		}
	}
	settings, err := os.ReadFile("../../docs/reference/settings.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range regexp.MustCompile("`((?:fleet|safety|worker|fetch|robots|frontier|log|store)\\.[a-z_]+)`").FindAllStringSubmatch(guide, -1) {
		if !strings.HasSuffix(name[1], ".yaml") && !strings.Contains(string(settings), "| `"+name[1]+"` |") {
			t.Errorf("there is no setting %s", name[1])
		}
	}
	for _, path := range regexp.MustCompile("`(deploy/[a-z./@-]+)`").FindAllStringSubmatch(guide, -1) {
		if _, err := os.Stat("../../" + path[1]); err != nil {
			t.Error(err)
		}
	}
}
