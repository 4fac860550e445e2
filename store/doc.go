// Package store is the durable state of a crawl: who owns which part of the
// web, which URLs wait, how each of them ended, what was learned of hosts, and
// the jobs it was done for.
//
// It is the last stop but one on the journey of a URL. Here is only the
// contract: plain types, the interfaces an engine fulfils and what may block,
// run at the same time or be atomic. The engines are tables: store/memory for
// tests and short crawls, store/sqlite for one machine, store/postgres for a
// fleet; store/storetest is the suite each of them passes.
//
// # Owners, not locks
//
// The domains of the web are cut into [SlotCount] slots for ever. A worker owns
// slots by [Lease]; only the owner schedules, fetches and finishes the URLs of
// its slots, so nothing is locked per URL. A lease carries a fence that grows
// with every change of owner, every [Commit] names the fences it relies on, and
// a commit by an owner that has been replaced is refused whole with
// [ErrFenced]. Adding a URL that waits is idempotent and needs no fence.
//
// # A fleet
//
// A store that many processes share has the abilities of [Fleet], too: a fair
// queue of jobs, letters to the owners of hosts, and news of what others did. No
// process is told anything that is not in a row: it only looks sooner.
//
// # Known links
//
// Most links of a page are known. Whoever keeps a cache of fingerprints known
// to be stored, so as not to ask for them again, must leave provisional skips
// out of it: a later link may turn them back to waiting.
//
// # Promises
//
//   - A URL of a run is one row from the moment it is seen. It waits, or it has
//     ended in exactly one outcome: [Counts.Seen] is the sum, always.
//   - What [URLs.Commit] or [URLs.Add] acknowledged survives kill -9 and, on
//     the engines that keep files, loss of power.
//   - A commit is applied wholly or not at all, and once: sent again with the
//     same number it is acknowledged and not applied again.
//   - Pages of a job never exceed its limit, whatever number of workers spends
//     tokens ([Budget]).
//   - Memory does not grow with the number of URLs or hosts.
//
// # Times
//
// Instants are stored in UTC and whole milliseconds, rounded up, so that no
// wait becomes shorter by being stored. A store has no clock: what depends on
// the time is given it.
package store
