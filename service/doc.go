// Package service is Headway for teams: one API over a fleet, for the command
// line, the dashboard and every other client.
//
// [Run] serves the API until its context ends. It crawls nothing itself:
// jobs wait in PostgreSQL, workers take them from there, and any number of servers
// can run side by side. The API itself is in service/internal/api; keys
// are made by package apikey.
//
// It promises bounds on every connection, request and stream, a graceful shutdown in
// which event streams lose no events, and health checks.
// It refuses to listen beyond this machine without keys.
package service
