// Package answer puts what a crawl recorded into answers that people can read:
// why a URL ended as it did, where the time went, how hosts stand and how they
// were treated.
//
// It stands beside the journey and reads what the stops left behind: the store,
// and through package ask a crawl that still runs. Each answer is plain data
// with stable names, fit to be printed, sent as JSON or shown on a page; whoever
// prints it adds nothing but layout.
//
// It promises to claim nothing that was not recorded or follows from the rules
// of the packages it asks, to say what it cannot know, and to touch neither the
// network nor the store. Every list in an answer is bounded.
package answer
