// Package report writes one HTML file about a crawl: plots of its progress and tables of what
// needs attention.
//
// It reads a store in bounded memory, and writes a self-contained page: no network, and only
// its own script, which the page's security policy allows by its hash. Text from crawled
// pages is data on it, never markup. If there are more rows than a page can hold, it takes a
// sample and says so.
//
// It reports only what the crawl recorded, and draws no conclusions beyond the rows.
package report
