// Package check judges links: which are dead, which only could not be asked, and
// which pages carry them.
//
// A check is a crawl whose links out of scope are leaves. This package reads how
// it ended from the store, and from a [Log] which page links to what, because a
// store keeps only the page that named a URL first. It says which URLs the next
// run asks again ([Again.Reopen]) and renders the verdicts as text, JSON and JUnit.
//
// It promises that only what is surely gone is called dead: throttled, blocked
// and unknown links stand apart, and the counts add up to the URLs the crawl has
// seen. It refuses to fetch, to decide exit codes beyond that, and to judge a
// link by more than its own answer.
package check
