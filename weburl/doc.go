// Package weburl defines the one form in which Headway handles URLs.
//
// Seeds, links, sitemap entries and redirect targets are parsed here, and all later
// packages (scope, robots, frontier, fetch, store) only see a [URL]. A link is parsed as
// browsers do (WHATWG URL Standard) and then normalised to a single crawlable spelling,
// so that two links that request the same thing from a server are the same value.
//
// The crawl rules on top of the standard:
//
//   - only http and https;
//   - no fragment, no credentials, no empty query, no root dot behind the host;
//   - escapes in upper-case hex, and escaped unreserved bytes (letters, digits,
//     "-", ".", "_", "~") decoded, unless decoding would complete another escape;
//   - host names within the DNS limits of 63 bytes a label and 253 in total;
//   - at most [MaxLength] bytes.
//
// Guarantees: a URL is a small comparable value, usable as a map key; the zero URL is
// invalid; Parse(u.String()) == u for every valid u; no input panics; time and memory
// are linear in the input, and the input is bounded.
//
// Not done: the query is never re-ordered, deduplicated or stripped of tracking
// parameters, empty path segments are kept, and no name is looked up. A refused link is
// an [*Error] with one of five codes.
package weburl
