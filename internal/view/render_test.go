package view_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"headway"
	"headway/ask"
	"headway/frontier"
	"headway/internal/view"
	"headway/job"
	"headway/limit"
	"headway/store"
	"headway/visit"
)

var update = flag.Bool("update", false, "write the golden screens; then read the diff")

// golden compares a screen with its file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got):\n%s", path, d)
	}
}

var sizes = [][2]int{{80, 24}, {160, 50}}

func TestScreens(t *testing.T) {
	for name, model := range screens {
		for _, size := range sizes {
			t.Run(fmt.Sprintf("%s-%dx%d", name, size[0], size[1]), func(t *testing.T) {
				got := view.Render(model(), size[0], size[1])
				fits(t, got, size[0], size[1])
				golden(t, filepath.Base(t.Name()), got+"\n")
			})
		}
	}
	for name, end := range summaries {
		for _, size := range sizes {
			t.Run(fmt.Sprintf("%s-%dx%d", name, size[0], size[1]), func(t *testing.T) {
				e := end()
				e.Width = size[0]
				got := view.Summary(e)
				fits(t, strings.TrimSuffix(got, "\n"), size[0], size[1])
				golden(t, filepath.Base(t.Name()), got)
			})
		}
	}
}

// fits checks that a screen is within its size, and without control characters.
func fits(t interface {
	Helper()
	Errorf(string, ...any)
}, screen string, width, height int,
) {
	t.Helper()
	rows := strings.Split(screen, "\n")
	if len(rows) > height {
		t.Errorf("%d rows on a screen of %d", len(rows), height)
	}
	for _, r := range rows {
		if w := lipgloss.Width(r); w > width {
			t.Errorf("%d columns on a screen of %d: %q", w, width, r)
		}
		if strings.ContainsFunc(r, func(c rune) bool { return c < ' ' || c == 0x7f }) {
			t.Errorf("a control character in %q", r)
		}
	}
}

// TestEverySize draws every screen at every size: nothing is ever larger than
// the terminal, and the first row says that the crawl is alive.
func TestEverySize(t *testing.T) {
	for name, model := range screens {
		t.Run(name, func(t *testing.T) {
			m := model()
			for width := 1; width <= 200; width += 13 {
				for height := 1; height <= 60; height += 3 {
					got := view.Render(m, width, height)
					fits(t, got, width, height)
					if width >= 20 && !strings.HasPrefix(got, "headway ") {
						t.Fatalf("%dx%d begins with %q", width, height, got)
					}
				}
			}
		})
	}
}

// TestColour: colour changes nothing else.
func TestColour(t *testing.T) {
	escape := regexp.MustCompile("\x1b\\[[0-9;]*m")
	for name, model := range screens {
		m := model()
		without := view.Render(m, 100, 30)
		m.Colour = true
		with := view.Render(m, 100, 30)
		if !strings.Contains(with, "\x1b[") {
			t.Errorf("%s has no colour", name)
		}
		var rows []string
		for row := range strings.Lines(escape.ReplaceAllString(with, "")) {
			rows = append(rows, strings.TrimRight(row, " \n"))
		}
		if d := cmp.Diff(without, strings.Join(rows, "\n")); d != "" {
			t.Errorf("%s (-without +with):\n%s", name, d)
		}
	}
}

var percents = regexp.MustCompile(`(?m)^.*?([0-9]+) %  [▇▏]*`)

// TestSharesAddUp draws random shares: the printed ones add up to 100 % at any size.
func TestSharesAddUp(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := running()
		p := *m.Progress
		m.Progress = &p
		p.Shares = nil
		var total float64
		parts := rapid.SliceOfN(rapid.Float64Range(0, 1), 1, 1+len(visit.Waits)).Draw(rt, "parts")
		for _, f := range parts {
			total += f
		}
		if total == 0 {
			return
		}
		for i, f := range parts {
			state := frontier.Fetching
			if i > 0 {
				state = frontier.Waiting(visit.Waits[i-1])
			}
			p.Shares = append(p.Shares, share(state, i%3, f/total))
		}
		width, height := rapid.IntRange(60, 200).Draw(rt, "width"), rapid.IntRange(14, 60).Draw(rt, "height")
		got := view.Render(m, width, height)
		sum := 0
		for _, match := range percents.FindAllStringSubmatch(got, -1) {
			n, err := strconv.Atoi(match[1])
			if err != nil {
				rt.Fatal(err)
			}
			sum += n
		}
		if sum != 100 {
			rt.Fatalf("%d %% in all:\n%s", sum, got)
		}
		fits(rt, got, width, height)
	})
}

