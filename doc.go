// Package headway runs a polite crawl, from seeds to outputs.
//
// Each stage of a URL's way is a package with its own types that knows nothing of the
// others; the engine behind [Run] and [Work] joins them. One event loop owns the schedule
// and all state, workers fetch and parse, and results are committed before anything relies
// on them. A [Job] describes what to crawl, a [Worker] what crawls it. Package visitor
// makes a single visit, package survey examines hosts before a crawl.
//
// Guarantees: no page is requested before the host's robots.txt is known, and every request
// keeps the host's pace; every URL ends in exactly one outcome with its reason and
// evidence; a killed crawl resumes where it was and repeats at most the requests in flight;
// every queue and every wait is bounded and has a name. By design, redirects are not
// followed (the target is a link), and challenge pages are never evaded.
//
// # Stability
//
// This is version 0. What people and programs see is kept, and changed only with an entry
// in the changelog: exit codes, the names of outcomes, reasons and wait reasons, settings,
// the keys of JSON answers and files, and the ability to resume the crawl of an older
// version. The Go API may change with every minor version, also with an entry there; the
// packages of single stages (weburl, robots, politeness, output) are expected to change
// least, this one and store most. Packages below internal are not for other modules. See
// docs/stability.md.
package headway
