package e2e

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"headway"
	"headway/internal/race"
	"headway/internal/view"
	"headway/lab"
	"headway/lab/temper"
)

var update = flag.Bool("update", false, "write the screens under docs/screens; then look at them")

// terminal is a pseudo-terminal in which a command runs, in tmux.
type terminal struct {
	*testing.T
	socket string
	began  time.Time
}

// terminal runs a command on a screen of this size. When it has ended, its exit code
// and the modes of the terminal are printed.
func (w *world) terminal(t *testing.T, cmd *exec.Cmd, width, height int) *terminal {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Fatalf("a real terminal is needed: install tmux (%v)", err)
	}
	var script strings.Builder
	for _, v := range cmd.Env {
		name, value, _ := strings.Cut(v, "=")
		switch name {
		case "TERM", "TMUX", "TMUX_PANE", "NO_COLOR", "_":
			continue // the terminal's own
		}
		if regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`).MatchString(name) {
			fmt.Fprintf(&script, "export %s=%s\n", name, quoted(value))
		}
	}
	script.WriteString("trap : INT\n") // Ctrl-C is for the command
	for _, a := range cmd.Args {
		script.WriteString(quoted(a) + " ")
	}
	script.WriteString("\necho \"exit $? $(stty -a | tr -s ' ;' '\\n' | grep -x -e echo -e icanon -e isig | tr '\\n' ' ')\"\nexec sleep 600\n")
	dir := t.TempDir()
	file := filepath.Join(dir, "run.sh")
	if err := os.WriteFile(file, []byte(script.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &terminal{T: t, socket: filepath.Join(dir, "tmux"), began: time.Now()}
	start := exec.CommandContext(t.Context(), "tmux", "-u", "-S", s.socket, "-f", os.DevNull, "new-session", "-d", "-x", fmt.Sprint(width), "-y", fmt.Sprint(height), "sh "+file)
	start.Dir = cmd.Dir
	if out, err := start.CombinedOutput(); err != nil {
		t.Fatalf("tmux: %v\n%s", err, out)
	}
	t.Cleanup(func() {
		end := exec.Command("tmux", "-S", s.socket, "kill-server") // the test's context is over
		if out, err := end.CombinedOutput(); err != nil {
			t.Errorf("end tmux: %v\n%s", err, out)
		}
	})
	return s
}

func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// tmux runs a tmux command.
func (s *terminal) tmux(args ...string) string {
	s.Helper()
	out, err := exec.CommandContext(s.Context(), "tmux", append([]string{"-u", "-S", s.socket}, args...)...).CombinedOutput()
	if err != nil {
		s.Fatalf("tmux %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// screen is the visible screen.
func (s *terminal) screen() string {
	s.Helper()
	return strings.TrimRight(s.tmux("capture-pane", "-p"), "\n") + "\n"
}

// press types keys.
func (s *terminal) press(keys ...string) { s.tmux(append([]string{"send-keys"}, keys...)...) }

// see waits until the screen has these lines, in this order.
func (s *terminal) see(lines ...string) string {
	s.Helper()
	tick := time.NewTicker(30 * time.Millisecond) // tmux reports no redraw, so its screen is polled
	defer tick.Stop()
	over := time.After(60 * time.Second)
	for {
		screen := s.screen()
		missing := missing(screen, lines)
		if missing == "" {
			return screen
		}
		select {
		case <-tick.C:
		case <-over:
			s.Fatalf("no line matches %q:\n%s", missing, screen)
		}
	}
}

// missing is the first pattern that no line matches, searched from where the one
// before was found: columns are side by side. A line that was too long for the
// terminal is one line.
func missing(screen string, patterns []string) string {
	lines := strings.Split(screen, "\n")
	width := 0
	for _, line := range lines {
		width = max(width, utf8.RuneCountInString(line))
	}
	for _, p := range patterns {
		re := regexp.MustCompile(p)
		for len(lines) > 0 && !re.MatchString(lines[0]) && !re.MatchString(unbroken(lines, width)) {
			lines = lines[1:]
		}
		if len(lines) == 0 {
			return p
		}
	}
	return ""
}

// unbroken is the first line together with its continuation rows, which are indented.
func unbroken(lines []string, width int) string {
	whole, last := lines[0], lines[0]
	for _, row := range lines[1:] {
		rest := strings.TrimPrefix(row, "  ")
		word, _, _ := strings.Cut(rest, " ")
		if rest == row || word == "" || utf8.RuneCountInString(last)+1+utf8.RuneCountInString(word) <= width {
			break
		}
		whole, last = whole+" "+rest, row
	}
	return whole
}

// Rows of every view; others come between them.
const (
	rowTitle  = `^headway  http://127\.1\.0\.1:[0-9]+/.* (running|stopping)  [0-9]+:[0-9][0-9]$`
	rowCounts = `^[0-9,]+ done  [0-9.,]+ pages/(s|min)  [0-9,]+ waiting  [0-9]+ in flight  [0-9]+ hosts?, [0-9]+ ready`
	rowGuess  = `^([0-9:]+ left \(estimate\)|estimate: )`
	rowShares = `waiting on +share of host time`
	rowHosts  = `slowest hosts +pace  set by +now$`
	rowKeys   = `^Ctrl-C finishes requests in flight and saves; run the same command to resume$`
	rowAgain  = `^press Ctrl-C again to quit now; nothing is lost either way$`
	rowSane   = ` (echo|icanon|isig) (echo|icanon|isig) (echo|icanon|isig) *$`
)

