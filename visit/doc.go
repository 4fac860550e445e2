// Package visit is the plain record of the journey: a URL that waits, and what
// happened when it was tried.
//
// The stops of the journey each have types of their own; the root package maps
// what robots, fetch and parse answered into a Visit, and from there on the
// store, the outputs and the answers (why, slow, courtesy) read nothing else.
// So this package holds data and the closed sets of words it may carry, and no
// behaviour beyond checking itself.
//
// Promises: every Visit that passes [Visit.Check] has exactly one outcome, with
// a reason where the outcome needs one; secrets have no field to be kept in, and
// what looks like one in a URL is removed by [Redact] before it is shown.
package visit
