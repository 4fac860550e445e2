// Package jsonl writes one line of JSON per URL that ended.
//
// The fields are flat, so that jq, DuckDB or a spreadsheet reads them without
// knowing Headway's types; [Line] is their one home. URLs stand there as they
// were crawled: they are the key by which a line is joined with the store and
// fetched again, so nothing in them is redacted, and the file deserves the same
// care as the crawl itself.
//
// While the crawl runs the file is called pages.jsonl.part. It can be followed
// with tail -f and may miss the last second after a kill; a line of it never
// has to be taken back. [Writer.Finish] makes it whole and takes the suffix
// away.
package jsonl
