// Package politeness decides when a host may be contacted again.
//
// It is the stop between robots and fetch on the journey of a URL: the
// frontier asks [Policy.Admit] before it hands out a URL of a host, tells
// [Policy.Sent] when the request leaves and [Policy.Observe] what came back.
// What a host has taught us (its pace, the pace it refused, how many requests
// it takes at once) lives in a [State] that the caller keeps, stores and hands
// over; how careful to be with it lives in a [Policy].
//
// The rule is pure: states in, states out. There is no clock, no lock, no
// goroutine and no randomness in it, so the same calls give the same schedule
// on every machine and a replay is exact. It promises that no request is
// admitted inside a host's pace, inside a hold or above its in-flight cap; that
// however many answers report one incident it counts once; and that a host
// which refuses is asked by one canary at a time, less and less often.
//
// It refuses to sleep, to keep a map of hosts, to parse a header and to know a
// job: these belong to its callers. Only what a job asks of a host, and how long
// it is willing to wait for it, appears here as the small value [Tenure].
package politeness
