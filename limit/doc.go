// Package limit says how much of a crawl may happen: ceilings in layers, the
// strictest of which wins and is remembered.
//
// The layers are asked from the outside in: the operator's safety, the tenant's
// plan, what is left of the month's quota, and what the job asked for itself.
// [Resolve] makes one [Effective] set of ceilings of them, each with the layer
// that set it and what was requested. A [Budget] counts a crawl against it,
// warns before a ceiling is reached and names the one that stopped the crawl.
//
// Promises: no inner layer raises what an outer one set; asking for more is
// capped, never refused; every cap can say itself in one sentence. The package
// has no clock and keeps no account that outlives the process: exact page
// limits over many workers are the store's tokens, and how many pages, requests
// and bytes were spent before is told by whoever resumes.
package limit
