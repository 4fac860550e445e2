// Package api answers the requests of the service: one file for each noun.
//
// It is the only way in for the command line with --server, the dashboard and
// every other client, and is described by an OpenAPI document generated from
// the types here. Every request needs an API key, which has a tenant and a
// scope. Objects of other tenants are not found: such a request
// gets the same 404 as one for an object that never existed.
//
// It promises errors in the form of RFC 9457 with a next step, paginated
// lists, event streams without loss, and bounds on every
// request. It refuses anonymous requests unless it listens on
// loopback only.
package api
