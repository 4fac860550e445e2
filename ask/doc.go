// Package ask is how a running crawl is asked and told things: plain questions,
// orders and answers, and the mailbox that carries them between processes on
// one machine.
//
// It fits between whoever wants to know (a command, a service) and the loop of
// the crawl, which is the only one that knows why a host waits at this moment.
// An order that changes something is answered with what was before and what is
// now, and the mailbox keeps a log of all of them.
//
// It decides nothing and reads no store: what is known of a crawl that has ended
// is not asked here.
package ask
