// Package service is Headway for teams: one API over a fleet, for the command
// line, the dashboard and every other client.
//
// [Run] listens and answers until it is told to stop. It crawls nothing itself:
// jobs wait in PostgreSQL, workers take them from there, and any number of servers
// may run beside each other. What the API offers is in service/internal/api; keys
// are made by package apikey.
//
// It promises bounds on every connection, request and stream, an orderly end in
// which followers of events lose none, and answers to the question whether it
// lives. It refuses to listen beyond this machine without keys.
package service
