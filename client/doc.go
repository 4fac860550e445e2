// Package client is the Go client of the Headway API: create crawls, read the outcome of
// every URL, and follow events.
//
// Its types and operations are generated from docs/reference/openapi.json, so there
// is a method for each operation of the API, with the same name. Paginated lists
// also have an iterator. [Client.FollowEvents] follows events and reconnects by
// itself, and [Client.ExportPages] streams. Fields that end in MS
// are milliseconds. Optional fields of a request are pointers: new(int64(0)) sends
// zero, nil sends nothing.
//
// Promises: an unsuccessful response is returned as a [*Problem] that says what to do
// next; requests are retried a bounded number of times when the server says to wait;
// and requests that are not safe to repeat are not repeated. It uses only the standard
// library. A [Client] is safe for concurrent use.
package client
