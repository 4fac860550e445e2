// Package parse reads responses: the links and facts of an HTML page, the entries of a
// sitemap or feed, and whether the response is a page at all or a firewall's challenge.
//
// It comes after fetch and before visit. [Read] determines the type of a response from its
// header and first bytes, converts it to UTF-8 if needed, and scans its tags with our own
// tokenizer (internal/htmltoken), in place and without a tree. Links are resolved and marked with where they
// were found and their rel values; what to do with them is decided elsewhere. [NewSitemap]
// reads sitemaps, sitemap indexes, RSS, Atom and plain lists as a stream.
//
// # Guarantees
//
// Tags, attributes and character references are read as the HTML Standard says; tests
// compare every event with golang.org/x/net/html. The same response always gives the same
// page. Time is linear in the body, memory is bounded, and every limit is a named constant
// and reported in the result when reached. A panic affects only its page. Nothing returned
// points into the body, except Page.Body on request.
//
// # Where it differs from a browser
//
//   - No scripts run, so noscript is markup.
//   - No tree is built: links in templates and misplaced elements count, and
//     CDATA sections in SVG and MathML are read as comments up to the first ">".
//   - A canonical link counts only before the body tag.
//
// # Encodings
//
// A byte order mark decides, then the Content-Type field, then a meta element or XML
// declaration in the first 1,024 bytes, then a guess: UTF-8 if valid, otherwise
// windows-1252. As in browsers, characters in the query of a link are escaped in the
// encoding of the document, those of the path in UTF-8.
//
// # Not done
//
// The package fetches nothing, interprets no robots directive, runs no script, and does
// not help to pass a challenge. XML with a DOCTYPE is refused, and so are entities other
// than the five of XML.
package parse
