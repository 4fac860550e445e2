// Package answer turns the records of a crawl into answers for people: why a URL ended
// as it did, where the time went, and how hosts responded and were treated.
//
// It reads the store and, through package ask, a running crawl. Each answer is plain
// data with stable names, to be printed, sent as JSON or shown on a page; callers only
// add layout.
//
// Answers contain only what was recorded or follows from the rules of the packages
// used, and say what is not known. The package uses neither the network nor writes to
// the store. Every list in an answer is bounded.
package answer
