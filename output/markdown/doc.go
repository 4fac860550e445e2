// Package markdown writes one Markdown file per page, for reading, search and language
// models.
//
//	markdown/example.com/index.md              https://example.com/
//	markdown/example.com/docs/install.html.md  https://example.com/docs/install.html
//	markdown/example.com/list-q~1f0a….md       https://example.com/list?q=1
//
// A file is the page's main text (see package content) after a header in YAML: where it
// came from, when, and what the page says about itself. Pages without a main text are left
// out and counted, see [Draft.LeftOut].
//
// The name of a file depends only on its URL, so that two crawls can be compared file by
// file. Names are valid on any file system, see [Path].
//
// The folder is written from the store when the crawl has ended; it is an [output.Draft] and
// appears complete or not at all. Memory does not grow with the crawl.
package markdown
