package inspect

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"headway/answer"
	"headway/ask"
	"headway/internal/cli/command"
	"headway/visit"
)

// TestAnswersFit80Columns prints long names, URLs and sentences: no line is longer than
// a small terminal, and --wide leaves nothing out.
func TestAnswersFit80Columns(t *testing.T) {
	long := "https://a-host-with-a-long-name.of-a-long-domain.example/and/a/path/that/is/long/too/last"
	host := ask.Host{Host: "https://a-host-with-a-long-name.of-a-long-domain.with-many-labels.example:8443", Pace: ask.Seconds(time.Second), Source: "crawl_delay"}
	slow := &answer.Slow{
		Running: true, State: "running", Elapsed: ask.Seconds(90 * time.Second), Paused: 3,
		Sentence: "56 % of host time: the Crawl-delay in robots.txt (crawl_delay). The last host to finish will be " + host.Host + ", with 1,000 URLs at 1 s: at least 17 min more.",
		Change:   "check this machine's network and DNS, since the hosts are not at fault; the crawl continues automatically",
		Parts:    []ask.Share{{State: string(visit.WaitHold), Part: 1, Hosts: 12_345}},
		Slowest:  []answer.Host{{Host: host, Waiting: 123_456, ETA: ask.Seconds(time.Hour)}},
		Layers:   []ask.Layer{{Name: "robots.parallel and more", Setting: "a.long.name.of.a.setting", Limit: 100_000, Use: 100_000, Waiting: 100_000, Waited: ask.Seconds(time.Hour)}},
	}
	comparison := &answer.Comparison{
		Settings: []string{"exclude /a/very/long/pattern/**, /another/very/long/pattern/**, /and/a/third/**, was none"},
		Unread:   7,
		Changes: []answer.Change{
			{Kind: answer.PageDead, Total: 1, URLs: []answer.ChangedURL{{URL: long, Status: 404, FoundOn: long}}},
			{Kind: answer.PageSlower, Total: 1, URLs: []answer.ChangedURL{{URL: long, BeforeTook: ask.Seconds(100 * time.Millisecond), AfterTook: ask.Seconds(9 * time.Second)}}},
		},
	}
	receipt := hostileReceipt(t)
	receipt.Robots = []answer.RobotsVersion{{SHA256: strings.Repeat("0123456789abcdef", 4), Bytes: 100_000, First: time.Unix(0, 0), Last: time.Unix(0, 0)}}
	for name, x := range map[string]struct {
		print func(w io.Writer, wide bool) error
		full  []string
	}{
		"slow":     {func(w io.Writer, wide bool) error { return printSlowText(w, slow, wide) }, []string{slow.Sentence, slow.Change, host.Host, "a.long.name.of.a.setting"}},
		"compare":  {func(w io.Writer, wide bool) error { return printComparison(w, comparison, wide) }, []string{comparison.Settings[0], long + "  404, linked from " + long, long + "  9s, was 100ms"}},
		"courtesy": {func(w io.Writer, wide bool) error { return printReceipt(w, receipt, wide) }, append(receipt.Notes, receipt.Instructions[0].How, receipt.Incidents[len(receipt.Incidents)-1].URL)},
	} {
		var short, wide bytes.Buffer
		if err := x.print(&short, false); err != nil {
			t.Fatal(err)
		}
		if err := x.print(&wide, true); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(short.String()) {
			if line = strings.TrimSuffix(line, "\n"); utf8.RuneCountInString(line) > command.LineWidth || strings.HasSuffix(line, " ") {
				t.Errorf("%s prints %q", name, line)
			}
		}
		for _, text := range x.full {
			if !strings.Contains(wide.String(), text) {
				t.Errorf("%s --wide does not print %q:\n%s", name, text, wide.String())
			}
		}
	}
}
