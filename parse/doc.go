// Package parse reads what a server sent: the links and facts of an HTML page,
// the entries of a sitemap or feed, and whether the answer is a page at all or
// a firewall's challenge.
//
// It stands between fetch and visit on the journey of a URL. [Read] takes one
// answer, decides by header and first bytes what it is, brings it into UTF-8 if
// need be, and goes through its tags with a tokenizer of its own: over the
// bytes in place, without a tree. The links come out resolved, marked with
// where they were found and how the author relates to them; what to do with
// them is decided elsewhere. [NewSitemap] reads sitemaps, sitemap indexes, RSS,
// Atom and plain lists as a stream.
//
// # Promises
//
// Tags, attributes and character references are read as the HTML Standard
// says; tests compare every event with golang.org/x/net/html. The same answer
// always gives the same page. Time is linear in the body, memory is bounded,
// and every bound is a named constant whose reaching is reported in the result.
// A panic is contained to the page. Nothing returned points into the body.
//
// # Where it differs from a browser
//
//   - No scripts run, so noscript is markup.
//   - No tree is built: links in templates and in misplaced places count, and
//     CDATA sections in SVG and MathML are read as comments up to the first ">".
//   - A canonical link counts only in front of the body tag.
//
// # Encodings
//
// A byte order mark decides, then the Content-Type field, then a meta element
// or XML declaration in the first 1,024 bytes, then a guess: UTF-8 if valid,
// else windows-1252. As in browsers, characters in the query of a link are
// escaped in the encoding of the document, those of the path in UTF-8.
//
// # Refusals
//
// It fetches nothing, interprets no robots directive, runs no script, and helps
// nobody past a challenge. XML with a DOCTYPE is refused, and so are entities
// beyond the five of XML.
package parse
