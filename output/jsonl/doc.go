// Package jsonl writes one line of JSON per URL that ended.
//
// The fields are flat, so that jq, DuckDB or a spreadsheet can read them without knowing
// Headway's types; [Line] defines them. URLs are written as they were crawled: they are the
// key for joining a line with the store and for fetching again, so nothing in them is
// redacted. Protect the file like the crawl itself.
//
// While the crawl runs the file is named pages.jsonl.part. It can be followed with tail -f
// and may miss the last second after a kill; written lines are never changed.
// [Writer.Finish] completes the file and removes the suffix.
package jsonl
