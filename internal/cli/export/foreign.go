package export

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"headway/internal/cli/command"
	"headway/output/format"
)

// checkFolders refuses to replace a folder that contains files of somebody else: formats with
// many files replace the whole folder.
func checkFolders(out string, formats []string) error {
	for _, name := range format.Files(formats...) {
		folder := filepath.Join(out, name)
		path, err := foreignFile(folder)
		if err != nil {
			return command.Failed(err, "check that "+folder+" is readable")
		}
		if path != "" {
			return command.Usage(fmt.Errorf("%s was not written by headway, and the export would replace %s", path, folder), "choose another folder with --out, or move the file")
		}
	}
	return nil
}

// foreignFile returns a file below a folder that no export wrote; "" if there is none, or no
// such folder.
func foreignFile(folder string) (string, error) {
	foreign := ""
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		switch {
		case path == folder && (errors.Is(err, fs.ErrNotExist) || err == nil && d.Type().IsRegular()): // a file is replaced as such
			return fs.SkipAll
		case err != nil || d.IsDir():
			return err
		case d.Type().IsRegular():
			ours, err := isOurs(path, d.Name())
			if err != nil || ours {
				return err
			}
		}
		foreign = path
		return fs.SkipAll
	})
	return foreign, err
}

// markdownHeader is how a Markdown file of an export begins.
var markdownHeader = []byte("---\nurl: ")

// isOurs reports whether a file looks like one of an export: a sitemap or a page as Markdown.
func isOurs(path, name string) (bool, error) {
	if strings.HasPrefix(name, "sitemap") && (strings.HasSuffix(name, ".xml") || strings.HasSuffix(name, ".xml.gz")) {
		return true, nil
	}
	if !strings.HasSuffix(name, ".md") {
		return false, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	head := make([]byte, len(markdownHeader))
	if _, err := io.ReadFull(f, head); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return false, err
	}
	return bytes.Equal(head, markdownHeader), nil
}
