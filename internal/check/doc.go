// Package check judges links: which are dead, which could not be checked, and which
// pages contain them.
//
// A check is a crawl in which out-of-scope links are requested but not followed. This
// package reads the results from the store, and from a [Log] which page links to what,
// because a store keeps only the page that named a URL first. It selects the URLs to
// check again in the next run ([Rerun.Reopen]) and renders the verdicts as text, JSON
// and JUnit.
//
// Promises: only links that are certainly gone are called dead; throttled, blocked and
// unknown links are listed separately; the counts add up to the URLs the crawl has
// seen. It sends no requests, decides no exit codes beyond that, and judges a link
// only by its own response.
package check
