// Package ask queries and controls a running crawl: plain questions, orders and answers,
// and their transports: a mailbox folder between processes on one machine, and messages
// in the store of a fleet.
//
// It connects commands and services with the crawl loop, which alone knows why a host
// waits at the moment. The answer to an order says what was before and what is now, and
// all orders are logged.
//
// It makes no decisions and does not read crawled data; finished crawls are not queried
// here.
package ask
