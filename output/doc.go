// Package output defines how results are written to files.
//
// It contains only the interfaces. Each format has its own folder (output/jsonl and others)
// and implements [Writer]; output/outputtest is the test suite for formats that write files.
// The crawl passes every visit that ended a URL to its writers through [Run], after its
// commit was acknowledged, so a file never contains what the store does not.
//
// The reverse is not always true: a killed process loses unwritten lines, and some URLs end
// without a visit (skipped when found, given up with their host). The store is
// authoritative, and a [Finisher] compares its file with it once, at the end of the crawl,
// by counting: only differences are read.
//
// Bytes are not stored. Outputs that need them, [ExchangeWriter] and [PageWriter], receive
// them before the visit is stored, and are synced before each commit. [BodyWriter] passes
// pages with their bodies to a function of a program.
//
// Guarantees: a finished file contains every URL of the crawl that ended, exactly once,
// however often the crawl was killed and resumed; it appears complete or not at all; memory
// does not grow with the crawl. Pending URLs are left out, and so are out-of-scope URLs,
// which are only counted.
package output
