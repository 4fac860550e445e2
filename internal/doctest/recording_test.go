//go:build linux

package doctest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"headway/internal/ownnet"
)

var update = flag.Bool("update", false, "record docs/recording.cast and docs/recording.svg again; then look at them")

const (
	castFile = "docs/recording.cast"
	svgFile  = "docs/recording.svg"

	columns, rows = 100, 26

	// maxSVG is the maximum size of the recording in bytes.
	maxSVG = 300_000
)

// scene is typed input, and when the next may follow.
type scene struct {
	text  string
	until *regexp.Regexp // awaited on the screen
	hold  time.Duration  // time to read it
}

// prompt is the last line of a screen where the next command may be typed.
var prompt = regexp.MustCompile(`(^|\n)\$$`)

// scenes are what the recording shows: the steps of the README.
var scenes = []scene{
	{"timeout --foreground -s KILL 4 headway crawl http://127.1.0.{1..6}:8780/ --preset audit --dir lab --plain", prompt, 1500 * time.Millisecond},
	{"headway crawl http://127.1.0.{1..6}:8780/ --preset audit --dir lab", regexp.MustCompile(`(?s)\nfolder: lab\n.*\n\$$`), 4 * time.Second},
	{"clear", prompt, 300 * time.Millisecond},
	{"headway why http://127.1.0.1:8780/private/", prompt, 5 * time.Second},
	{"clear", prompt, 300 * time.Millisecond},
	{"headway slow", prompt, 6 * time.Second},
}

// TestRecording checks the recording. With -update it is recorded again, from a crawl
// in a terminal.
func TestRecording(t *testing.T) {
	if *update {
		goEnv(t)
		if !ownnet.Allowed(t.Context()) {
			t.Fatal("a recording is made in a network namespace: run as root, or allow unprivileged user namespaces")
		}
		to, err := filepath.Abs(root)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		ownnet.Command(cmd)
		cmd.Env = append(os.Environ(), stageRecording+"="+to, stageDir+"="+t.TempDir(), stageHome+"="+t.TempDir(), stagePath+"="+build(t)+":"+os.Getenv("PATH"))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("record: %v\n%s", err, out)
		}
	}
	frames := readCast(t)
	var seen strings.Builder
	for _, f := range frames {
		seen.WriteString(f + "\n")
	}
	for _, want := range []string{"running  00:", "resumed: ", "complete: all URLs processed", "SKIPPED  robots_disallow  Disallow: /private/ (line 3, group *)", "More workers will not help."} {
		if !strings.Contains(seen.String(), want) {
			t.Errorf("the recording does not show %q", want)
		}
	}
	checkSVG(t)
}

// readCast is the text of each event of the recording, without cursor movements.
func readCast(t *testing.T) []string {
	file, err := os.Open(filepath.Join(root, castFile))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	var frames []string
	last := -1.0
	for n := 1; lines.Scan(); n++ {
		if n == 1 {
			var head struct{ Version, Width, Height int }
			if err := json.Unmarshal(lines.Bytes(), &head); err != nil || head.Version != 2 || head.Width != columns || head.Height != rows {
				t.Fatalf("%s: %+v, %v", castFile, head, err)
			}
			continue
		}
		var event [3]any
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			t.Fatalf("%s:%d: %v", castFile, n, err)
		}
		at, text := event[0].(float64), event[2].(string)
		if at < last || event[1] != "o" {
			t.Errorf("%s:%d: %v %v behind %v", castFile, n, at, event[1], last)
		}
		last = at
		frames = append(frames, escapes.ReplaceAllString(text, ""))
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return frames
}

var escapes = regexp.MustCompile("\x1b\\[[0-9;?]*[A-Za-z]")

