// Package warc archives exchanges as WARC/1.1 (ISO 28500:2017) with CDXJ indexes.
//
// It is the only format that needs more than visits: it takes the bytes of every exchange
// (see [output.ExchangeWriter]) before the visit is stored. Each exchange becomes three
// records, every one a gzip member: response, request, and metadata with how the URL was
// found and how long it took. A payload that is already archived becomes a revisit record,
// and so does a 304. Pages, robots.txt and sitemaps are archived.
//
// A file is named headway-TIMESTAMP-SERIAL-HOST.warc.gz, starts with a warcinfo record and
// ends at 1 GiB; while it is written its name ends with .part. An index with the same name
// and the suffix .cdxj is written before the file gets its final name.
//
// Guarantees: what was synced survives a kill and a power failure; a resuming writer
// truncates the part file after the last complete exchange and continues there; finished
// files are never changed or removed; memory does not grow with the crawl; nothing a server
// sends can forge a record. A killed crawl repeats the requests that were in flight, and both
// responses are kept.
//
// A [Packer] builds the same records for segments, which others store.
//
// A [Reader] reads the exchanges back, also those whose body is in an earlier file, and up to
// where a damaged file ends.
//
// Not done: secrets are left out and the record says so; transfer framing is not kept;
// exchanges without a response have no record. The format cannot be exported from a store,
// which does not contain the bytes.
package warc
