// Package csv writes one row per URL that ended, for spreadsheets and other tools.
//
// The format is RFC 4180: a header, commas, double quotes where needed, CRLF, UTF-8 without
// a byte order mark. [Columns] defines the columns; a column keeps its name and place, and
// new ones are added at the end.
//
// Text from pages is not trusted: spreadsheets evaluate a cell that starts with = + - @, a
// tab or a line break as a formula, which may read files and call servers. Such a cell gets
// a leading apostrophe, which [Plain] removes unambiguously.
//
// The file is written from the store when the crawl has ended; it is an [output.Draft].
// Evidence and links are left out, because cells cannot hold lists.
package csv
