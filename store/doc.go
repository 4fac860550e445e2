// Package store is the durable state of a crawl: who owns which part of the web, which
// URLs wait, how each of them ended, what was learned about hosts, and the jobs.
//
// This package is only the contract: plain types, the interfaces that an engine
// implements, and what may block, run concurrently or be atomic. The engines are
// store/memory for tests and short crawls, store/sqlite for one machine and
// store/postgres for a fleet; store/storetest is the test suite that each of them
// passes.
//
// # Owners, not locks
//
// The domains of the web are divided into [SlotCount] slots; the number never changes. A
// worker owns slots by [Lease]; only the owner schedules, fetches and finishes the URLs
// of its slots, so nothing is locked per URL. A lease has a fence that grows with every
// change of owner, every [Commit] names the fences it relies on, and a commit by an owner
// that has been replaced is rejected as a whole with [ErrFenced]. Adding a waiting URL is
// idempotent and needs no fence.
//
// # A fleet
//
// A store that many processes share also implements [Fleet]: a fair queue of jobs,
// messages to the owners of hosts, and notifications of changes by others. All
// information is in rows: a notification only makes a process look sooner.
//
// # Known links
//
// Most links of a page are known. A cache of fingerprints known to be stored must not
// contain provisional skips: a later link may turn them back to waiting.
//
// # Guarantees
//
//   - A URL of a job is one row from the moment it is seen. It waits, or it has ended in
//     exactly one outcome: [Counts.Seen] is always the sum.
//   - What [URLs.Commit] or [URLs.Add] acknowledged survives kill -9 and, on the engines
//     that use files, loss of power.
//   - A commit is applied completely or not at all, and once: sent again with the same
//     number it is acknowledged and not applied again.
//   - Pages of a job never exceed its limit, however many workers use tokens ([Budget]).
//   - Requests of a job never exceed its limit if each is reserved first ([Reservation]).
//   - Memory does not grow with the number of URLs or hosts.
//
// # Times
//
// Times are stored in UTC and whole milliseconds, rounded up, so that no wait becomes
// shorter by being stored. A store has no clock: the current time is an argument.
package store
