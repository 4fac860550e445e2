package sitemapxml_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"headway/output"
	"headway/output/outputtest"
	"headway/output/sitemapxml"
)

// The folder is written from the ledger when the crawl has ended. Of three URLs one is a
// page; one redirects and one is dead.
func Example() {
	dir, err := os.MkdirTemp("", "sitemaps")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "sitemaps")
	w := output.NewAtEnd(false, sitemapxml.New(path))
	defer w.Close()
	if err := w.Finish(context.Background(), outputtest.Ledger{outputtest.Visit(0), outputtest.Visit(1), outputtest.Visit(2)}); err != nil {
		fmt.Println(err)
	}
	text, _ := os.ReadFile(filepath.Join(path, "example.com", "sitemap.xml"))
	fmt.Print(string(text))
	// Output:
	// <?xml version="1.0" encoding="UTF-8"?>
	// <sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
	// <sitemap><loc>https://example.com/sitemap-1.xml.gz</loc></sitemap>
	// </sitemapindex>
}
