package csv_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"headway/output"
	"headway/output/csv"
	"headway/output/outputtest"
)

// A file is written from the ledger when the crawl has ended. The ledger is the store; here
// it has one URL, which robots.txt disallows.
func Example() {
	dir, err := os.MkdirTemp("", "csv")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "pages.csv")
	w := output.NewAtEnd(false, csv.New(path))
	defer w.Close()
	if err := w.Finish(context.Background(), outputtest.Ledger{outputtest.Visit(4)}); err != nil {
		fmt.Println(err)
	}
	text, _ := os.ReadFile(path)
	for line := range strings.Lines(string(text)) {
		fmt.Printf("%.56s…\n", line)
	}
	// Output:
	// url,outcome,reason,status,depth,via,found,hops,attempt,s…
	// https://example.com/4?q=\4,skipped,robots_disallow,,4,ht…
}
