// Package weburl holds the one form in which Headway knows a URL.
//
// It is the first stop of the journey: seeds, links, sitemap entries and
// redirect targets are parsed here, and everything behind this package (scope,
// robots, frontier, fetch, store) only ever sees a [URL]. A link is read the
// way a browser reads it (WHATWG URL Standard) and then brought into a single
// crawlable spelling, so that two links that ask a server the same thing are
// the same value.
//
// The crawl rules on top of the standard:
//
//   - only http and https;
//   - no fragment, no credentials, no empty query, no root dot behind the host;
//   - escapes in upper-case hex, and escaped unreserved bytes (letters, digits,
//     "-", ".", "_", "~") decoded, unless decoding would complete another escape;
//   - host names within the DNS limits of 63 bytes a label and 253 in all;
//   - at most [MaxLength] bytes.
//
// Promises: a URL is a small comparable value and fit to be a map key; the zero
// URL is invalid; Parse(u.String()) == u for every valid u; input never panics;
// time and memory are linear in the input, and the input is bounded.
//
// Refusals: the query is never re-ordered, deduplicated or cleaned of tracking
// parameters, empty path segments are kept, and no name is looked up. What is
// refused is an [*Error] with one of five codes.
package weburl
