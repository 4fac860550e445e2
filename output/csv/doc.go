// Package csv writes one row per URL that ended, for spreadsheets and for the
// tools that ask for CSV.
//
// The form is that of RFC 4180: a header, commas, double quotes where needed,
// CRLF, UTF-8 without a byte order mark. [Columns] is the one home of the
// columns; a column keeps its name and place, and new ones are added at the end.
//
// What pages say is not trusted to be text: a spreadsheet takes a cell that
// begins with = + - @, a tab or a line break for a formula, which may read
// files and call servers. Such a cell gets an apostrophe in front. It can be
// taken away again without doubt, see [Plain].
//
// The file is made when the crawl has ended, from the store; it is an
// [output.Draft]. Evidence and links are not in it: a cell is no place for
// lists.
package csv
