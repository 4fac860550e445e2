// Package politeness decides when a host may be contacted again.
//
// The frontier calls [Policy.Admit] before it hands out a URL of a host, [Policy.Sent] when
// the request is sent, and [Policy.Observe] with the response. What was learned about a host
// (its pace, the pace it refused, how many requests it takes at once) is in a [State] that
// the caller keeps and stores; how careful to be is in a [Policy].
//
// The rules are pure functions of the state. There is no clock, no lock, no goroutine and no
// randomness, so the same calls give the same schedule on every machine and a replay is
// exact. Guarantees: no request is admitted within a host's pace, during a hold or above its
// in-flight cap; an incident counts once, however many responses report it; and a refusing
// host gets one canary at a time, less and less often.
//
// The package does not sleep, keep a map of hosts, parse headers or know jobs: that is done
// by its callers. How long a job has wanted a host, and how many failures it has seen, is
// the small value [Tenure].
package politeness