// sight is a state of a crawl in a terminal.
type sight struct {
	hosts  func() []lab.HostSpec
	args   []string
	before func(t *testing.T, w *world) // earlier steps in the same folder
	during func(s *terminal)            // steps until the state is reached
	rows   []string                     // what must be visible then
	end    func(s *terminal)
	then   []string // what must be visible at the end
}

func uniform(hosts, pages int, change ...func(*lab.Temper)) func() []lab.HostSpec {
	return func() []lab.HostSpec { return lab.Uniform(hosts, site(pages, change...)) }
}

func named(names ...string) func() []lab.HostSpec {
	return func() []lab.HostSpec {
		list, err := lab.Select(names...)
		if err != nil {
			panic(err) // the names are ours
		}
		return list
	}
}

func crawlDelay(d time.Duration) func(*lab.Temper) {
	return func(t *lab.Temper) { t.Site.CrawlDelay = d }
}

// stopNow ends a long crawl.
func stopNow(s *terminal) { s.press("C-c", "C-c") }

var interruptedRows = []string{`^interrupted: run the same command to resume$`, `^seen [0-9]+ = `, `^next: headway crawl --dir crawl +# resumes the crawl$`, `^exit 130` + rowSane}

var sights = map[string]sight{
	"start": {
		hosts: named("million", "plain"),
		rows:  []string{rowTitle, rowCounts, rowGuess, `outcomes`, rowShares, rowKeys},
		end:   stopNow, then: interruptedRows,
	},
	"running": {
		hosts:  named("plain", "docs", "blog", "slow", "window", "flaky", "redirects", "forbidden", "facets", "museum"),
		during: func(s *terminal) { s.see(`running  00:(0[89]|[1-5])`) },
		rows:   []string{rowTitle, rowCounts, rowGuess, `outcomes`, rowShares, `(pace|crawl_delay) +[0-9]+ %  [▇▏]+`, rowHosts, ` 2\.00 s  crawl_delay `, rowKeys},
		end:    stopNow, then: interruptedRows,
	},
	"throttled": {
		hosts:  named("shop", "silent"),
		args:   []string{"--preset", "owned"},
		during: func(s *terminal) { s.see(`running  00:(0[4-9]|[1-5])`) },
		rows:   []string{rowTitle, rowCounts, rowGuess, `^127\.1\.0\..* (is|are) refusing requests`, rowShares, rowHosts, ` s  learned +hold`, rowKeys},
		end:    stopNow, then: interruptedRows,
	},
	"idle": {
		hosts: uniform(1, 20, func(t *lab.Temper) {
			t.Rules.Outages = []temper.Outage{{AfterRequests: 4, RetryAfter: 5 * time.Minute}}
		}),
		rows: []string{rowTitle, rowCounts, rowGuess, `^nothing sent for 1[0-9] s: 1 host held \(Retry-After or backoff\); next request at [0-9:]+$`, `^127\.1\.0\.1:[0-9]+ is refusing requests, next request at [0-9:]+$`, rowShares, `hold +[0-9]+ %`, rowHosts, `hold until [0-9:]+`, rowKeys},
		end:  stopNow, then: interruptedRows,
	},
	"limit": {
		hosts: uniform(1, 100, crawlDelay(1500*time.Millisecond)),
		args:  []string{"--max-pages", "20", "--max-time", "1h"},
		rows:  []string{rowTitle, rowCounts, `^[0-9:]+ left \(estimate\): .*max_pages`, `limits|max_pages`, `max_pages +[89][0-9] %.* (nearing|almost reached)|max_pages [89][0-9] % (nearing|almost reached)`, rowKeys},
		then:  []string{`^partial: max_pages$`, `^exit 3` + rowSane},
	},
	"draining": {
		hosts: uniform(3, 50, func(t *lab.Temper) { t.Rules.Latency = temper.Constant(2500 * time.Millisecond) }),
		during: func(s *terminal) {
			s.see(`[1-9] in flight`, `fetched +[0-9]`)
			s.press("C-c")
		},
		rows: []string{rowTitle, rowCounts, `^finishing [0-9] requests? in flight, then stopping: interrupted$`, rowShares, rowAgain},
		then: interruptedRows,
	},
	"resumed": {
		hosts:  uniform(1, 100, crawlDelay(300*time.Millisecond)),
		before: func(t *testing.T, w *world) { w.interrupted(w.crawl("crawl", "--max-time", "30m"), 4) },
		args:   []string{"--max-time", "1h"},
		during: func(s *terminal) { s.see(`running  00:(0[2-9]|[1-5])`) },
		rows:   []string{rowTitle, rowCounts, rowGuess, `^resumed: [0-9]+ pages? and [0-9]+ requests done in earlier runs$`, rowShares, rowHosts, rowKeys},
		end:    stopNow, then: interruptedRows,
	},
	"complete": {
		hosts: uniform(3, 12, crawlDelay(100*time.Millisecond)),
		args:  []string{"--preset", "owned"},
		rows: []string{
			`^complete: all URLs processed$`, `^seen [0-9]+ = 36 fetched \+ `, `^skipped [0-9]+ = `, `^this run: 36 pages, [0-9]+ requests in [0-9.]+s \(`,
			rowUnrefused, `^host time: .* %`, `^folder: crawl$`, `^next: headway why URL --dir crawl +# `, `^ +headway slow --dir crawl +# `, `^exit 0` + rowSane,
		},
	},
	"partial": {
		hosts: uniform(2, 30, crawlDelay(100*time.Millisecond)),
		args:  []string{"--preset", "owned", "--max-pages", "10"},
		rows: []string{
			`^headway: warning: limit usage: max_pages: `, `^partial: max_pages$`, `^Job limit: Maximum 10 pages per crawl$`, `^seen [0-9]+ = 10 fetched \+ `, `^this run: 10 pages, `, `^host time: `,
			`^next: headway crawl --dir crawl --max-pages N +# resumes with a higher limit N$`, `^ +headway slow --dir crawl +# `, `^exit 3` + rowSane,
		},
	},
	"blocked": {
		hosts: named("robots-deny"),
		rows: []string{
			`^blocked: robots\.txt or a firewall blocks everything$`, `^seen 1 = 1 skipped$`, `^skipped 1 = 1 robots_disallow$`, `^politeness: no host pushed back$`,
			`^next: headway why http://127\.1\.0\.1:[0-9]+/ --dir crawl +# shows the blocking rule$`, `^exit 4` + rowSane,
		},
	},
}

