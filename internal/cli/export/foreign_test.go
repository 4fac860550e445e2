package export

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCheckFolders: an export replaces its own folders, and refuses those with other files.
func TestCheckFolders(t *testing.T) {
	for name, tc := range map[string]struct {
		files map[string]string
		want  string // in the error
	}{
		"nothing":         {},
		"an empty folder": {files: map[string]string{"markdown/host/": ""}},
		"own files":       {files: map[string]string{"markdown/host/a.md": "---\nurl: \"x\"\n---\n", "sitemaps/host/sitemap.xml": "", "sitemaps/host/sitemap-1.xml.gz": "", "pages.csv": "mine"}},
		"notes":           {files: map[string]string{"markdown/host/a.md": "---\nurl: \"x\"\n---\n", "markdown/notes.md": "mine"}, want: "notes.md"},
		"a short file":    {files: map[string]string{"markdown/a.md": ""}, want: "a.md"},
		"another kind":    {files: map[string]string{"sitemaps/x.xml": "mine"}, want: "x.xml"},
	} {
		t.Run(name, func(t *testing.T) {
			out := t.TempDir()
			for path, text := range tc.files {
				path = filepath.Join(out, filepath.FromSlash(path))
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if text == "" && !strings.Contains(filepath.Base(path), ".") {
					continue // a folder
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			err := checkFolders(out, []string{"markdown", "sitemap", "csv"})
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
	out := t.TempDir()
	if err := os.Symlink(t.TempDir(), filepath.Join(out, "markdown")); err != nil {
		t.Skip("no symbolic links here: ", err)
	}
	if err := checkFolders(out, []string{"markdown"}); err == nil {
		t.Error("a link to another folder was accepted")
	}
}