// checkSVG parses the picture as a browser would: it must be complete, small, and load
// nothing else.
func checkSVG(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(root, svgFile))
	if err != nil {
		t.Fatal(err)
	}
	if len(data) > maxSVG {
		t.Errorf("%s has %d bytes, more than %d", svgFile, len(data), maxSVG)
	}
	ids := map[string]bool{}
	d := xml.NewDecoder(bytes.NewReader(data))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("%s: %v", svgFile, err)
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		if start.Name.Local == "script" || start.Name.Local == "image" || start.Name.Local == "foreignObject" {
			t.Errorf("%s has an element %s", svgFile, start.Name.Local)
		}
		for _, a := range start.Attr {
			if a.Name.Local == "id" {
				if ids[a.Value] {
					t.Errorf("%s: two elements are called %s", svgFile, a.Value)
				}
				ids[a.Value] = true
			}
			if a.Name.Local == "href" && !strings.HasPrefix(a.Value, "#") || strings.HasPrefix(a.Name.Local, "on") {
				t.Errorf("%s: %s=%q", svgFile, a.Name.Local, a.Value)
			}
		}
	}
}

// frame is a screen and when it appeared.
type frame struct {
	at    time.Duration
	lines []string // with the escapes that colour them
	x, y  int      // of the cursor, -1 where it is hidden
}

// film records a terminal.
type film struct {
	ctx    context.Context //nolint:containedctx // it lives as long as one recording
	socket string
	began  time.Time
	frames []frame
}

// shoot plays the scenes and writes the recording.
func shoot() error {
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	if err := bringUp(); err != nil {
		return err
	}
	dir := os.Getenv(stageDir)
	r := &reader{dir: dir, env: append(readerEnv(os.Getenv(stageHome), os.Getenv(stagePath)), "HEADWAY_ALLOW_PRIVATE=127.0.0.0/8:8780")}
	if err := r.stay(ctx, command{text: "headway lab up --temper plain,behind,docs,slow,redirects,waf,cdn --pages 8"}); err != nil {
		return err
	}
	defer func() { _ = r.terminals[0].close() }() // the process ends
	f := &film{ctx: ctx, socket: filepath.Join(dir, "tmux"), began: time.Now()}
	start := exec.CommandContext(ctx, "tmux", "-u", "-S", f.socket, "-f", os.DevNull, "new-session", "-d", "-x", fmt.Sprint(columns), "-y", fmt.Sprint(rows+1), "env 'PS1=$ ' bash --norc --noprofile")
	start.Dir, start.Env = dir, slices.Concat(r.env, []string{"TERM=xterm-256color"})
	if out, err := start.CombinedOutput(); err != nil {
		return fmt.Errorf("tmux: %w\n%s", err, out)
	}
	defer func() { _, _ = f.tmux("kill-server") }() // the process ends
	if _, err := f.tmux("set", "-g", "status", "off", ";", "resize-window", "-x", fmt.Sprint(columns), "-y", fmt.Sprint(rows)); err != nil {
		return err
	}
	if err := f.await(prompt); err != nil {
		return err
	}
	for _, s := range scenes {
		if err := f.play(s); err != nil {
			return err
		}
	}
	to := os.Getenv(stageRecording)
	cut := cutFilm(f.frames)
	if err := os.WriteFile(filepath.Join(to, castFile), cast(cut), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(to, svgFile), drawFilm(cut), 0o644)
}

func (f *film) tmux(args ...string) (string, error) {
	out, err := exec.CommandContext(f.ctx, "tmux", append([]string{"-u", "-S", f.socket}, args...)...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("tmux %v: %w\n%s", args, err, out)
	}
	return string(out), nil
}

// look records the current screen.
func (f *film) look() (string, error) {
	out, err := f.tmux("capture-pane", "-p", "-e", ";", "display-message", "-p", "#{cursor_flag} #{cursor_x} #{cursor_y}")
	if err != nil {
		return "", err
	}
	lines := strings.Split(strings.TrimRight(out, "\n"), "\n")
	now := frame{at: time.Since(f.began), lines: lines[:len(lines)-1]}
	var shown int
	if _, err := fmt.Sscan(lines[len(lines)-1], &shown, &now.x, &now.y); err != nil {
		return "", fmt.Errorf("where is the cursor? %q: %w", lines[len(lines)-1], err)
	}
	if shown == 0 {
		now.x, now.y = -1, -1
	}
	f.frames = append(f.frames, now)
	return escapes.ReplaceAllString(strings.Join(now.lines, "\n"), ""), nil
}

