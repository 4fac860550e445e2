package warc

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"headway/output/outputtest"
)

// killBatch is the maximum number of exchanges in flight in the killed process.
const killBatch = 20

// TestKill kills a process that archives, syncs and then commits, as a crawl does. In the end
// every committed URL is archived; only what was in flight at a kill is archived twice.
func TestKill(t *testing.T) {
	if place := outputtest.Place(); place != "" {
		archiveUntilKilled(t, place)
		return
	}
	place := t.TempDir()
	kills := outputtest.Kills(t)
	for range kills {
		outputtest.RunAndKill(t, place)
	}
	committed := readLedger(t, place)
	check(t, open(t, Config{Dir: place}, Resume).Finish(t.Context(), nil))
	names, list := files(t, place)
	archived := map[string]int{}
	extra := 0
	for _, r := range list {
		if r.kind() == "response" || r.kind() == "revisit" {
			if archived[r.uri()]++; archived[r.uri()] > 1 {
				extra++
			}
		}
	}
	for n := range committed {
		if archived[address(n)] == 0 {
			t.Fatalf("%s was committed and is not archived", address(n))
		}
	}
	if extra > kills*killBatch || len(archived) > committed+killBatch {
		t.Errorf("%d URLs committed, %d archived, %d of them again", committed, len(archived), extra)
	}
	t.Logf("%d kills: %d URLs committed, %d archived in %d files, %d again", kills, committed, len(archived), len(names), extra)
}

func address(n int) string { return fmt.Sprintf("https://example.com/%d", n) }

// readLedger counts the committed URLs: one line each, in order.
func readLedger(t *testing.T, place string) (committed int) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(place, "ledger"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for l := range bytes.Lines(text) {
		if n, err := strconv.Atoi(strings.TrimSpace(string(l))); err == nil && bytes.HasSuffix(l, []byte("\n")) {
			committed = max(committed, n+1)
		}
	}
	return committed
}

// archiveUntilKilled never returns.
func archiveUntilKilled(t *testing.T, place string) {
	next := readLedger(t, place)
	ledger, err := os.OpenFile(filepath.Join(place, "ledger"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	check(t, err)
	_, err = ledger.WriteString("\n") // ends a line that may have been truncated
	check(t, err)
	fmt.Fprintln(os.Stdout, "ready")
	w := open(t, Config{Dir: place, MaxSize: 100 << 10}, Resume)
	for {
		var group sync.WaitGroup
		var lines []byte
		for range 1 + rand.IntN(killBatch) {
			n := next
			next++
			lines = fmt.Appendln(lines, n)
			group.Go(func() {
				body := strings.Repeat(fmt.Sprint("page ", n%50, " "), 1+n%200)
				if err := w.Exchange(t.Context(), exchange(t, address(n), body)); err != nil {
					panic(err)
				}
			})
		}
		group.Wait()
		check(t, w.Sync(t.Context()))
		_, err := ledger.Write(lines)
		check(t, err)
		if rand.IntN(20) == 0 {
			check(t, w.Finish(t.Context(), nil))
			w = open(t, Config{Dir: place, MaxSize: 100 << 10}, Resume)
		}
	}
}
