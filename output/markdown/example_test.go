package markdown_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"headway/output"
	"headway/output/markdown"
	"headway/output/outputtest"
	"headway/visit"
)

// The folder is written from the ledger when the crawl has ended. Of two URLs one is a page
// with a main text.
func Example() {
	dir, err := os.MkdirTemp("", "markdown")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	page, gone := outputtest.Visit(0), outputtest.Visit(2)
	page.Page.Title = "River levels"
	page.Page.Content = &visit.Content{Markdown: "# River levels\n\nThe river rose in March.", Words: 7}

	path := filepath.Join(dir, "markdown")
	w := output.NewAtEnd(false, markdown.New(path, "headway-example.com"))
	defer w.Close()
	if err := w.Finish(context.Background(), outputtest.Ledger{page, gone}); err != nil {
		fmt.Println(err)
	}
	text, _ := os.ReadFile(filepath.Join(path, markdown.Path(page.Item.URL)))
	fmt.Print(string(text))
	// Output:
	// ---
	// url: "https://example.com/0?q=\\0"
	// title: "River levels"
	// fetched: 2026-11-15T10:00:00Z
	// status: 200
	// words: 7
	// via: "https://example.com/0?q=\\0"
	// crawl: "headway-example.com"
	// ---
	//
	// # River levels
	//
	// The river rose in March.
}
