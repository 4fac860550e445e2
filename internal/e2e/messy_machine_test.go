package e2e

import (
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"headway/lab"
)

// limited runs a command with so many descriptors and no way to get more.
func limited(cmd *exec.Cmd, descriptors int) *exec.Cmd {
	shell := exec.Command("/bin/sh", append([]string{"-c", fmt.Sprintf(`ulimit -n %d && exec "$0" "$@"`, descriptors)}, cmd.Args...)...)
	shell.Dir, shell.Env = cmd.Dir, cmd.Env
	return shell
}

// TestMessyDescriptors crawls more hosts than there are descriptors: it takes
// longer, and is complete.
func TestMessyDescriptors(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs ulimit")
	}
	rows := []struct{ descriptors, hosts int }{{256, 300}, {80, 40}}
	if full {
		rows = []struct{ descriptors, hosts int }{{256, 1500}, {1024, 1500}, {128, 100}, {80, 100}}
	}
	for _, row := range rows {
		t.Run(fmt.Sprintf("%d descriptors, %d hosts", row.descriptors, row.hosts), func(t *testing.T) {
			w := newWorld(t, lab.Config{Hosts: lab.Uniform(row.hosts, site(3))})
			began := time.Now()
			cmd := limited(w.crawl("run", "--preset", "owned", "--format", "jsonl,csv,sitemap,parquet,warc"), row.descriptors)
			out := w.run(cmd, 0)
			w.complete()
			w.clean()
			if strings.Contains(out, "failed") {
				t.Errorf("hosts were charged for it:\n%s", out)
			}
			t.Logf("%d pages in %v", w.lab.Stats().Total.UniquePages, time.Since(began).Round(100*time.Millisecond))
		})
	}
}
