// Package frontier decides what to fetch next. It schedules the hosts of owned
// slots by the time they are ready, and keeps the head of each queue in memory.
//
// The store holds all waiting URLs. This package holds the small part that may be
// requested soon: for each host with work its politeness state, the time of its
// next request, the reason it waits, and the first few URLs of each job. The caller
// gets work from [Frontier.Next], does it, and reports the results. Reads and writes
// are listed in a [Batch] and done by the caller, so nothing here blocks.
//
// It is the only caller of package politeness. Every request of the crawler passes
// through it: pages, robots.txt and sitemaps share the host's interval. At any time
// a host waits for exactly one reason, and each host-second is charged to it in an
// [Account].
//
// Guarantees: no request is handed out before the limits of its host, domain,
// address and our own network allow it. Ready hosts are served round-robin, and so
// are the jobs on a host. Memory is bounded by [Config] whatever the number of hosts
// and URLs; nothing is dropped, what does not fit waits in the store. The same calls
// give the same schedule.
//
// No clock (now is an argument), no I/O, no goroutines, no locks. A Frontier must be
// used by one goroutine.
package frontier
