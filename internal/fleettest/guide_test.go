package fleettest

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"headway/internal/pgtest"
)

// TestGuide runs docs/guide/fleet.md.
func TestGuide(t *testing.T) {
	t.Parallel()
	runGuide(t, "../../docs/guide/fleet.md", nil, "8780", "9464")
}

// runGuide runs the commands of a guide as printed, on its own database with these settings
// of the fleet, and compares their output. The guide uses the default ports,
// which another test may use, so they are replaced; the first is the lab's.
func runGuide(t *testing.T, guide string, settings []string, ports ...string) {
	t.Helper()
	db := pgtest.StartFor(t, pgtest.Config{})
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	var free []string // each printed port, and its replacement
	for _, p := range ports {
		free = append(free, p, fmt.Sprint(freePort(t)))
	}
	steps := commands(strings.NewReplacer(free...).Replace(string(text)))
	if len(steps) < 10 {
		t.Fatalf("%d commands found in the guide", len(steps))
	}
	dir := t.TempDir()
	env := append(cleanEnv(), "HOME="+dir, "XDG_STATE_HOME="+filepath.Join(dir, "state"), "XDG_CONFIG_HOME="+filepath.Join(dir, "config"),
		fmt.Sprintf("HEADWAY_FLEET_STORE=postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", db.Port))
	set := exec.CommandContext(t.Context(), "headway", append([]string{"admin", "safety", "set"}, settings...)...)
	set.Dir, set.Env = dir, env
	if out, err := set.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, s := range steps {
		words := s.command
		if strings.HasPrefix(words, "headway lab up") {
			// Without the https hosts, whose port another lab may use.
			words += " --temper plain,shop,docs,blog,slow --listen 0.0.0.0:" + free[1]
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		cmd := exec.CommandContext(ctx, "sh", "-c", words)
		cmd.Dir, cmd.Env = dir, env
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		if s.stays {
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // with its children
				_ = cmd.Wait()                                      // it was killed
				cancel()
				if t.Failed() {
					t.Logf("%s:\n%s%s", s.command, &out, &errs)
				}
			})
			continue
		}
		err := cmd.Run()
		cancel()
		if err != nil {
			t.Fatalf("%s: %v\n%s%s", s.command, err, &out, &errs)
		}
		s.compare(t, out.String())
	}
}

// freePort is an unused port below those that the system gives to others, so that nobody
// takes it before it is used.
func freePort(t *testing.T) int {
	t.Helper()
	const first, last = 20_000, 32_000
	for range 100 {
		port := first + rand.IntN(last-first)
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			_ = l.Close() // only to see that it is free
			return port
		}
	}
	t.Fatal("no free port")
	return 0
}

// step is a command of the guide and its output.
type step struct {
	command string
	stays   bool
	prints  []string
}

// commands finds the commands of a guide: indented lines that begin with "$ ".
func commands(text string) (steps []step) {
	stays := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		body, indented := strings.CutPrefix(line, "    ")
		switch {
		case strings.Contains(line, "<!-- stays -->"):
			stays = true
		case indented && strings.HasPrefix(body, "$ "):
			steps = append(steps, step{command: body[2:], stays: stays})
			stays = false
		case indented && len(steps) > 0:
			s := &steps[len(steps)-1]
			s.prints = append(s.prints, body)
		case line != "" && len(steps) > 0 && !indented:
			stays = false
		}
	}
	return steps
}

// compare looks for the lines printed in the guide, in order; "…" matches anything.
func (s *step) compare(t *testing.T, out string) {
	t.Helper()
	for _, want := range s.prints {
		begin, _, _ := strings.Cut(strings.TrimSpace(want), "…")
		if begin == "" {
			continue
		}
		at := strings.Index(out, strings.TrimSpace(begin))
		if at < 0 {
			t.Errorf("%s prints no %q:\n%s", s.command, want, out)
			return
		}
		out = out[at+len(strings.TrimSpace(begin)):]
	}
}
