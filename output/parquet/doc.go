// Package parquet writes the pages of a crawl and the links between them as
// Parquet files, for DuckDB, Spark, pandas and the like.
//
// [Page] and [Link] are the one home of the columns. Files are compressed with
// zstd and cut into row groups of a bounded size, so that neither writing nor
// reading them takes memory that grows with the crawl.
//
// Parquet cannot be appended to: a file is readable once its last byte is
// there. Therefore the pages are written when the crawl has ended, from the
// store ([NewPages], an [output.Draft]). The store does not keep which page
// links to which; links are gathered while the crawl runs, in a file that can be
// appended to and cut off, and made a Parquet file at the end ([ResumeLinks]).
// The links of pages that were stored but not yet gathered when the process was
// killed are missing; the file says of how many pages, see [MissingKey]. A crawl
// that has ended can still be asked for the link by which each URL was found
// first ([NewFirstLinks]).
package parquet
