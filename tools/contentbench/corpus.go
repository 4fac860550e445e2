package main

import (
	"compress/gzip"
	"encoding/json"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// page is a page of the benchmark.
type page struct {
	id   string
	html []byte
	text string // the true text of the article
}

// held reports whether the page is in the half that was not used to choose constants.
func held(id string) bool {
	h := fnv.New32a()
	_, _ = io.WriteString(h, id)
	return h.Sum32()>>8&1 != 0
}

// load reads one half of the pages of the benchmark in a folder, in order of their ids.
func load(dir string, heldOut bool) (pages []page, err error) {
	data, err := os.ReadFile(filepath.Join(dir, "ground-truth.json"))
	if err != nil {
		return nil, err
	}
	var truth map[string]struct {
		ArticleBody string `json:"articleBody"`
	}
	if err := json.Unmarshal(data, &truth); err != nil {
		return nil, err
	}
	for id, t := range truth {
		if held(id) != heldOut {
			continue
		}
		html, err := readGzip(filepath.Join(dir, "html", id+".html.gz"))
		if err != nil {
			return nil, err
		}
		pages = append(pages, page{id, html, t.ArticleBody})
	}
	slices.SortFunc(pages, func(a, b page) int { return strings.Compare(a.id, b.id) })
	return pages, nil
}

func readGzip(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}
