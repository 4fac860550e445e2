// Package schedule asks for crawls again and again.
//
// A schedule ([store.Schedule]) makes a job of the fleet at the times of a cron
// expression, or after an interval that follows what changes: a site that changes
// much is visited more often, within bounds. Every process that serves looks for
// what is due; a job is made in one transaction with the turn of its schedule.
// See ADR 0049.
//
// Promises: one job for each time that is due, whatever is killed and however many
// processes look; a time that nobody was there for is made up for once, however
// many were missed; no job while the one before has not ended.
//
// Refusals: expressions that are never due, or more often than every minute.
package schedule
