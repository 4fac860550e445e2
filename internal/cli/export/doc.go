// Package export has the commands that write the results of a crawl: export and
// report. A crawl uploads its files with the same [Delivery].
package export
