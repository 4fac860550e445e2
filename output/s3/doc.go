// Package s3 uploads finished files to a bucket of S3 or a compatible server.
//
// It works after the formats: a file is written to disk as usual, and then copied. So it
// works with all formats, a crawl can be killed and resumed as usual, and files that were not
// copied can be copied later without writing them again. Server and credentials come from
// the usual environment variables and files of AWS tools (AWS_ENDPOINT_URL, AWS_REGION,
// AWS_ACCESS_KEY_ID, AWS_PROFILE and so on).
//
// Guarantees: an object appears complete or not at all, even after kill -9, and is unchanged
// until the new one is complete; an incomplete upload of a killed process is aborted by the
// next one that uploads the same file; memory does not grow with the file; retries and the
// time of each attempt are limited; every connection goes through fetch/guard, including
// those for credentials.
//
// [Objects] stores, reads and deletes small objects, which are in memory.
//
// Not done: connecting to a private address unless its range is allowed; deleting anything,
// except objects one by one with [Objects.Delete]; creating buckets, since their creator decides
// on location and access.
package s3
