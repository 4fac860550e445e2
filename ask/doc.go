// Package ask is how a running crawl is asked and told things: plain questions,
// orders and answers, and what carries them: a mailbox between processes on one
// machine, letters in the store of a fleet.
//
// It fits between whoever wants to know (a command, a service) and the loop of
// the crawl, which is the only one that knows why a host waits at this moment.
// An order that changes something is answered with what was before and what is
// now, and a log is kept of all of them.
//
// It decides nothing and reads nothing that was crawled: what is known of a crawl
// that has ended is not asked here.
package ask
