// Package api answers the requests of the service: one file for each noun.
//
// It is the only way in for the command line with --server, the dashboard and
// every other client, and is described by an OpenAPI document that is made from
// the types here. Every request comes with a key; the key says for which tenant it
// speaks and what it opens. What is another tenant's is not there: such a request
// gets the same 404 as one for something that never was.
//
// It promises errors in the form of RFC 9457 with a next step, lists that are read
// page by page, events that are followed without loss, and bounds on every
// request. It refuses anonymous requests unless it was told that the listener is
// for this machine alone.
package api
