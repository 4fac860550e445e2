// Package headway joins the stops of a URL's journey: robots, politeness,
// fetch, parse, and the record of what happened.
//
// Each stop has types of its own and knows nothing of the others; here, and
// only here, the answer of one becomes the question to the next. So far that is
// one visit to one URL ([Visitor]); the crawl that makes many of them is built
// on the same mapping.
//
// Promises: nothing is asked of a host before its robots.txt is known, and the
// page waits its turn behind it; whatever happens ends in exactly one outcome
// with its reason and evidence. Refusals: redirects are not followed (the target
// is a link), and a challenge page is never evaded.
package headway
