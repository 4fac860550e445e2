// Package schedule creates recurring crawls.
//
// A schedule ([store.Schedule]) creates a job at the times of a cron
// expression, or after an interval that adapts to changes: a site that changes
// often is crawled more often, within bounds. Every server process looks for
// due schedules; a job is created in one transaction with the turn of its schedule.
// See ADR 0049.
//
// Promises: one job for each due time, even if processes are killed and however many
// are running; missed times are caught up with one job, however
// many were missed; no job while the previous one has not ended.
//
// Refusals: expressions that never match, or more often than every minute.
package schedule
