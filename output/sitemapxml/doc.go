// Package sitemapxml writes sitemaps of the pages that a crawl found, for site owners.
//
// A sitemap is for one host, so each host of the crawl has its own folder, whose files go to
// the root of the site:
//
//	sitemaps/example.com/sitemap.xml        the index
//	sitemaps/example.com/sitemap-1.xml.gz   up to 50,000 URLs and 50 MB
//	sitemaps/example.com/sitemap-2.xml.gz   …
//
// Only what belongs in a sitemap is included, see [Belongs]: documents that responded 200,
// are their own canonical URL and are not noindex. The last change is included if the server
// reported it.
//
// The folder is written from the store when the crawl has ended; it is an [output.Draft] and
// appears complete or not at all. Memory is bounded by MaxSites.
package sitemapxml
