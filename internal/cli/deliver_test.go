package cli

import (
	"bytes"
	"encoding/csv"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	parquetgo "github.com/parquet-go/parquet-go"

	"headway/internal/cli/command"
	"headway/internal/result"
	"headway/output/format"
	"headway/output/parquet"
	"headway/output/s3/s3test"
)

// TestDeliver crawls to a bucket on a real server and exports there. Objects
// appear when the crawl has ended, and hold what the store counts.
func TestDeliver(t *testing.T) {
	s := s3test.Start(t)
	s.Setenv(t)
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("XDG_STATE_HOME", filepath.Join(dir, "state"))
	seed := startLab(t).Hosts[0].URL
	private := []string{"--to-private", s.Addr}
	crawl := append([]string{
		"crawl", seed, "--allow-private", "127.0.0.0/8:" + seed[strings.LastIndex(seed, ":")+1:len(seed)-1], "--preset", "owned", "--quiet",
		"--dir", "run", "--max-pages", "40", "--partial-ok", "--format", "jsonl,csv,sitemap,parquet,warc", "--to", "s3://" + s3test.Bucket + "/first",
	}, private...)

	// What cannot be written is said before anything is crawled.
	t.Setenv("AWS_SECRET_ACCESS_KEY", "wrong")
	code, _, stderr := runCommand(t, crawl...)
	if _, err := os.Stat("run"); code != command.ExitFailed || !errors.Is(err, os.ErrNotExist) || !strings.Contains(stderr, "headway: hint: check AWS_SECRET_ACCESS_KEY\n") {
		t.Errorf("a wrong secret: exit code %d, %v, %s", code, err, stderr)
	}
	t.Setenv("AWS_SECRET_ACCESS_KEY", s3test.SecretKey)

	code, stdout, stderr := runCommand(t, crawl...)
	if code != command.ExitOK || !strings.Contains(stdout, "\nuploaded to s3://crawls/first: ") {
		t.Fatalf("exit code %d, %s%s", code, stdout, stderr)
	}
	if !strings.Contains(stderr, "headway: warning: --to may connect to private addresses: "+s.Addr+"\n") {
		t.Errorf("no warning: %s", stderr)
	}
	files := localFiles(t, "run")
	if diff := cmp.Diff(inBucket("first", files), s.Objects(t)); diff != "" {
		t.Errorf("the bucket does not hold the files (-files +bucket):\n%s", diff)
	}
	if len(files) < 7 { // each format, an archive with its index, two sitemaps
		t.Errorf("only %v", slices.Sorted(maps.Keys(files)))
	}

	// A crawl that has ended is copied again by the same command.
	if code, stdout, stderr = runCommand(t, append(crawl, "--to", "s3://"+s3test.Bucket+"/again")...); code != command.ExitOK {
		t.Fatalf("exit code %d, %s%s", code, stdout, stderr)
	}
	export := append([]string{"export", "--dir", "run", "--format", "jsonl,csv,sitemap,parquet", "--out", "out", "--to", "s3://" + s3test.Bucket + "/after"}, private...)
	if code, stdout, stderr = runCommand(t, export...); code != command.ExitOK {
		t.Fatalf("exit code %d, %s%s", code, stdout, stderr)
	}
	want := inBucket("first", files)
	maps.Copy(want, inBucket("again", files))
	maps.Copy(want, inBucket("after", localFiles(t, "out")))
	if diff := cmp.Diff(want, s.Objects(t)); diff != "" {
		t.Errorf("the bucket does not hold the files (-files +bucket):\n%s", diff)
	}

	ended := storeCount(t, "run")
	for _, at := range []string{"first", "again", "after"} {
		if n := bytes.Count(s.Read(t, at+"/pages.jsonl"), []byte("\n")); n != ended {
			t.Errorf("%s: %d lines of JSON, %d URLs ended", at, n, ended)
		}
		rows, err := csv.NewReader(bytes.NewReader(s.Read(t, at+"/pages.csv"))).ReadAll()
		if err != nil || len(rows) != ended+1 {
			t.Errorf("%s: %d rows of CSV, %d URLs ended, %v", at, len(rows)-1, ended, err)
		}
		text := s.Read(t, at+"/pages.parquet")
		pages, err := parquetgo.Read[parquet.Page](bytes.NewReader(text), int64(len(text)))
		if err != nil || len(pages) != ended {
			t.Errorf("%s: %d rows of Parquet, %d URLs ended, %v", at, len(pages), ended, err)
		}
	}
}

// TestDeliverGuide runs the commands of docs/guide/s3.md as printed, but for where
// the servers are.
func TestDeliverGuide(t *testing.T) {
	page, err := os.ReadFile("../../docs/guide/s3.md")
	if err != nil {
		t.Fatal(err)
	}
	s := s3test.Start(t)
	s.Setenv(t)
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("XDG_STATE_HOME", filepath.Join(dir, "state"))
	seed := startLab(t).Hosts[0].URL
	here := strings.NewReplacer("https://example.com ", seed+" ", "s3://bucket/", "s3://"+s3test.Bucket+"/", "10.0.0.5:9000", s.Addr)
	ran := 0
	for line := range strings.Lines(string(page)) {
		if !strings.HasPrefix(line, "headway ") {
			continue
		}
		args := strings.Fields(here.Replace(line))[1:]
		if !slices.Contains(args, "--to-private") {
			args = append(args, "--to-private", s.Addr)
		}
		if args[0] == "crawl" {
			args = append(args, "--allow-private", "127.0.0.0/8:"+seed[strings.LastIndex(seed, ":")+1:len(seed)-1], "--preset", "owned", "--max-pages", "10", "--partial-ok")
		}
		if code, stdout, stderr := runCommand(t, args...); code != command.ExitOK {
			t.Fatalf("%s: exit code %d, %s%s", line, code, stdout, stderr)
		}
		ran++
	}
	var objects []string
	for name := range s.Objects(t) {
		objects = append(objects, name)
	}
	slices.Sort(objects)
	want := []string{
		"crawls/example.com/links.parquet", "crawls/example.com/pages.csv", "crawls/example.com/pages.jsonl", "crawls/example.com/pages.parquet",
		"crawls/links.parquet", "crawls/pages.parquet",
	}
	if ran != 3 || !slices.Equal(objects, want) {
		t.Errorf("%d commands made %v", ran, objects)
	}
}

// localFiles are the finished files of a folder with their sizes.
func localFiles(t *testing.T, dir string) map[string]int64 {
	t.Helper()
	files := map[string]int64{}
	for _, pattern := range slices.Concat(format.Files(format.Exportable()...), format.Archives(), []string{"sitemaps/*/*"}) {
		paths, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			if name, _ := filepath.Rel(dir, path); !info.IsDir() {
				files[filepath.ToSlash(name)] = info.Size()
			}
		}
	}
	return files
}

func inBucket(prefix string, files map[string]int64) map[string]int64 {
	objects := map[string]int64{}
	for name, size := range files {
		objects[prefix+"/"+name] = size
	}
	return objects
}

// storeCount is how many URLs ended in scope.
func storeCount(t *testing.T, dir string) (ended int) {
	t.Helper()
	view, j, err := command.OpenView(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	l := &result.Ledger{Reader: view, Job: j.ID}
	n, err := l.Total(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return int(n)
}