// rowUnrefused is the politeness line of a crawl that no host refused. Under the race detector
// the lab may be slow once, and slow responses count as pushing back.
var rowUnrefused = func() string {
	if race.Enabled {
		return `^politeness: (no host pushed back|hosts pushed back [0-9]+ times?, 0 refusals .*)$`
	}
	return `^politeness: no host pushed back$`
}()

// TestScreens checks crawls in a real terminal of two sizes. The screens under
// docs/screens were captured once; they must show what is visible today.
func TestScreens(t *testing.T) {
	t.Parallel()
	for name, look := range sights {
		for _, size := range [][2]int{{80, 24}, {160, 50}} {
			t.Run(fmt.Sprintf("%s-%dx%d", name, size[0], size[1]), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, lab.Config{Hosts: look.hosts()})
				if look.before != nil {
					look.before(t, w)
				}
				s := w.terminal(t, w.crawl("crawl", look.args...), size[0], size[1])
				if look.during != nil {
					look.during(s)
				}
				screen := s.see(look.rows...)
				if look.end != nil {
					look.end(s)
				}
				s.see(look.then...)
				committed(t, filepath.Base(t.Name()), size, screen, look.rows)
			})
		}
	}
}

// interrupted runs a crawl until a number of pages was fetched.
func (w *world) interrupted(cmd *exec.Cmd, pages int64) {
	w.Helper()
	if err := cmd.Start(); err != nil {
		w.Fatal(err)
	}
	w.eventually(func() bool { return w.lab.Stats().Total.UniquePages >= pages })
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		w.Fatal(err)
	}
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 130 {
		w.Fatalf("interrupted: %v", err)
	}
}

