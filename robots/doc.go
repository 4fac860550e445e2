// Package robots decides what a robots.txt permits, and keeps the evidence.
//
// No page is requested before robots.txt was checked. [Parse] compiles a file;
// [File.For] selects the group for our product token; [Rules.Decide] returns the rule,
// its line and its group for one URL in well under a microsecond. What applies when
// robots.txt cannot be read is a pure state machine: [Policy.Observe] turns the response
// of a fetch into a [State], [Policy.Verdict] says what that state permits now,
// [Policy.Due] when to fetch again. [Cache] shares compiled files between hosts by
// content hash. The package also reads meta robots and X-Robots-Tag ([Directives]), and
// AI-use preferences ([Signal]), which are recorded and never change fetching.
//
// Guarantees: RFC 9309 with product-token equality, merged groups, longest match in
// octets, and Allow on a tie; no input panics; time and memory are linear in the file,
// of which at most [MaxBytes] bytes count; a decision is linear in the URL for each rule
// compared, whatever the number of stars, and bounded in total; an ambiguous line
// disallows rather than allows. The same calls give the same results: nothing here
// reads a clock, uses the network or starts a goroutine.
//
// Not done here: fetching robots.txt, reading Retry-After (its result arrives as
// [Answer.NotBefore]), and Request-rate, Host, Clean-param and Noindex lines, which are
// ignored.
package robots
