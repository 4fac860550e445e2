package e2e

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"headway/lab"
)

// limited runs a command with a hard limit on file descriptors.
func limited(cmd *exec.Cmd, descriptors int) *exec.Cmd {
	shell := exec.Command("/bin/sh", append([]string{"-c", fmt.Sprintf(`ulimit -n %d && exec "$0" "$@"`, descriptors)}, cmd.Args...)...)
	shell.Dir, shell.Env = cmd.Dir, cmd.Env
	return shell
}

// TestMessyDescriptors crawls more hosts than there are file descriptors: it takes
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

// TestMessyFullDisk crawls onto a disk that fills up: the crawl ends as partial,
// whichever write failed, keeps what was stored, and resumes when there is room.
func TestMessyFullDisk(t *testing.T) {
	disk := smallDisk(t, "3m")
	hosts, pages := 10, 200 // their records are larger than the disk, however they are committed
	if full {
		hosts = 50
	}
	w := newWorld(t, lab.Config{Hosts: lab.Uniform(hosts, site(pages))})
	dir := filepath.Join(disk, "run")
	crawl := func() *exec.Cmd {
		cmd := w.crawl(dir, "--preset", "owned", "--delay", "20ms", "--sitemaps", "off")
		cmd.Env = append(cmd.Env, "HEADWAY_STORE_MIN_FREE=0")
		return cmd
	}
	out := w.run(crawl(), 3)
	t.Log(out)
	if !strings.Contains(out, "partial") || !strings.Contains(out, "disk") {
		t.Errorf("it does not say partial (disk):\n%s", out)
	}
	before := w.lab.Stats().Total.UniquePages
	if out, err := exec.Command("mount", "-o", "remount,size=256m", disk).CombinedOutput(); err != nil {
		t.Fatalf("%v, %s", err, out)
	}
	t.Log(w.run(crawl(), 0))
	w.complete()
	w.clean()
	s := w.lab.Stats().Total
	if repeats := s.PageAnswers - s.UniquePages; repeats > before {
		t.Errorf("%d pages were requested twice, %d at all before", repeats, before)
	}
}

// smallDisk mounts a file system of this size until the test ends.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		t.Skip("needs Linux and root, to mount a small file system")
	}
	dir := filepath.Join(t.TempDir(), "disk")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size="+size, "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("no file system can be mounted here: %v, %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", dir).CombinedOutput(); err != nil {
			t.Errorf("%v, %s", err, out)
		}
	})
	return dir
}

// TestMessyDamagedWhileRunning damages the file of a running crawl: it ends with an
// error that says what happened and what to do.
func TestMessyDamagedWhileRunning(t *testing.T) {
	rows := map[string]func(t *testing.T, path string){
		"rows are missing": func(t *testing.T, path string) {
			db, err := sql.Open("sqlite", path+"?_pragma=busy_timeout(10000)")
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			var tables []string
			list, err := db.Query("select name from sqlite_schema where type = 'table' and name like 'queue%'")
			if err != nil {
				t.Fatal(err)
			}
			for list.Next() {
				var name string
				if err := list.Scan(&name); err != nil {
					t.Fatal(err)
				}
				tables = append(tables, name)
			}
			if err := errors.Join(list.Err(), list.Close()); err != nil || len(tables) == 0 {
				t.Fatalf("%v, %v", tables, err)
			}
			for _, name := range tables {
				if _, err := db.Exec("delete from " + name); err != nil {
					t.Fatal(err)
				}
			}
		},
		"written over": func(t *testing.T, path string) {
			for _, name := range []string{path, path + "-wal"} {
				info, err := os.Stat(name)
				if err != nil {
					t.Fatal(err)
				}
				f, err := os.OpenFile(name, os.O_RDWR, 0)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := f.WriteAt([]byte(strings.Repeat("damage", int(info.Size()/6))), 100); err != nil {
					t.Fatal(err)
				}
				if err := f.Close(); err != nil {
					t.Fatal(err)
				}
			}
		},
	}
	for name, damage := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hosts, pages := 5, 60
			if full {
				hosts, pages = 50, 200
			}
			w := newWorld(t, lab.Config{Hosts: lab.Uniform(hosts, site(pages))})
			cmd := w.crawl("run", "--preset", "owned", "--delay", "50ms", "--sitemaps", "off")
			var said bytes.Buffer
			cmd.Stdout, cmd.Stderr = &said, &said
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			w.eventually(func() bool { return w.lab.Stats().Total.UniquePages >= int64(hosts*10) })
			damage(t, filepath.Join(w.dir, "run", "crawl.db"))
			timer := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
			defer timer.Stop()
			_ = cmd.Wait() // judged by its code
			t.Log(said.String())
			if code := cmd.ProcessState.ExitCode(); code != 5 {
				t.Errorf("exit code %d, want 5", code)
			}
			if s := said.String(); !strings.Contains(s, "crawl.db was corrupted, or modified by another program, during the crawl") || !strings.Contains(s, "headway: hint: restore a backup") {
				t.Error("it does not say what happened and what to do")
			}
		})
	}
}

// TestMessyConnections crawls more https hosts than the former limit of connections,
// slowly: each gets about one TLS handshake, and a page takes as long as with
// connections for all of them.
func TestMessyConnections(t *testing.T) {
	hosts, pages, delay := 60, 5, time.Second
	if full {
		hosts, delay = 2000, 5*time.Second
	}
	type result struct{ perHost, cpu float64 }
	run := func(t *testing.T, args ...string) result {
		w := newWorld(t, lab.Config{TLS: true, Hosts: lab.Uniform(hosts, site(pages))})
		pem, err := w.lab.CertificatePEM()
		if err != nil {
			t.Fatal(err)
		}
		roots := filepath.Join(w.dir, "roots.pem")
		if err := os.WriteFile(roots, pem, 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := w.crawl("run", "--preset", "owned", "--delay", delay.String(), "--in-flight", "1", "--sitemaps", "off")
		cmd.Env = append(append(cmd.Env, "SSL_CERT_FILE="+roots, "SSL_CERT_DIR="+w.dir), args...)
		var peak int64
		w.watch(cmd, 200*time.Millisecond, func(rss int64) { peak = max(peak, rss) })
		w.complete()
		w.clean()
		s := w.lab.Stats()
		r := result{float64(s.Connections) / float64(hosts), float64((cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Microseconds()) / float64(s.Total.UniquePages)}
		t.Logf("%.2f connections for each of %d hosts, %.0f µs for each of %d pages, resident %d MB at most", r.perHost, hosts, r.cpu, s.Total.UniquePages, peak>>20)
		if r.perHost > 1.2 {
			t.Errorf("%.2f connections for each host, want at most 1.2", r.perHost)
		}
		return r
	}
	r := run(t)
	if !full {
		return // with so few pages, starting dominates the cost
	}
	if places := run(t, "HEADWAY_FETCH_MAX_CONNS=8192"); r.cpu > 1.1*places.cpu {
		t.Errorf("a page takes %.0f µs, with 8,192 places %.0f", r.cpu, places.cpu)
	}
}
