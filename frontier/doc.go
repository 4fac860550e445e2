// Package frontier decides what to fetch next: the hosts of owned slots,
// scheduled by ready time, with the head of each queue.
//
// It stands between the store, where every URL waits, and the fetchers. The
// store holds the frontier; here is the small part of it that may soon be
// asked for: for each host with work its state of politeness, when it may next
// be asked and why not sooner, and the first few URLs of each job there. The
// caller asks [Frontier.Next] what to do now, does it, and tells what came of
// it; everything that must be read or written is named in a [Batch] and done by
// the caller, so nothing here waits.
//
// It is the only caller of package politeness, and every request of the crawler
// passes through it: pages, robots.txt and sitemaps alike take their turn on the
// host's clock. A host waits for exactly one thing at any instant, and each
// host-second is charged to that thing in an [Account].
//
// Promises: no request is handed out before its host, its domain, its address
// and our own network may bear it; hosts that could go are served in turn, and
// jobs on a host in turn; memory is bounded by [Config] whatever the number of
// hosts and URLs, and nothing is dropped to keep it so: what has no room waits
// in the store. The same calls give the same schedule.
//
// Refusals: no clock (now is an argument), no I/O, no goroutine, no lock. A
// Frontier belongs to one goroutine.
package frontier