// TestSummaryAddsUp draws random endings: the summary's sums are those of its
// parts.
func TestSummaryAddsUp(t *testing.T) {
	number := regexp.MustCompile(`[0-9]+`)
	rapid.Check(t, func(rt *rapid.T) {
		r := headway.Report{State: job.Complete, Reason: "all URLs processed", Elapsed: time.Second}
		r.Counts = store.Counts{Waiting: rapid.Int64Range(0, 5).Draw(rt, "waiting"), Ended: map[store.Ending]int64{}}
		for _, o := range visit.Outcomes {
			if o == visit.Pending {
				continue
			}
			for _, reason := range append([]visit.Reason{""}, visit.Reasons[o]...) {
				if (reason == "") == (visit.Reasons[o] == nil) {
					r.Counts.Ended[ended(o, reason)] = rapid.Int64Range(0, 1000).Draw(rt, string(o)+string(reason))
				}
			}
		}
		lines := strings.Split(view.Summary(view.Ended{Report: r, Dir: "d"}), "\n")
		checked := 0
		for _, l := range lines {
			left, right, ok := strings.Cut(l, " = ")
			if !ok {
				continue
			}
			checked++
			want, sum := number.FindString(left), 0
			for part := range strings.SplitSeq(right, " + ") {
				n, err := strconv.Atoi(number.FindString(part))
				if err != nil {
					rt.Fatalf("%q: %v", l, err)
				}
				sum += n
			}
			if want != strconv.Itoa(sum) {
				rt.Fatalf("%q: the parts are %d", l, sum)
			}
		}
		if checked == 0 {
			rt.Fatalf("nothing adds up in %q", lines)
		}
		if !strings.Contains(lines[1], fmt.Sprintf("seen %d = ", r.Counts.Seen())) {
			rt.Fatalf("%d were seen: %q", r.Counts.Seen(), lines[1])
		}
	})
}

