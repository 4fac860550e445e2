// Package output is the last stop of the journey: the files people asked for.
//
// Here is only the contract. A format is a folder of its own (output/jsonl and
// its siblings) and a [Writer]; output/outputtest is the suite each format that
// writes files passes. The crawl hands every visit that ended a URL to its
// writers through [Run], after the commit of it was acknowledged, so a file
// never holds what the store does not.
//
// The other direction is not kept all the time, and need not be: a process that
// is killed loses the lines it had not written, and some URLs end without a
// visit (skipped when found, given up with their host). Therefore the store is
// the truth, and a [Finisher] holds its file against it once, at the end of the
// crawl, by counting: only what differs is looked at.
//
// Promises: a finished file holds every URL of the crawl that ended, exactly
// once, however often the crawl was killed and resumed; it appears whole or not
// at all; memory does not grow with the crawl. Not in it are URLs that still
// wait and those out of scope, which are kept as counts.
package output
