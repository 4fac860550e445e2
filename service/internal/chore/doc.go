// Package chore runs the background jobs of a service on River, in the same
// PostgreSQL: webhook deliveries, schedules, exports, retention, and other work
// that is not per URL.
//
// Every server process opens a [Runner], which works until its context
// ends. Any number of them share the work. If a process is killed, another one
// repeats its unfinished jobs, so all of them are safe to run twice.
package chore
