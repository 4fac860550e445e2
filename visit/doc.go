// Package visit is the plain record of one attempt: a URL that waits, and what happened when it was
// tried.
//
// The packages robots, fetch and parse have their own types; the root package maps their results to a
// Visit, and the store, the outputs and the answers (why, slow, courtesy) read only that. So this package
// holds data and the closed sets of values it may have, and no behaviour except validation.
//
// Guarantees: every Visit that passes [Visit.Check] has exactly one outcome, with a reason where the
// outcome needs one; there is no field for secrets, and what looks like one in a URL is removed by [Redact]
// before it is shown.
package visit
