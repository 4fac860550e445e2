// Package client speaks to a server of Headway: ask for crawls, read what became of
// every URL, and follow what happens.
//
// Its types and operations are generated from docs/reference/openapi.json, so there
// is a method for each operation of the API, with the name it has there. Lists that
// come in pages have an iterator beside them, events are followed over interruptions
// by [Client.FollowEvents], and [Client.ExportPages] streams. Times that end in MS
// are milliseconds. What a request may leave out is a pointer: new(int64(0)) asks for
// zero, nil for nothing.
//
// It promises that an answer which is not good is a [*Problem] that says what to do
// next; that a server which asks to wait is waited for, a bounded number of times;
// and that nothing is sent twice which must not be. It uses the standard library
// alone. A [Client] is safe for concurrent use.
package client
