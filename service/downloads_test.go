package service_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"headway/service"
	"headway/store"
)

// exported waits for an export to be done.
func (s *server) exported(k string, id int64) (e exportView) {
	s.t.Helper()
	until(s.t, fmt.Sprintf("export %d is done", id), func() bool {
		s.ask("GET", fmt.Sprintf("/v1/exports/%d", id), k, nil).read(s.t, http.StatusOK, &e)
		return e.State == "done"
	})
	return e
}

// exportView is the part of an export that tests read.
type exportView struct {
	ID        int64
	State     string
	Formats   []string
	CreatedAt string `json:"created_at"`
	Downloads []struct {
		Name, Path string
		Size       int64 `json:"size_bytes"`
	}
}

// TestExportDownloads lists the exports of a job and downloads their files, whole, in parts
// and compressed. A tenant gets its own files only.
func TestExportDownloads(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := start(t, service.Config{Store: openStore(t), Exports: service.Exports{To: dir}})
	id := fill(t, s, "acme")
	k, other := key(t, s.st, "acme", store.ScopeWrite), key(t, s.st, "other", store.ScopeOperator)
	exports := fmt.Sprintf("/v1/jobs/%d/exports", id)
	var list struct{ Exports []exportView }
	if s.ask("GET", exports, k, nil).read(t, http.StatusOK, &list); list.Exports == nil || len(list.Exports) != 0 {
		t.Errorf("before the first: %+v", list)
	}
	var first, second exportView
	s.ask("POST", exports, k, map[string]any{"formats": []string{"csv", "markdown"}}).read(t, http.StatusAccepted, &first)
	s.ask("POST", exports, k, map[string]any{"formats": []string{"parquet"}}).read(t, http.StatusAccepted, &second)
	s.exported(k, first.ID)
	s.exported(k, second.ID)
	s.ask("GET", exports, k, nil).read(t, http.StatusOK, &list)
	if len(list.Exports) != 2 || list.Exports[0].ID != second.ID || list.Exports[1].ID != first.ID || list.Exports[1].CreatedAt == "" {
		t.Fatalf("listed: %+v", list)
	}
	csv := list.Exports[1].Downloads
	if len(csv) != 1 || csv[0].Name != "pages.csv" || csv[0].Path != fmt.Sprintf("/v1/exports/%d/files/pages.csv", first.ID) {
		t.Fatalf("downloads: %+v", csv)
	}
	file := filepath.Join(dir, "tenant-acme", fmt.Sprint("job-", id), "pages.csv")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if int(csv[0].Size) != len(text) || len(text) < 20 {
		t.Errorf("size %d of %d bytes", csv[0].Size, len(text))
	}
	want := string(text)

	plain := s.ask("GET", csv[0].Path, k, nil, "Accept-Encoding", "identity")
	tag := plain.header.Get("Etag")
	if plain.status != http.StatusOK || string(plain.body) != want || tag == "" || plain.header.Get("X-Content-Type-Options") != "nosniff" ||
		plain.header.Get("Content-Disposition") != "attachment; filename=pages.csv" || plain.header.Get("Content-Type") != "application/octet-stream" {
		t.Errorf("whole: %d %v %q", plain.status, plain.header, plain.body)
	}
	for name, c := range map[string]struct {
		header []string
		status int
		body   string
	}{
		"a part":              {[]string{"Range", "bytes=3-9"}, http.StatusPartialContent, want[3:10]},
		"the end":             {[]string{"Range", "bytes=-5"}, http.StatusPartialContent, want[len(want)-5:]},
		"continued":           {[]string{"Range", "bytes=10-", "If-Range", tag, "Accept-Encoding", "gzip"}, http.StatusPartialContent, want[10:]},
		"changed meanwhile":   {[]string{"Range", "bytes=10-", "If-Range", `"other"`}, http.StatusOK, want},
		"unchanged":           {[]string{"If-None-Match", tag, "Accept-Encoding", "identity"}, http.StatusNotModified, ""},
		"beyond the end":      {[]string{"Range", fmt.Sprintf("bytes=%d-", len(want))}, http.StatusRequestedRangeNotSatisfiable, "-"},
		"gzip is not allowed": {[]string{"Accept-Encoding", "br, gzip;q=0"}, http.StatusOK, want},
	} {
		a := s.ask("GET", csv[0].Path, k, nil, c.header...)
		if a.status != c.status || c.body != "-" && string(a.body) != c.body || a.header.Get("Content-Encoding") != "" {
			t.Errorf("%s: %d %v %q", name, a.status, a.header, a.body)
		}
	}
	packed := s.ask("GET", csv[0].Path, k, nil, "Accept-Encoding", "br;q=1.0, gzip;q=0.8")
	z, err := gzip.NewReader(strings.NewReader(string(packed.body)))
	if err != nil || packed.header.Get("Content-Encoding") != "gzip" {
		t.Fatalf("compressed: %v %v", err, packed.header)
	}
	if unpacked, err := io.ReadAll(z); err != nil || string(unpacked) != want {
		t.Errorf("compressed: %q, %v", unpacked, err)
	}
	parquet := list.Exports[0].Downloads
	if a := s.ask("GET", parquet[0].Path, k, nil, "Accept-Encoding", "gzip"); a.status != http.StatusOK || a.header.Get("Content-Encoding") != "" || int64(len(a.body)) != parquet[0].Size {
		t.Errorf("compressed already: %d %v", a.status, a.header)
	}

	base := fmt.Sprintf("/v1/exports/%d/files/", first.ID)
	for _, path := range []string{base + "pages.jsonl", base + "markdown", base + "..%2Fpages.csv", base + "..%2F..%2Ftenant-acme%2Fpages.csv", "/v1/exports/999/files/pages.csv"} {
		s.ask("GET", path, k, nil).read(t, http.StatusNotFound, nil)
	}
	s.ask("GET", csv[0].Path, other, nil).read(t, http.StatusNotFound, nil)
	s.ask("GET", exports, other, nil).read(t, http.StatusNotFound, nil)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	s.ask("GET", csv[0].Path, k, nil).read(t, http.StatusNotFound, nil)
}

// TestReport gets the report of a job, which runs.
func TestReport(t *testing.T) {
	t.Parallel()
	s := start(t, service.Config{Store: openStore(t), Version: "v1.2.3"})
	path := fmt.Sprintf("/v1/jobs/%d/report", fill(t, s, "acme"))
	a := s.ask("GET", path, key(t, s.st, "acme", store.ScopeRead), nil)
	policy := a.header.Get("Content-Security-Policy")
	if a.status != http.StatusOK || a.header.Get("Content-Type") != "text/html; charset=utf-8" || a.header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%d %v", a.status, a.header)
	}
	if !strings.HasPrefix(policy, "default-src 'none'; ") || !strings.Contains(policy, "sandbox") || strings.Contains(policy, "unsafe") {
		t.Errorf("policy %q", policy)
	}
	for _, part := range []string{"<!doctype html>", marker, "v1.2.3", "still running", "</html>"} {
		if !strings.Contains(strings.ToLower(string(a.body)), strings.ToLower(part)) {
			t.Errorf("the report lacks %q", part)
		}
	}
	s.ask("GET", path, key(t, s.st, "other", store.ScopeOperator), nil).read(t, http.StatusNotFound, nil)
}
