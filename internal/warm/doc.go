// Package warm reads what a crawl learned about the caches in front of a site: which
// pages were hits, which were misses, and which are never cached.
//
// Warming requests every page once, and then once more each cacheable page that was a
// miss. [Read] counts the pages of a crawl by the cache verdict of the latest
// response; [Cold] lists the pages worth another request. Between the two passes a
// [State] is kept in the folder of the crawl, so that a later process can resume.
//
// Promises: every fetched page is counted under exactly one verdict, and no page that
// is never cached is listed as cold. It sends no requests.
package warm
