// Package warc archives exchanges as WARC/1.1 (ISO 28500:2017) with CDXJ indexes.
//
// It is the one format that needs more than a visit: it takes the bytes of every
// exchange (see [output.ExchangeWriter]) before their visit is stored. Each
// becomes three records, every one a gzip member of its own: response, request
// and metadata, the last with how the URL was found and how long it took. A
// payload that is in the archive already becomes a revisit record, and so does a
// 304. Pages are archived, and what was read to get there: robots.txt, sitemaps.
//
// A file is called headway-TIMESTAMP-SERIAL-HOST.warc.gz, begins with a warcinfo
// record and ends at 1 GiB; while it is written its name ends with .part. An index
// with the same name and the suffix .cdxj is beside it before it takes its name.
//
// Promises: what was synced survives a kill and a loss of power; a writer that
// resumes cuts the part after the last exchange that is whole and goes on there;
// nothing that has its name is ever changed or removed; memory does not grow
// with the crawl; whatever a server sends cannot make a record of its own. A
// killed crawl asks again for what was in flight, and both answers are kept:
// both were given.
//
// Refusals: secrets are left out and the record says so; transfer framing is not
// kept; exchanges without an answer have no record. It cannot be exported from a
// store, which does not have the bytes.
package warc
