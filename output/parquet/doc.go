// Package parquet writes the pages of a crawl and the links between them as Parquet files,
// for DuckDB, Spark, pandas and the like.
//
// [Page] and [Link] define the columns. Files are compressed with zstd and divided into row
// groups of a bounded size, so that the memory for writing and reading does not grow with
// the crawl.
//
// Parquet cannot be appended to: a file is readable only when it is complete. The pages are
// therefore written from the store when the crawl has ended ([NewPages], an [output.Draft]).
// So are the links of a crawl that keeps them in its store ([NewLinks]).
//
// Other crawls do not store which page links to which; links are collected while they run
// in a spool file that can be appended to and truncated, and converted to Parquet at the end
// ([ResumeLinks]). If the process is killed, the links of pages that were stored but not yet
// collected are missing; the file says of how many pages, see [MissingKey]. For a finished
// crawl, the link by which each URL was found first is available ([NewFirstLinks]).
package parquet
