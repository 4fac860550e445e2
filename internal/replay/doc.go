// Package replay reads the visits of a crawl again from its archive: with the parser, and
// the extraction of main text, of a crawl, so that both give the same result for the same
// bytes. They are stored, so that outputs are written from them as from a crawl.
//
// Of a URL that was requested several times the last response counts. A page that was not
// modified has the content of an earlier response, if the archive holds one. URLs without a
// response, such as skipped ones, are not in an archive.
//
// Memory is bounded: one exchange, one commit, and what is known about the robots.txt of
// recent hosts.
package replay