// TestEstimate checks what an estimate is based on.
func TestEstimate(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(m *view.Model, p *headway.Progress)
		want   string
	}{
		"by the rate": {func(*view.Model, *headway.Progress) {}, "00:45 left (estimate): 3,204 waiting at 71 pages/s"},
		"by a host": {func(_ *view.Model, p *headway.Progress) {
			p.Slowest[1].Queued, p.Slowest[1].More = 300, false
		}, "02:36 left (estimate): limited by shop.example, 300 at 0.52 s"},
		"by a host with more in the store": {func(_ *view.Model, p *headway.Progress) { p.Slowest[1].Queued = 300 }, "02:36 left (estimate): limited by shop.example, at least 300 at 0.52 s"},
		"by the only host": {func(_ *view.Model, p *headway.Progress) {
			p.Frontier.Working, p.Slowest = 1, p.Slowest[1:2]
		}, "27:46 left (estimate): limited by shop.example, 3,204 at 0.52 s"},
		"by what a hold leaves": {func(_ *view.Model, p *headway.Progress) {
			p.Slowest[0].Queued, p.Slowest[0].HeldUntil = 1, p.At.Add(2*time.Minute)
		}, "02:02 left (estimate): limited by docs.example, 1 at 2.00 s"},
		"up to a limit":    {func(_ *view.Model, p *headway.Progress) { p.Ceilings = ceilings(limit.Limits{Pages: 4600}) }, "00:40 left (estimate): 2,867 pages up to max_pages at 71 pages/s"},
		"shorter by time":  {func(_ *view.Model, p *headway.Progress) { p.Ceilings = ceilings(limit.Limits{Time: time.Minute}) }, "00:18 left (estimate), then max_time stops the crawl"},
		"while more comes": {func(m *view.Model, _ *headway.Progress) { m.Growing = true }, "00:45 left (estimate): 3,204 waiting at 71 pages/s, still finding more"},
		"from nothing":     {func(_ *view.Model, p *headway.Progress) { p.Rate, p.Slowest = 0, nil }, "estimate: not available, no URL finished recently"},
		"at the end":       {func(_ *view.Model, p *headway.Progress) { p.Counts.Waiting = 0 }, "estimate: nearly done, no URL waiting"},
	} {
		t.Run(name, func(t *testing.T) {
			got := strings.Split(view.Render(with(running(), tc.change), 100, 30), "\n")[2]
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// TestIdleNamesEveryWait: an idle line has words for each wait reason.
func TestIdleNamesEveryWait(t *testing.T) {
	for _, w := range visit.Waits {
		m := with(running(), func(m *view.Model, p *headway.Progress) {
			m.Idle, p.Shares = 12*time.Second, []frontier.Share{share(frontier.Waiting(w), 2, 1)}
			p.Slowest = nil // no host is paused
		})
		got := view.Line(m)
		words, ok := strings.CutPrefix(got, "00:42  nothing sent for 12 s: 2 hosts ")
		if !ok || len(words) < 4 {
			t.Errorf("%s: %q", w, got)
		}
	}
}

// TestPausedIsSaid distinguishes hosts paused by an operator from other holds.
func TestPausedIsSaid(t *testing.T) {
	m := with(running(), func(m *view.Model, p *headway.Progress) {
		m.Idle, p.Shares = 12*time.Second, []frontier.Share{share(frontier.Waiting(visit.WaitHold), 3, 1)}
		p.Slowest = []ask.Host{host("a.example", 0, "base", func(h *ask.Host) { h.State, h.Paused = "hold", true })}
	})
	if got, want := view.Line(m), "00:42  nothing sent for 12 s: 2 hosts held (Retry-After or backoff), 1 host paused by an operator"; got != want {
		t.Errorf("idle: %q, want %q", got, want)
	}
	m.Idle = 0
	if got := view.Line(m); !strings.Contains(got, "waiting on hold 2, paused 1") {
		t.Errorf("line: %q", got)
	}
	if got := view.Render(m, 100, 40); !strings.Contains(got, "1 of 3 paused") {
		t.Errorf("screen:\n%s", got)
	}
	e := summaries["partial"]()
	e.Paused = []string{"http://a.example", "http://b.example", "http://c.example", "http://d.example", "http://e.example"}
	if got := view.Summary(e); !strings.Contains(got, "\npaused by an operator: http://a.example, http://b.example, http://c.example and 2 more\n") {
		t.Errorf("summary:\n%s", got)
	}
}

// TestWatch distinguishes a crawl that sends requests from one that does not.
func TestWatch(t *testing.T) {
	var w view.Watch
	look := func(second int, requests int64, inFlight int, waiting int64) view.Model {
		m := view.Model{Now: at(time.Duration(second) * time.Second), Progress: &headway.Progress{Spent: limit.Use{Requests: requests}, Frontier: frontier.Stats{InFlight: inFlight}, Counts: store.Counts{Waiting: waiting}}}
		w.Look(&m)
		return m
	}
	for _, step := range []struct {
		second   int
		requests int64
		inFlight int
		waiting  int64
		idle     time.Duration
		growing  bool
	}{
		{0, 0, 0, 5, 0, false},
		{4, 0, 0, 5, 4 * time.Second, false},
		{5, 0, 1, 5, 0, false},               // sent
		{9, 1, 0, 20, 4 * time.Second, true}, // answered: nothing new was sent
		{15, 1, 0, 20, 10 * time.Second, true},
		{16, 1, 1, 20, 0, true},
		{30, 2, 0, 20, 14 * time.Second, false},
	} {
		m := look(step.second, step.requests, step.inFlight, step.waiting)
		if m.Idle != step.idle || m.Growing != step.growing {
			t.Errorf("second %d: idle %v, growing %v; want %v, %v", step.second, m.Idle, m.Growing, step.idle, step.growing)
		}
	}
}

// TestForgedNames: no seed or reason can send control sequences to the terminal.
func TestForgedNames(t *testing.T) {
	m := with(running(), func(m *view.Model, p *headway.Progress) {
		m.Title, p.Stopping = "https://x.example/\x1b[2J\x9b31m", "because\r\n\x1b]0;title\x07"
	})
	fits(t, view.Render(m, 100, 30), 100, 30)
	fits(t, view.Line(m), 1000, 1)
	fits(t, strings.TrimSuffix(view.Summary(view.Ended{Report: headway.Report{State: job.Failed, Reason: "\x1b[2J"}, Dir: "a\x1bb"}), "\n"), 1000, 10)
}

func BenchmarkRender(b *testing.B) {
	m := running()
	m.Colour = true
	b.ReportAllocs()
	for b.Loop() {
		view.Render(m, 160, 50)
	}
}
