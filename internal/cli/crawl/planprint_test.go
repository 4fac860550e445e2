package crawl

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"headway/answer"
	"headway/ask"
	"headway/internal/cli/command"
)

// TestPlanFits80Columns prints a plan with long values: no line is longer than a small
// terminal, and --wide leaves nothing out.
func TestPlanFits80Columns(t *testing.T) {
	rule := "Allow: /a/long/path/that/the/owner/of/the/host/allows/*"
	p := &answer.Plan{
		Sentence: "About 10 pages in 11 s. https://a-host-with-a-long-name.of-a-long-domain.example takes longest, at one request every 1 s (base).",
		Hosts: []answer.PlanHost{{
			Host: "https://a-host-with-a-long-name.of-a-long-domain.example", Pages: 10, Requests: 12, SizeKnown: true,
			Pace: ask.Seconds(time.Second), Source: "base", InFlight: 2, Response: ask.Seconds(10 * time.Millisecond), Remembered: true,
			Robots: answer.PlanRobots{Status: 200, Seed: true, Line: 7, Rule: rule},
		}},
		Unknown: []string{"how many pages the links of the pages lead to, because no sitemap gives a count of them"},
	}
	var short, wide bytes.Buffer
	for b, w := range map[*bytes.Buffer]bool{&short: false, &wide: true} {
		if err := PrintPlan(b, p, w); err != nil {
			t.Fatal(err)
		}
	}
	for line := range strings.Lines(short.String()) {
		if line = strings.TrimSuffix(line, "\n"); utf8.RuneCountInString(line) > command.LineWidth || strings.HasSuffix(line, " ") {
			t.Errorf("it prints %q", line)
		}
	}
	for _, text := range []string{p.Sentence, rule, p.Unknown[0]} {
		if !strings.Contains(wide.String(), text) {
			t.Errorf("--wide does not print %q:\n%s", text, wide.String())
		}
	}
}
