// Package sitemapxml writes sitemaps of the pages that a crawl found to be
// there, for the owners of the sites.
//
// A sitemap speaks for one host, so each host of the crawl has a folder of its
// own, whose files go to the root of the site:
//
//	sitemaps/example.com/sitemap.xml        the index
//	sitemaps/example.com/sitemap-1.xml.gz   up to 50,000 URLs and 50 MB
//	sitemaps/example.com/sitemap-2.xml.gz   …
//
// Only what belongs in a sitemap is in it, see [Belongs]: documents that
// answered 200, that are their own canonical form and that want to be indexed.
// The time of the last change is given where the server said it.
//
// The folder is made when the crawl has ended, from the store; it is an
// [output.Draft] and appears whole or not at all. Memory is bounded by MaxSites.
package sitemapxml
