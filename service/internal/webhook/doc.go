// Package webhook tells the events of a tenant to the addresses it named.
//
// It follows the events of the store ([store.Events]) and makes one delivery of
// each event for each endpoint that wants it, as a job of River in the same
// transaction as the note of how far it has come. A delivery is a POST as the
// Standard Webhooks say: webhook-id, webhook-timestamp and webhook-signature over
// a JSON body of type, timestamp and data. See ADR 0048.
//
// Promises: every event is delivered at least once to an endpoint that answers
// 2xx within three days, whatever is killed meanwhile; all attempts at a delivery
// have one id, which no other delivery has; every byte goes through fetch/guard;
// what an attempt may take is bounded, in time, in bytes read and in attempts at
// one endpoint at a time, so that a slow receiver holds up nobody but itself.
//
// Refusals: redirects, plain http but to private addresses that the operator
// opened, credentials in an address, and order: deliveries may overtake each
// other, and the number of the event in data says which came first.
package webhook
