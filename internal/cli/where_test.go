package cli

import (
	"context"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"headway/ask"
	"headway/internal/cli/command"
	"headway/store/sqlite"
)

// answering replies to whatever is asked of the crawl in a folder until the test
// ends.
func answering(t *testing.T, dir string, a ask.Answer) {
	t.Helper()
	m := ask.NewMailbox(dir)
	if err := m.Open(); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		for ctx.Err() == nil {
			letters, err := m.Receive(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			for _, l := range letters {
				if err := m.Reply(t.Context(), l.ID, a); err != nil {
					t.Error(err)
				}
			}
			time.Sleep(time.Millisecond) // another process asks: this is its clock, not the test's
		}
	})
	t.Cleanup(func() { stop(); wg.Wait() })
}

// TestInUse says which crawl has the folder, and how to end it.
func TestInUse(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	dir := filepath.Join(t.TempDir(), "busy")
	st, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir, Hosts: filepath.Join(t.TempDir(), "hosts.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	answering(t, dir, ask.Answer{Status: &ask.Status{PID: 4711, Pages: 1200}})
	code, _, stderr := runCommand(t, "crawl", "http://127.0.0.1:9/", "--allow-private", "127.0.0.1:9", "--dir", dir)
	if code != command.ExitFailed {
		t.Errorf("exit code %d", code)
	}
	for _, want := range []string{
		"headway: error: a crawl is already running in " + dir + " (process 4711, 1,200 pages so far)\n",
		"headway: hint: for progress run: headway slow --dir " + dir + "; to stop it press Ctrl-C in its terminal, or run kill 4711; for another crawl use another --dir\n",
	} {
		if !strings.Contains(stderr, want) {
			t.Errorf("no %q in\n%s", want, stderr)
		}
	}
}
