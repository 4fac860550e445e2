// Package chore runs the ordinary jobs of a service on River, in the same
// PostgreSQL: deliveries of events to webhooks, schedules, and what else is done
// behind the scenes and not per URL.
//
// A [Crew] is opened by every process that serves and works until its context
// ends. Any number of them share the work. A chore that its process was killed in
// is done again by another, so all of them bear being done twice.
package chore
