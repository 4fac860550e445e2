package jsonl_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"headway/output"
	"headway/output/jsonl"
	"headway/output/outputtest"
	"headway/visit"
	"headway/weburl"
)

// A crawl writes its visits and finishes the file when it has ended. The ledger is the store;
// here it has one more URL, which robots.txt disallows.
func Example() {
	dir, err := os.MkdirTemp("", "jsonl")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "pages.jsonl")

	w, err := jsonl.Resume(jsonl.Config{Path: path})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer w.Close()
	home, _ := weburl.Parse("https://example.com/")
	cart, _ := weburl.Parse("https://example.com/cart")
	fetched := &visit.Visit{Item: visit.Item{URL: home, Found: visit.FoundSeed}, Outcome: visit.Fetched, Answer: visit.Answer{Status: 200}}
	skipped := &visit.Visit{Item: visit.Item{URL: cart, Via: home, Depth: 1}, Outcome: visit.Skipped, Reason: visit.RobotsDisallow}

	ctx := context.Background()
	var ledger output.Ledger = outputtest.Ledger{fetched, skipped}
	if err := w.Write(ctx, fetched); err != nil {
		fmt.Println(err)
	}
	if err := w.Finish(ctx, ledger); err != nil {
		fmt.Println(err)
	}
	text, _ := os.ReadFile(path)
	fmt.Print(string(text))
	// Output:
	// {"url":"https://example.com/","outcome":"fetched","status":200,"depth":0,"found":"seed"}
	// {"url":"https://example.com/cart","outcome":"skipped","reason":"robots_disallow","depth":1,"via":"https://example.com/"}
}
