package outputtest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"headway/internal/race"
	"headway/output"
)

// Environment variables of [Kill]: how often it kills, and the folder of the killed
// process.
const (
	killsEnv = "HEADWAY_KILLS"
	placeEnv = "HEADWAY_KILL_PLACE"
)

// defaultKills is the normal number; the long form sets HEADWAY_KILLS=200.
const defaultKills = 20

// shortKills is for -short: each kill starts a process.
const shortKills = 3

// Kill starts a process that commits visits, writes and sometimes finishes, kills it with
// SIGKILL at random times and checks a resuming writer: each committed URL is there exactly
// once.
//
// It runs the test binary again with the name of the calling test, which must only call
// Kill.
func Kill(t *testing.T, f Format) {
	t.Helper()
	if place := Place(); place != "" {
		writeUntilKilled(t, f, place)
		return
	}
	kills := Kills(t)
	place := t.TempDir()
	s := &suite{T: t, format: f, path: filepath.Join(place, "pages")}
	looked, urls := 0, 0
	for i := range kills {
		RunAndKill(t, place)
		if rand.IntN(3) > 0 && i < kills-1 {
			continue // it must survive several kills in a row, too
		}
		l, err := committed(place)
		s.check(err)
		s.finish(s.open(f.Resume), l)
		looked++
		urls = len(l)
	}
	t.Logf("%d kills, looked at %d times, %d URLs in the end", kills, looked, urls)
}

// Place is the folder of a process that will be killed; empty in other processes.
func Place() string { return os.Getenv(placeEnv) }

// Kills returns how often to kill.
func Kills(t *testing.T) int {
	t.Helper()
	text := os.Getenv(killsEnv)
	switch {
	case text == "" && race.Short():
		return shortKills
	case text == "":
		return defaultKills
	}
	kills, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", killsEnv, err)
	}
	return kills
}

// RunAndKill runs the calling test in a separate process, which finds its folder with
// [Place], and kills it with SIGKILL at a random time after it reported ready.
func RunAndKill(t *testing.T, place string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), placeEnv+"="+place)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	ready := lines.Scan() && lines.Text() == "ready"
	if ready {
		time.AfterFunc(rand.N(60*time.Millisecond), func() {
			if err := cmd.Process.Kill(); err != nil {
				t.Errorf("kill: %v", err)
			}
		})
	}
	said := lines.Text()
	for lines.Scan() {
		said += "\n" + lines.Text()
	}
	if err := cmd.Wait(); err == nil || !ready || said != "ready" {
		t.Fatalf("the process ended by itself: %v\n%s\n%s", err, said, stderr.String())
	}
}

// ledgerFile is the store of the killed process: the numbers of the URLs that ended, one per
// line, written in one call per commit.
const ledgerFile = "ledger"

// committed reads the ledger.
func committed(place string) (Ledger, error) {
	text, err := os.ReadFile(filepath.Join(place, ledgerFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var l Ledger
	for line := range bytes.Lines(text) {
		number, whole := bytes.CutSuffix(line, []byte("\n"))
		if n, err := strconv.Atoi(string(number)); err == nil && whole {
			l = append(l, Visit(n))
		}
	}
	return l, nil
}

// writeUntilKilled ends URLs in order. It never returns.
func writeUntilKilled(t *testing.T, f Format, place string) {
	s := &suite{T: t, format: f, path: filepath.Join(place, "pages")}
	l, err := committed(place)
	s.check(err)
	log, err := os.OpenFile(filepath.Join(place, ledgerFile), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	s.check(err)
	_, err = log.WriteString("\n") // ends a line that may have been truncated
	s.check(err)
	fmt.Fprintln(os.Stdout, "ready")
	w := s.open(f.Resume)
	for {
		var commit []byte
		first := len(l)
		for range 1 + rand.IntN(20) {
			l = append(l, Visit(len(l)))
			commit = fmt.Appendf(commit, "%d\n", len(l)-1)
		}
		_, err := log.Write(commit)
		s.check(err)
		for _, v := range l[first:] {
			if output.EndingOf(v).Outcome != "skipped" { // these have no visit
				s.check(w.Write(t.Context(), v))
			}
		}
		switch rand.IntN(10) {
		case 0, 1, 2:
			s.check(w.Flush())
		case 3:
			s.check(w.Finish(t.Context(), l))
			s.check(w.Close())
			w = s.open(f.Resume)
		}
	}
}