// committed compares a screen of the documentation with the rows that a crawl shows
// today, and with its size.
func committed(t *testing.T, name string, size [2]int, screen string, rows []string) {
	t.Helper()
	path := filepath.Join("..", "..", "docs", "screens", name+".txt")
	if *update {
		// The lab's port differs from run to run.
		screen = regexp.MustCompile(`:[0-9]{5}  `).ReplaceAllString(screen, ":8780   ")
		screen = regexp.MustCompile(`:[0-9]{5}\b`).ReplaceAllString(screen, ":8780")
		if err := os.WriteFile(path, []byte(screen), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > size[0] {
			t.Errorf("%s has a line of %d characters: it was not seen so", path, n)
		}
	}
	if n := strings.Count(string(text), "\n"); n > size[1] {
		t.Errorf("%s has %d lines: it was not seen so", path, n)
	}
	if row := missing(string(text), rows); row != "" {
		t.Errorf("%s has no line that matches %q: look at it again with -update", path, row)
	}
}

// TestViewWithinASecond measures when a person first sees something, while an endless
// sitemap is read. A busy machine may be late, but not always.
func TestViewWithinASecond(t *testing.T) {
	most := time.Second
	if race.Enabled {
		most = 10 * time.Second // the detector slows the program down: on a busy machine to four
	}
	w := newWorld(t, lab.Config{Hosts: named("million")()})
	var took []time.Duration
	for try := range 5 {
		s := w.terminal(t, w.crawl(fmt.Sprintf("crawl%d", try)), 80, 24)
		s.see(rowKeys)
		took = append(took, time.Since(s.began))
		stopNow(s)
		s.see(`^exit`)
		if took[try] < most {
			t.Logf("after %v", took[try])
			return
		}
	}
	t.Errorf("a person saw something after %v", took)
}

// TestViewResizes makes a terminal wider, narrower and tiny under a running crawl:
// there is always one whole view.
func TestViewResizes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, lab.Config{Hosts: lab.Uniform(3, site(100, crawlDelay(200*time.Millisecond)))})
	s := w.terminal(t, w.crawl("crawl"), 80, 24)
	s.see(rowTitle, rowKeys)
	for _, size := range [][2]int{{160, 50}, {80, 24}, {120, 30}, {60, 12}, {100, 40}, {80, 15}} {
		s.tmux("resize-window", "-x", fmt.Sprint(size[0]), "-y", fmt.Sprint(size[1]))
		whole := func() string {
			return s.see(fmt.Sprintf(`^headway  .{%d}(running)  00:[0-9][0-9]$`, size[0]-len("headway  running  00:00")), `^[0-9,]+ done  `, rowGuess)
		}
		// Between the resize and the next drawing both views may be visible.
		screen := whole()
		for began := time.Now(); strings.Count(screen, "share of host time") > 1 && time.Since(began) < 3*time.Second; screen = whole() {
			time.Sleep(100 * time.Millisecond) // tmux reports no redraw
		}
		if n := strings.Count(screen, "share of host time"); n > 1 {
			t.Errorf("%d views at once:\n%s", n, screen)
		}
	}
	s.tmux("resize-window", "-x", "40", "-y", "5")
	s.see(`^headway 00:[0-9]+ [0-9,]+ done`)
	stopNow(s)
	s.see(`exit 130`)
}

