// Package report makes one HTML file of a crawl: plots of how it went and tables
// of what needs attention.
//
// It reads a store once, in bounded memory, and writes a page that needs nothing
// else: no network, no script but its own, which the page's security policy
// names by its hash. Whatever pages said about themselves is data on it, never
// markup. Where there are more rows than a page can hold it takes a sample and
// says so.
//
// It judges nothing that the crawl has not recorded, and draws no conclusion
// that a reader could not draw from the rows.
package report
