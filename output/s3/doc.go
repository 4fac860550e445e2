// Package s3 puts finished files into a bucket of S3, or of a server that speaks
// like it.
//
// It comes after the formats: a file is made on the disk as ever, appears there
// whole, and is then copied. So all formats have it, a crawl can be killed and go
// on as ever, and what was not copied can be copied again without making it anew.
// Where the server is, and who we are to it, is told by the environment and files
// that all tools of AWS read (AWS_ENDPOINT_URL, AWS_REGION, AWS_ACCESS_KEY_ID,
// AWS_PROFILE and so on).
//
// Promises: an object appears whole or not at all, also after kill -9, and stays
// as it was until the new one is whole; what a killed process left half sent is
// given up by the next one that sends the same file; memory does not grow with the
// file; retries, attempts and the time of each are bounded; every connection goes
// through fetch/guard, that for credentials included.
//
// Refusals: an address that is not public, unless its range was named; deleting
// anything; buckets that are not there, since who makes one decides where it lies
// and who reads it.
package s3
