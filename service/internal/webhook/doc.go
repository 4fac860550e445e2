// Package webhook sends the events of a tenant to its webhook URLs.
//
// It follows the events of the store ([store.Events]) and makes one delivery of
// each event for each subscribed endpoint, as a River job in the same
// transaction as the position it has reached. A delivery is a POST as specified by
// Standard Webhooks: webhook-id, webhook-timestamp and webhook-signature over
// a JSON body of type, timestamp and data. See ADR 0048.
//
// Promises: every event is delivered at least once to an endpoint that answers
// 2xx within three days, even if processes are killed meanwhile; all attempts of a delivery
// have the same unique id; every connection goes through fetch/guard;
// attempts are bounded in time, in bytes read and in concurrency per
// endpoint, so that a slow receiver delays only itself.
//
// Refusals: redirects, plain http except to private addresses that the operator
// allowed, credentials in a URL, and ordering: deliveries may overtake each
// other, and the event number in data gives their order.
package webhook
