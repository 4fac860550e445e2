// Package headway runs a polite crawl, from seeds to outputs.
//
// Each stop of a URL's journey is a package with types of its own that knows
// nothing of the others; the engine behind [Run] and [Work] joins them. One loop owns
// the schedule and all that is remembered, workers fetch and read, and what they find
// is committed before anything relies on it. A [Job] is what is asked for, a [Worker]
// what works on it. Package visitor makes a single visit, package survey looks at hosts
// before a crawl.
//
// Promises: nothing is asked of a host before its robots.txt is known, and every
// request takes its turn on the host's clock; whatever happens to a URL ends in
// exactly one outcome with its reason and evidence; a crawl that was killed goes
// on where it was and repeats no more than what was in flight; every queue and
// every wait is bounded, and has a name. Refusals: redirects are not followed
// (the target is a link), and a challenge page is never evaded.
//
// # Stability
//
// This is version 0. What people and programs see is kept and changed only with a
// word in the changelog: exit codes, the names of outcomes, reasons and wait
// reasons, settings, the keys of JSON answers and files, and that a newer version
// goes on with the crawl of an older one. The Go API may change with every minor
// version, and says so there too; the packages of single stops (weburl, robots,
// politeness, output) are expected to change least, this one and store most. Nothing
// below internal is for others. See docs/stability.md.
package headway
