// Package limit defines the limits of a crawl: ceilings in layers, of which the strictest applies and
// is remembered.
//
// The layers, from the outside in, are the operator's safety, the tenant's plan, what is left of the
// month's quota, and the job's own limits. [Resolve] combines them into one [Effective] set of
// ceilings, each with the layer that set it and what was requested. A [Budget] counts a crawl against
// it, warns before a ceiling is reached and names the one that stopped the crawl.
//
// No inner layer raises what an outer one set; a higher request is capped, never rejected; every cap
// can be described in one sentence. The package has no clock and stores nothing: exact page limits
// over many workers are the store's tokens, and a caller that resumes a crawl passes what was used
// before.
package limit