// await records until the screen matches.
func (f *film) await(what *regexp.Regexp) error {
	for {
		f.pause(2 * blink)
		screen, err := f.look()
		if err != nil {
			return err
		}
		if err := f.ctx.Err(); err != nil {
			return fmt.Errorf("%w; the screen is\n%s", err, screen)
		}
		if what.MatchString(strings.TrimRight(screen, "\n ")) {
			return nil
		}
	}
}

func (f *film) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-f.ctx.Done():
	}
}

// Typing speed: keysAtOnce characters per frame.
const (
	blink      = 100 * time.Millisecond
	keysAtOnce = 4
)

// play types the input of a scene and waits for its result.
func (f *film) play(s scene) error {
	if s.text == "clear" { // not to be read
		if _, err := f.tmux("send-keys", "C-l"); err != nil {
			return err
		}
		f.pause(s.hold)
		_, err := f.look()
		return err
	}
	for keys := s.text; keys != ""; {
		n := min(keysAtOnce, len(keys))
		if _, err := f.tmux("send-keys", "-l", "--", keys[:n]); err != nil {
			return err
		}
		keys = keys[n:]
		f.pause(blink)
		if _, err := f.look(); err != nil {
			return err
		}
	}
	if _, err := f.tmux("send-keys", "Enter"); err != nil {
		return err
	}
	f.pause(blink)
	if err := f.await(s.until); err != nil {
		return fmt.Errorf("%s: %w", s.text, err)
	}
	f.pause(s.hold)
	_, err := f.look()
	return err
}

// The longest still picture: short while a crawl waits, longer before the screen is
// cleared, so that it can be read.
const (
	still     = 700 * time.Millisecond
	readStill = 6 * time.Second
)

// cutFilm removes repeated screens and shortens still pictures.
func cutFilm(all []frame) []frame {
	var cut []frame
	var now, before time.Duration
	for _, f := range all {
		if n := len(cut); n > 0 {
			last := cut[n-1]
			if last.x == f.x && last.y == f.y && slices.Equal(last.lines, f.lines) {
				continue
			}
			longest := still
			if cleared(f) {
				longest = readStill
			}
			now += min(f.at-before, longest)
		}
		before, f.at = f.at, now
		cut = append(cut, f)
	}
	return cut
}

// cleared reports whether a screen has only a prompt.
func cleared(f frame) bool {
	return strings.TrimSpace(escapes.ReplaceAllString(strings.Join(f.lines, "\n"), "")) == "$"
}

// cast writes frames in the format of asciinema, version 2: of each screen the changed
// rows.
func cast(film []frame) []byte {
	var b bytes.Buffer
	write := func(v any) {
		line, err := json.Marshal(v)
		if err != nil {
			panic(err) // numbers and strings
		}
		b.Write(append(line, '\n'))
	}
	write(map[string]any{"version": 2, "width": columns, "height": rows, "title": "headway", "env": map[string]string{"TERM": "xterm-256color"}})
	before := make([]string, rows)
	for i, f := range film {
		var out strings.Builder
		if i == 0 {
			out.WriteString("\x1b[2J")
		}
		for y := range rows {
			line := ""
			if y < len(f.lines) {
				line = f.lines[y]
			}
			if line != before[y] {
				fmt.Fprintf(&out, "\x1b[%d;1H\x1b[0m%s\x1b[0m\x1b[K", y+1, line)
				before[y] = line
			}
		}
		if f.x >= 0 {
			fmt.Fprintf(&out, "\x1b[?25h\x1b[%d;%dH", f.y+1, f.x+1)
		} else {
			out.WriteString("\x1b[?25l")
		}
		write([]any{float64(f.at.Milliseconds()) / 1000, "o", out.String()})
	}
	return b.Bytes()
}
