// Package robots answers what a robots.txt permits, and keeps the evidence.
//
// It is the fourth stop of a URL's journey: no page request leaves before a
// verdict exists. [Parse] compiles a file once into a small form; [File.For]
// chooses the group of our product token; [Rules.Decide] names the rule, its
// line and its group for one URL in well under a microsecond. What holds when
// robots.txt cannot be read is a pure state machine: [Policy.Observe] turns
// the answer of a fetch into a [State], [Policy.Verdict] says what that state
// permits now, [Policy.Due] when to ask again. [Cache] shares compiled files
// between hosts by content hash. Beside robots.txt itself stand its relatives:
// meta robots and X-Robots-Tag ([Directives]), and the AI-use preferences
// ([Signal]), which are recorded and never change fetching.
//
// Promises: RFC 9309 with product-token equality, merged groups, the longest
// match in octets and Allow on a tie; input from the web never panics; time
// and memory are linear in the file, of which at most [MaxBytes] bytes count;
// a decision is linear in the URL for each rule it has to look at, whatever
// the number of stars, and bounded in all; a line that can be read in two ways
// bans rather than permits. The same calls give the same answers: nothing here
// reads a clock, touches the network or starts a goroutine.
//
// Refusals: robots.txt is not fetched here, Retry-After is not read here (its
// result arrives as [Answer.NotBefore]), and Request-rate, Host, Clean-param
// and Noindex lines are not read at all.
package robots