// TestViewWithoutColour: there are no colours if they are turned off.
func TestViewWithoutColour(t *testing.T) {
	t.Parallel()
	colour := regexp.MustCompile(`\x1b\[[0-9;]*(3[0-7]|9[0-7])[0-9;]*m`)
	for name, tc := range map[string]struct {
		args, env []string
		colour    bool
		plain     bool
	}{
		"colour":     {colour: true},
		"--no-color": {args: []string{"--no-color"}},
		"NO_COLOR":   {env: []string{"NO_COLOR=1"}},
		"TERM=dumb":  {env: []string{"TERM=dumb"}, plain: true},
		"--plain":    {args: []string{"--plain"}, plain: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, lab.Config{Hosts: lab.Uniform(1, site(100, crawlDelay(200*time.Millisecond)))})
			cmd := w.crawl("crawl", tc.args...)
			if tc.env != nil {
				cmd.Args = append(append([]string{"env"}, tc.env...), cmd.Args...)
			}
			s := w.terminal(t, cmd, 80, 24)
			if tc.plain {
				if screen := s.see(`^[0-9]{2}:[0-9]{2}  [0-9]+ pages  [0-9.]+/s  [0-9]+ waiting`); strings.Contains(screen, "share of host time") {
					t.Errorf("a view is shown:\n%s", screen)
				}
			} else {
				s.see(rowTitle, `fetched [0-9]`, rowKeys)
			}
			if got := colour.MatchString(s.tmux("capture-pane", "-p", "-e")); got != tc.colour {
				t.Errorf("colours: %v, want %v:\n%q", got, tc.colour, s.tmux("capture-pane", "-p", "-e"))
			}
			stopNow(s)
			s.see(`^exit 130` + rowSane)
		})
	}
}

// TestViewSuspends stops a crawl with Ctrl-Z in a shell with job control, and
// continues it in the background and in the foreground.
func TestViewSuspends(t *testing.T) {
	t.Parallel()
	w := newWorld(t, lab.Config{Hosts: lab.Uniform(1, site(100, crawlDelay(200*time.Millisecond)))})
	cmd := w.crawl("crawl")
	cmd.Args = append([]string{"bash", "--norc", "--noprofile", "-ic", `"$@"; echo stopped; bg; sleep 6; fg`, "bash"}, cmd.Args...)
	s := w.terminal(t, cmd, 100, 30)
	s.see(rowTitle, rowKeys)
	s.press("C-z")
	s.see(`^stopped$`, `^00:[0-9]+  [0-9]+ pages`) // lines from the background
	stopNow(s)
	s.see(`^exit`)
}

// TestViewKeepsWarnings prints a warning above the view, and a second Ctrl-C quits
// without waiting.
func TestViewKeepsWarnings(t *testing.T) {
	t.Parallel()
	w := newWorld(t, lab.Config{Hosts: lab.Uniform(1, site(100, crawlDelay(time.Second)))})
	s := w.terminal(t, w.crawl("crawl", "--max-pages", "5"), 100, 30)
	s.see(`^headway: warning: limit usage: max_pages: 80 % used`, rowTitle, rowKeys)
	stopNow(s)
	s.see(`^headway: warning: limit usage`, `^exit`)
}

// crash shows a view as a crawl does, and then panics.
func crash() {
	screen := view.NewScreen(view.Config{Title: "a crash", Out: os.Stderr, In: os.Stdin, Progress: func() *headway.Progress { return nil }, Interrupt: func() {}})
	ctx, cancel := context.WithCancel(context.Background())
	var showing sync.WaitGroup
	showing.Go(func() {
		if err := screen.Run(ctx); err != nil {
			panic(err)
		}
	})
	defer func() {
		cancel()
		showing.Wait()
	}()
	<-time.After(time.Second) // long enough for tmux to show the view before the crash
	panic("the crawl is out of order")
}

// TestViewAfterPanic checks the terminal after a crash.
func TestViewAfterPanic(t *testing.T) {
	t.Parallel()
	w := newWorld(t, lab.Config{Hosts: named("plain")()})
	cmd := w.command()
	cmd.Args = []string{"headway-crash"}
	s := w.terminal(t, cmd, 100, 30)
	s.see(`^headway  a crash +starting  00:00$`)
	s.see(`^panic: the crawl is out of order$`, `^goroutine 1 `, `^exit 2`+rowSane)
	if screen := s.screen(); strings.Contains(screen, "a crash  ") || s.tmux("display-message", "-p", "#{cursor_flag}") != "1\n" {
		t.Errorf("the view or a hidden cursor stays:\n%s", screen)
	}
}
